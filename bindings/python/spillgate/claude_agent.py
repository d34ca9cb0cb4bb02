"""For the Claude Agent SDK: large outputs of the agent's tools become previews.

    options = with_spillgate(ClaudeAgentOptions(...), Spillgate())
"""

from __future__ import annotations

import asyncio
import json
import shlex
from dataclasses import replace
from typing import Any, cast

from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookContext,
    HookInput,
    HookMatcher,
    SdkMcpTool,
    create_sdk_mcp_server,
)
from claude_agent_sdk.types import HookEvent, SyncHookJSONOutput

from ._client import Spillgate, Tool
from ._errors import SpillgateError

__all__ = ["post_tool_use", "with_spillgate"]

# The name of the server with the look-up tools; it is a part of their names.
SERVER = "spillgate"

HOOK = ["hook", "claude-code"]

# Has the previews name the look-up tools, which the client's configuration does not list.
LOOKUPS = {"SPILLGATE_HOOK_LOOKUPS": "1"}

# What `spillgate hook` prints on standard error before an error.
PREFIX = "spillgate hook: "


def with_spillgate(
    options: ClaudeAgentOptions | None = None, spillgate: Spillgate | None = None
) -> ClaudeAgentOptions:
    """A copy of the options with our hooks, and with a server for the look-up tools.

    The rules are those of `spillgate hook claude-code` (docs/hooks.md): files that the agent reads
    pass. The look-up tools need no permission. Outputs of commands that fail are covered if
    `settings` is not set, because the hook for them has to be a command of the settings. If
    `mcp_servers` is a file, add the look-up tools to it (`spillgate mcp --lookups`).
    """
    options = options if options is not None else ClaudeAgentOptions()
    gate = spillgate if spillgate is not None else Spillgate()
    matcher = HookMatcher(hooks=[post_tool_use(gate)])
    # The hook at the end of a shell inherits these.
    env = {**gate.process.limits_env(), **LOOKUPS, **options.env}
    hooks: dict[HookEvent, list[HookMatcher]] = {**(options.hooks or {})}
    hooks["PostToolUse"] = [*hooks.get("PostToolUse", []), matcher]
    options = replace(options, env=env, hooks=hooks, settings=options.settings or _settings(gate))
    if not isinstance(options.mcp_servers, dict):
        return options
    tools = [_tool(tool) for tool in gate.tools()]
    servers = {**options.mcp_servers, SERVER: create_sdk_mcp_server(SERVER, tools=tools)}
    allowed = [*options.allowed_tools, *(f"mcp__{SERVER}__{tool.name}" for tool in tools)]
    return replace(options, mcp_servers=servers, allowed_tools=allowed)


def post_tool_use(spillgate: Spillgate) -> Any:
    """The hook for `PostToolUse`: replaces an output that is too large."""

    async def hook(event: HookInput, _id: str | None, _context: HookContext) -> SyncHookJSONOutput:
        if not spillgate.covers(str(event.get("tool_name", ""))):
            return {}
        try:
            return await asyncio.to_thread(_answer, spillgate, event)
        except SpillgateError as error:
            spillgate.report(error)
            return {}

    return hook


def _answer(spillgate: Spillgate, event: HookInput) -> SyncHookJSONOutput:
    """Lets `spillgate hook` answer the event; it prints nothing if the output passes."""
    more = {**spillgate.process.limits_env(), **LOOKUPS}
    done = spillgate.process.run(HOOK, json.dumps(event).encode(), more)
    told = done.stderr.decode(errors="replace").strip()
    if told.startswith(PREFIX) or done.returncode != 0:
        raise SpillgateError(told.removeprefix(PREFIX))
    return cast(SyncHookJSONOutput, json.loads(done.stdout)) if done.stdout else {}


def _settings(spillgate: Spillgate) -> str | None:
    """Settings with the hook that covers the outputs of commands that fail."""
    try:
        words = spillgate.process.command(HOOK)
    except SpillgateError as error:
        spillgate.report(error)
        return None
    start = {"hooks": [{"type": "command", "command": shlex.join(words)}]}
    return json.dumps({"hooks": {"SessionStart": [start]}})


def _tool(tool: Tool) -> SdkMcpTool[Any]:
    async def handler(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": await tool.acall(arguments)}]}

    return SdkMcpTool(tool.name, tool.description, tool.input_schema, handler)
