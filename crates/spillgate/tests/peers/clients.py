"""A common interface to the SDKs' clients: list the tools, call one, report why a result was refused.

`CLIENTS` has them by name. A client *refuses* a result when it raises an error instead of returning
the result, because it does not fit the schema that the tool declares.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import fastmcp
from fastmcp.client.transports import StdioTransport
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from common import WAIT

Result = dict[str, Any]


class Face(Protocol):
    """The interface of all clients."""

    async def tools(self) -> list[Result]:
        """The tools, as the client returns them."""

    async def call(self, tool: str, arguments: Result) -> Result:
        """A result, or `{"refused": why}`."""


class Python:
    """A Python client: `list_tools` and `call_tool`."""

    def __init__(self, client: Any, call: str = "call_tool", **options: Any) -> None:
        self.client, self.method, self.options = client, call, options

    async def tools(self) -> list[Result]:
        """The tools."""
        listed = await self.client.list_tools()
        return [plain(tool) for tool in getattr(listed, "tools", listed)]

    async def call(self, tool: str, arguments: Result) -> Result:
        """Calls a tool."""
        try:
            return plain(await getattr(self.client, self.method)(tool, arguments, **self.options))
        except Exception as error:  # Any exception is a refusal.
            return {"refused": f"{type(error).__name__}: {error}"}


def plain(value: Any) -> Result:
    """Converts a typed value back to its JSON."""
    return value.model_dump(by_alias=True, exclude_unset=True, mode="json")


@asynccontextmanager
async def session(command: list[str], _: Path) -> AsyncIterator[Face]:
    """`mcp.ClientSession`: the low-level client, of 2025-11-25."""
    server = StdioServerParameters(command=command[0], args=command[1:])
    async with (
        stdio_client(server) as streams,
        ClientSession(*streams, read_timeout_seconds=WAIT) as client,
    ):
        await client.initialize()
        yield Python(client)


@asynccontextmanager
async def discovering(command: list[str], _: Path) -> AsyncIterator[Face]:
    """`mcp.Client`: asks for 2026-07-28 first, then falls back."""
    server = StdioServerParameters(command=command[0], args=command[1:])
    async with Client(server, read_timeout_seconds=WAIT) as client:
        yield Python(client)


@asynccontextmanager
async def fast(command: list[str], _: Path) -> AsyncIterator[Face]:
    """`fastmcp.Client`; `call_tool_mcp` returns the raw result, `call_tool` parses it."""
    transport = StdioTransport(command=command[0], args=command[1:], keep_alive=False)
    async with fastmcp.Client(transport, timeout=WAIT) as client:
        yield Python(client, "call_tool_mcp")


class Node:
    """A client of the TypeScript SDK, in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def hear(self) -> Result:
        """Its next output."""
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), WAIT)
        return json.loads(line)

    async def tools(self) -> list[Result]:
        """The tools; it prints them once, before all other output."""
        said = await self.hear()
        return said.get("tools") or [said]

    async def call(self, tool: str, arguments: Result) -> Result:
        """Calls a tool."""
        return await self.say([tool, arguments])

    async def do(self, method: str, arguments: Result | None = None) -> Result:
        """Calls the client's own method of that name."""
        return await self.say({"do": method, "with": arguments})

    async def say(self, what: Any) -> Result:
        """Sends a line, and returns the answer to it."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        return await self.hear()


def typescript(generation: str) -> Opener:
    """The client of this generation of the SDK."""

    @asynccontextmanager
    async def open_it(command: list[str], peers: Path) -> AsyncIterator[Face]:
        program = Path(__file__).with_name("sdk.mjs")
        modules = peers / "node/node_modules"
        process = await asyncio.create_subprocess_exec(
            peers / "bin/node",
            program,
            generation,
            modules,
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            # A result that is not offloaded is one long line.
            limit=64 * 1024 * 1024,
        )
        yield Node(process)
        assert process.stdin is not None
        process.stdin.close()
        await asyncio.wait_for(process.wait(), WAIT)

    return open_it


Opener = Callable[[list[str], Path], AbstractAsyncContextManager[Face]]
CLIENTS: dict[str, Opener] = {
    "mcp.ClientSession": session,
    "mcp.Client": discovering,
    "fastmcp.Client": fast,
    "typescript v1": typescript("v1"),
    "typescript v2": typescript("v2"),
}
