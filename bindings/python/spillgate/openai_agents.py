"""For the OpenAI Agents SDK: large outputs of an agent's tools become previews.

    agent = with_spillgate(Agent(name=..., tools=[...], mcp_servers=[...]), Spillgate())
"""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any, TypeVar, cast

from agents import Agent, FunctionTool, ToolOutputText
from agents import Tool as AgentTool
from agents.mcp import MCPServer
from agents.tool_context import ToolContext
from mcp.types import TextContent

from ._client import Spillgate, Tool

__all__ = ["offloaded_server", "offloaded_tool", "with_spillgate"]

Context = TypeVar("Context")


def with_spillgate(
    agent: Agent[Context], spillgate: Spillgate | None = None, *, lookups: bool = True
) -> Agent[Context]:
    """A copy of the agent whose tools' outputs are offloaded, with the look-up tools.

    This covers function tools and the tools of MCP servers, but not tools that OpenAI runs. Agents
    to which this one hands off need a call of their own. `lookups=False` adds no tools.
    """
    gate = spillgate if spillgate is not None else Spillgate()
    tools: list[AgentTool] = [
        offloaded_tool(tool, gate) if isinstance(tool, FunctionTool) else tool for tool in agent.tools
    ]
    tools += [_tool(tool) for tool in gate.tools()] if lookups else []
    servers = [offloaded_server(server, gate) for server in agent.mcp_servers]
    return agent.clone(tools=tools, mcp_servers=servers)


def offloaded_tool(tool: FunctionTool, spillgate: Spillgate) -> FunctionTool:
    """A copy of a function tool whose output is offloaded."""
    copied = copy.copy(tool)
    run = copied.on_invoke_tool

    async def on_invoke_tool(context: ToolContext[Any], arguments: str) -> Any:
        output = await run(context, arguments)
        return await asyncio.to_thread(_offloaded, spillgate, tool.name, arguments, output)

    copied.on_invoke_tool = on_invoke_tool
    return copied


def _offloaded(spillgate: Spillgate, tool: str, arguments: str, output: Any) -> Any:
    """The output with a preview in place of its texts."""
    if isinstance(output, list | tuple) and output and all(map(_is_part, output)):
        return spillgate.offload_parts(output, _text, _part, tool=tool, arguments=arguments)
    text = _text(output)
    if text is not None:
        shown = spillgate.offload(text, tool=tool, arguments=arguments)
        return output if shown is text else _part(shown)
    if _is_part(output):
        return output
    # The SDK sends the `str` of all else to the model.
    text = output if isinstance(output, str) else str(output)
    shown = spillgate.offload(text, tool=tool, arguments=arguments)
    return output if shown is text else shown


def _is_part(output: Any) -> bool:
    kind = output.get("type") if isinstance(output, dict) else getattr(output, "type", None)
    return kind in ("text", "image", "file")


def _text(part: Any) -> str | None:
    if isinstance(part, dict):
        text = part.get("text") if part.get("type") == "text" else None
        return text if isinstance(text, str) else None
    return part.text if isinstance(part, ToolOutputText) else None


def _part(text: str) -> Any:
    return ToolOutputText(text=text)


class _Server:
    """An MCP server whose tools' outputs are offloaded; all else is the server's own."""

    def __init__(self, server: MCPServer, spillgate: Spillgate) -> None:
        self._server = server
        self._spillgate = spillgate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    async def call_tool(self, tool_name: str, arguments: dict[str, Any] | None, **more: Any) -> Any:
        """Calls a tool and offloads the text of its result."""
        result = await self._server.call_tool(tool_name, arguments, **more)
        return await asyncio.to_thread(self._offloaded, tool_name, arguments, result)

    def _offloaded(self, tool: str, arguments: dict[str, Any] | None, result: Any) -> Any:
        gate, failed = self._spillgate, bool(_member(result, "is_error", "isError"))
        structured = _member(result, "structured_content", "structuredContent")
        parts = result.content
        if self._server.use_structured_content and structured and not failed:
            # The SDK sends this JSON to the model, and not the content.
            parts = [_block(json.dumps(structured))]
        shown = gate.offload_parts(
            parts,
            lambda block: block.text if block.type == "text" else None,
            _block,
            tool=tool,
            arguments=arguments,
            failed=failed,
        )
        if shown is parts:
            return result
        without = {name: None for name in ("structured_content", "structuredContent") if hasattr(result, name)}
        return result.model_copy(update={"content": list(shown), **without})


def _member(result: Any, *names: str) -> Any:
    """A member of an MCP result, whose name depends on the version of the MCP SDK."""
    return next((getattr(result, name) for name in names if hasattr(result, name)), None)


def _block(text: str) -> Any:
    return TextContent(type="text", text=text)


def offloaded_server(server: MCPServer, spillgate: Spillgate) -> MCPServer:
    """The server, with outputs of its tools offloaded. Connect and clean up the server itself."""
    return cast(MCPServer, _Server(server, spillgate))


def _tool(tool: Tool) -> FunctionTool:
    async def on_invoke_tool(_: ToolContext[Any], arguments: str) -> str:
        return await tool.acall(json.loads(arguments or "{}"))

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.input_schema,
        on_invoke_tool=on_invoke_tool,
        strict_json_schema=False,
    )
