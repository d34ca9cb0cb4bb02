"""Does a client that knows nothing of 2026-07-28 get all of modern_server.py?"""

import asyncio
import sys

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client

seen = []


async def elicit(_, params):
    seen.append("elicit")
    return types.ElicitResult(action="accept", content={"name": "Ada"})


async def sample(_, params):
    seen.append(params.messages[0].content.text)
    content = types.TextContent(type="text", text="sampled")
    return types.CreateMessageResult(role="assistant", content=content, model="m")


async def roots(_):
    return types.ListRootsResult(roots=[types.Root(uri="file:///x")])


async def told(message):
    seen.append(getattr(getattr(message, "root", None), "method", str(message)))


async def main():
    command, *arguments = sys.argv[1:]
    server = StdioServerParameters(command=command, args=arguments)
    callbacks = {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": roots}
    async with (
        stdio_client(server) as (incoming, outgoing),
        ClientSession(incoming, outgoing, message_handler=told, **callbacks) as session,
    ):
        opened = await session.initialize()
        assert opened.serverInfo.name == "modern" and opened.instructions == "Be brief.", opened
        await session.send_ping()
        await session.set_logging_level("info")
        assert [tool.name for tool in (await session.list_tools()).tools] == ["ask", "change"]
        asked = await session.call_tool("ask", {})
        assert asked.content[0].text.startswith("done") and "sampled" in asked.content[0].text, asked
        assert any("Ada" in one and "file:///x" in one for one in seen), seen
        try:
            await session.read_resource("r:2")
        except McpError as error:
            assert error.error.code == -32002, error
        else:
            raise AssertionError("a resource that is not there was read")
        await session.subscribe_resource("r:1")
        await session.call_tool("change", {})
        wanted = {"notifications/resources/updated", "notifications/tools/list_changed"}
        while not wanted <= set(seen):
            await asyncio.sleep(0.01)
        await session.unsubscribe_resource("r:1")
    print("ok")


asyncio.run(main())
