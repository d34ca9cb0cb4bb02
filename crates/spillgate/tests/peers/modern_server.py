"""A server on the Python SDK that supports only 2026-07-28: `modern_server.py [--http] LOG`.

The SDK by itself serves both generations; here older versions are refused as the protocol says (-32022).
It records in LOG what was cancelled. With `--http` it prints its address, and ends with stdin.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server import runner
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from starlette.responses import JSONResponse

from shelf_server import journal

BUS = InMemorySubscriptionBus()
TOOLS = ["echo", "journal", "ask", "page", "slow", "change", "fail", "break"]
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}


def text(value: str) -> types.TextContent:
    """A text block."""
    return types.TextContent(type="text", text=value)


def said(value: str, **more: Any) -> types.CallToolResult:
    """A result of one text."""
    return types.CallToolResult(content=[text(value)], **more)


async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
    """Lists the tools, which accept any arguments."""
    tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in TOOLS]
    return types.ListToolsResult(tools=tools, ttl_ms=7, cache_scope="public")


def ask(params: types.CallToolRequestParams) -> Any:
    """Asks in two rounds: for a form and the roots, then for a sample."""
    given = params.input_responses or {}
    answers = {name: one.model_dump(mode="json", exclude_none=True) for name, one in given.items()}
    if params.request_state is None:
        form = types.ElicitRequestFormParams(message="Who?", requested_schema=SCHEMA)
        asked = {"who": types.ElicitRequest(params=form), "where": types.ListRootsRequest()}
        return types.InputRequiredResult(input_requests=asked, request_state="first")
    if params.request_state == "first":
        message = types.SamplingMessage(role="user", content=text(str(answers)))
        sample = types.CreateMessageRequestParams(messages=[message], max_tokens=5)
        say: Any = {"say": types.CreateMessageRequest(params=sample)}
        return types.InputRequiredResult(input_requests=say, request_state="second")
    return said(f"done {answers}")


def page(params: types.CallToolRequestParams) -> Any:
    """Asks the user to visit a page."""
    if params.request_state is None:
        visit = types.ElicitRequestURLParams(message="Go.", url="https://page.example/1")
        asked: Any = {"go": types.ElicitRequest(params=visit)}
        return types.InputRequiredResult(input_requests=asked, request_state="page")
    return said(f"visited {params.input_responses}")


async def slow(ctx: Any) -> types.CallToolResult:
    """Reports progress and logs until it is cancelled."""
    try:
        await ctx.session.report_progress(1, 2, "begun")
        await ctx.session.send_log_message("warning", "slow is slow", related_request_id=ctx.request_id)
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        with LOG.open("a") as log:
            log.write("cancelled\n")
        raise
    return said("slow is over")


async def change() -> types.CallToolResult:
    """Announces changes of everything."""
    await BUS.publish(ResourceUpdated("r:1"))
    for event in (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()):
        await BUS.publish(event)
    return said("changed")


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Runs a tool."""
    given = params.arguments or {}
    match params.name:
        case "echo":
            return said(f"Echo: {given.get('message')}")
        case "journal":
            return types.CallToolResult.model_validate(journal(given["kb"]))
        case "ask":
            return ask(params)
        case "page":
            return page(params)
        case "slow":
            return await slow(ctx)
        case "change":
            return await change()
        case "fail":
            return said("it failed", is_error=True)
    raise MCPError(-32602, f"no tool {params.name}", {"name": params.name})


async def list_prompts(_ctx: Any, _params: Any) -> types.ListPromptsResult:
    """Lists one prompt."""
    who = types.PromptArgument(name="who", required=True)
    return types.ListPromptsResult(prompts=[types.Prompt(name="greet", arguments=[who])])


async def get_prompt(_ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    """Returns a greeting."""
    hello = text(f"hello {(params.arguments or {}).get('who')}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=hello)])


async def list_resources(_ctx: Any, _params: Any) -> types.ListResourcesResult:
    """Lists one resource."""
    return types.ListResourcesResult(resources=[types.Resource(uri="r:1", name="r")])


async def list_templates(_ctx: Any, _params: Any) -> types.ListResourceTemplatesResult:
    """Lists one template."""
    one = types.ResourceTemplate(uri_template="r:{n}", name="r")
    return types.ListResourceTemplatesResult(resource_templates=[one])


async def read_resource(_ctx: Any, params: Any) -> types.ReadResourceResult:
    """Reads the resource."""
    if params.uri != "r:1":
        raise MCPError(-32602, "Resource not found", {"uri": params.uri})
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri="r:1", text="hello")])


async def complete(_ctx: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
    """Completes any argument."""
    values = [f"{params.argument.value}da"]
    return types.CompleteResult(completion=types.Completion(values=values))


def server() -> Server[Any]:
    """The server."""
    return Server(
        "modern",
        version="9",
        instructions="Be brief.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_completion=complete,
        on_subscriptions_listen=ListenHandler(BUS),
    )


async def stdio() -> None:
    """Serves on stdin and stdout. The SDK has no public way to serve only one generation."""
    modern = server()
    async with stdio_server() as streams, modern.lifespan(modern) as state:
        serve = runner._serve_modern_stream  # pylint: disable=protected-access
        await serve(modern, *streams, lifespan_state=state, raise_exceptions=False)


def strict(app: Any) -> Callable[[Any, Any, Any], Awaitable[None]]:
    """Wraps the app to refuse requests that do not declare 2026-07-28."""

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", []))
        if scope["type"] == "http" and headers.get(b"mcp-protocol-version") != b"2026-07-28":
            data = {"supported": ["2026-07-28"], "requested": "older"}
            error = {"code": -32022, "message": "Unsupported protocol version", "data": data}
            refusal = {"jsonrpc": "2.0", "id": None, "error": error}
            await JSONResponse(refusal, 400)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return serve


def http() -> None:
    """Serves on a free port until stdin ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp\n")
    sys.stdout.flush()
    app = strict(server().streamable_http_app())
    web = uvicorn.Server(uvicorn.Config(app, log_level="warning"))

    def wait() -> None:
        sys.stdin.read()
        web.should_exit = web.force_exit = True

    threading.Thread(target=wait, daemon=True).start()
    web.run(sockets=[listener])


LOG = Path(sys.argv[-1])

if __name__ == "__main__":
    if "--http" in sys.argv:
        http()
    else:
        anyio.run(stdio)
