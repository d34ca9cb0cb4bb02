"""Output schemas with references, checked by a client that validates: the Python `mcp` package
against the tools of hostile_server.py."""

from __future__ import annotations

from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import common
from common import PREVIEW_BYTES_MAX, WAIT, Setup, Verdict


async def scenario(setup: Setup, verdict: Verdict) -> None:
    """The whole scenario."""
    command = [*setup.relayed(), "--log", str(setup.work / "received.log")]
    server = StdioServerParameters(command=command[0], args=command[1:])
    async with (
        stdio_client(server) as streams,
        ClientSession(*streams, read_timeout_seconds=WAIT) as session,
    ):
        await session.initialize()
        await session.list_tools()
        small = await attempt(verdict, "a small tree", session, "tree", count=2)
        verdict.equal("it is whole", count(small), 2)
        large = await attempt(verdict, "a large tree", session, "tree", count=3000)
        only = await attempt(verdict, "a tree without content", session, "tree_only")
        for name, structured, size in (("large", large, 3000), ("without content", only, 5000)):
            if setup.gateway is None:
                verdict.equal(f"{name}: whole", count(structured), size)
                continue
            shown = (structured or {}).get("spillgate", "")
            verdict.check(f"{name}: a preview", common.preview(shown) is not None, structured)
            verdict.check(f"{name}: it is short", 0 < len(shown.encode()) < PREVIEW_BYTES_MAX)


async def attempt(
    verdict: Verdict, name: str, session: ClientSession, tool: str, **arguments: Any
) -> dict[str, Any] | None:
    """Calls a tool; the client raises an error if the result does not fit the schema."""
    try:
        result = await session.call_tool(tool, arguments)
    except RuntimeError as error:
        verdict.check(f"{name} fits its schema", False, str(error))
        return None
    verdict.check(f"{name} fits its schema", True)
    return result.structured_content


def count(structured: dict[str, Any] | None) -> int:
    """How many children the tree has."""
    return len((structured or {}).get("root", {}).get("children", []))


common.run(scenario)
