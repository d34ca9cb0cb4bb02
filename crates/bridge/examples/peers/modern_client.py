"""Does a client that speaks nothing but 2026-07-28 get all of server-everything?"""

import asyncio
import sys

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.subscriptions import listen

seen = []


async def elicit(_, params):
    seen.append(f"elicit {params.mode}")
    content = {"name": "Ada", "check": True, "integer": 3}
    return types.ElicitResult(action="accept", content=None if params.mode == "url" else content)


async def sample(_, params):
    seen.append("sample")
    content = types.TextContent(type="text", text="sampled")
    return types.CreateMessageResult(role="assistant", content=content, model="m")


async def roots(_):
    seen.append("roots")
    return types.ListRootsResult(roots=[types.Root(uri="file:///tmp/x", name="x")])


async def log(_):
    seen.append("log")


async def progress(done, _total, _message):
    seen.append(f"progress {done:g}")


async def main():
    command, *arguments = sys.argv[1:]
    server = StdioServerParameters(command=command, args=arguments)
    callbacks = {
        "elicitation_callback": elicit,
        "sampling_callback": sample,
        "list_roots_callback": roots,
        "logging_callback": log,
    }
    async with Client(server, mode="2026-07-28", log_level="debug", read_timeout_seconds=30, **callbacks) as client:
        found = await client.session.send_discover("2026-07-28")
        assert found["supportedVersions"] == ["2026-07-28"], found
        listed = await client.list_tools()
        assert (listed.ttl_ms, listed.cache_scope) == (0, "private"), listed
        names = {tool.name for tool in listed.tools}
        assert {"echo", "trigger-elicitation-request", "trigger-sampling-request"} <= names, names
        echo = await client.call_tool("echo", {"message": "hi"})
        assert "hi" in echo.content[0].text, echo
        long = {"duration": 1, "steps": 3}
        await client.call_tool("trigger-long-running-operation", long, progress_callback=progress)
        assert "file:///tmp/x" in str(await client.call_tool("get-roots-list", {}))
        sampled = await client.call_tool("trigger-sampling-request", {"prompt": "say", "maxTokens": 5})
        assert "sampled" in str(sampled), sampled
        assert "Ada" in str(await client.call_tool("trigger-elicitation-request", {}))
        page = {"url": "https://x.example", "message": "go"}
        assert "completed" in str(await client.call_tool("trigger-url-elicitation", page))
        uri = str((await client.list_resources()).resources[0].uri)
        assert (await client.read_resource(uri)).contents
        await missing(client)
        await changes(client, uri)
    for wanted in ("roots", "sample", "elicit form", "elicit url", "progress 3", "log"):
        assert wanted in seen, (wanted, seen)
    print("ok")


async def missing(client):
    try:
        await client.read_resource("demo://nope")
    except Exception as error:
        assert error.code == -32602, error
    else:
        raise AssertionError("a resource that is not there was read")


async def changes(client, uri):
    async with listen(client.session, tools_list_changed=True, resource_subscriptions=[uri]) as stream:
        assert stream.honored.resource_subscriptions == [uri], stream.honored
        await client.call_tool("toggle-subscriber-updates", {})
        async for event in stream:
            assert event.uri == uri, event
            break


asyncio.run(main())
