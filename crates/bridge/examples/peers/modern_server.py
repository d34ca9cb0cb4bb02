"""A server that asks in two rounds and tells of changes, in the way of 2026-07-28."""

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError

bus = InMemorySubscriptionBus()


def text(value):
    return types.TextContent(type="text", text=value)


async def list_tools(_ctx, _params):
    tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in ("ask", "change")]
    return types.ListToolsResult(tools=tools, ttl_ms=7, cache_scope="public")


async def call_tool(_ctx, params):
    if params.name == "change":
        await bus.publish(ResourceUpdated("r:1"))
        await bus.publish(ToolsListChanged())
        return types.CallToolResult(content=[text("changed")])
    given = {name: one.model_dump(mode="json", exclude_none=True) for name, one in (params.input_responses or {}).items()}
    if params.request_state is None:
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        form = types.ElicitRequestFormParams(message="Who?", requested_schema=schema)
        asked = {"who": types.ElicitRequest(params=form), "roots": types.ListRootsRequest()}
        return types.InputRequiredResult(input_requests=asked, request_state="first")
    if params.request_state == "first":
        message = types.SamplingMessage(role="user", content=text(str(given)))
        sample = types.CreateMessageRequestParams(messages=[message], max_tokens=5)
        asked = {"say": types.CreateMessageRequest(params=sample)}
        return types.InputRequiredResult(input_requests=asked, request_state="second")
    return types.CallToolResult(content=[text(f"done {given}")])


async def list_resources(_ctx, _params):
    return types.ListResourcesResult(resources=[types.Resource(uri="r:1", name="r")])


async def read_resource(_ctx, params):
    if params.uri != "r:1":
        raise MCPError(-32602, "Resource not found", {"uri": params.uri})
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri="r:1", text="hello")])


async def main():
    server = Server(
        "modern",
        version="9",
        instructions="Be brief.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_subscriptions_listen=ListenHandler(bus),
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


anyio.run(main)
