"""A client of one generation of MCP and a server of the other, with the gateway between them.

This file has the setups and the checks that all such pairs share. The clients of the Python SDK are in
`bridged_python.py`, those of the TypeScript SDK and the inspector in `bridged_node.py`. Clients and servers each
use standard streams and HTTP, in all combinations.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import common
import mcp_types as types
from common import OUR_TOOLS, WAIT, Setup, Verdict
from corpus import spans
from frames import Peer
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

HERE = Path(__file__).parent
MODERN = "2026-07-28"
ADDRESS = re.compile(r"listening on (http://127\.0\.0\.1:\d+\S*)")
NEEDLE = "NEEDLE-77b1 valve 17 stuck"

# A text over the limit, with the needle in its middle.
LONG = "\n".join(f"{n:05d} all is well" for n in range(3000)) + f"\n{NEEDLE}\n"
LONG += "\n".join(f"{n:05d} all is well" for n in range(3000, 6000))


@dataclass
class Way:
    """A combination of client, gateway and server."""

    # The generation of the server, and its transport.
    era: str
    server: str
    client: str
    bridge: str = "auto"

    def __str__(self) -> str:
        return f"{self.client} client, {self.server} server, {self.bridge}"


@dataclass
class Witness:
    """Answers the requests of a server, and records its notifications."""

    seen: list[str] = field(default_factory=list)

    async def elicit(self, _: Any, params: Any) -> Any:
        """Fills in a form, or visits a page."""
        self.seen.append(f"elicit {params.mode}")
        given = None if params.mode == "url" else {"name": "Ada", "check": True, "integer": 3}
        return types.ElicitResult(action="accept", content=given)

    async def sample(self, _: Any, _params: Any) -> Any:
        """Answers a sampling request with one word."""
        self.seen.append("sample")
        word = types.TextContent(type="text", text="sampled")
        return types.CreateMessageResult(role="assistant", content=word, model="m")

    async def roots(self, _: Any) -> Any:
        """Lists one root."""
        self.seen.append("roots")
        return types.ListRootsResult(roots=[types.Root(uri="file:///x", name="x")])

    async def log(self, params: Any) -> None:
        """Records a log message."""
        self.seen.append(f"log {params.data}")

    async def progress(self, done: float, _total: Any, _message: Any) -> None:
        """Records the progress of a call."""
        self.seen.append(f"progress {done:g}")

    async def told(self, message: Any) -> None:
        """Records any other message."""
        self.seen.append(str(getattr(message, "method", message)))

    async def until(self, *wanted: str) -> bool:
        """Waits until all of these were seen."""
        with anyio.move_on_after(WAIT):
            while not all(any(one in had for had in self.seen) for one in wanted):
                await anyio.sleep(0.05)
            return True
        return False


@asynccontextmanager
async def listening(command: list[str], log: Path) -> AsyncIterator[str]:
    """Starts a process that prints its address; yields the address."""
    with log.open("wb") as said:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=said, stderr=said
        )
    try:
        with anyio.fail_after(2 * WAIT):
            while not (found := ADDRESS.search(log.read_text(errors="replace"))):
                if process.returncode is not None:
                    raise RuntimeError(log.read_text(errors="replace")[-600:])
                await anyio.sleep(0.05)
        yield found[1]
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def python(*arguments: str) -> list[str]:
    """The command of one of our scripts."""
    return [sys.executable, *(str(HERE / one) if one.endswith(".py") else one for one in arguments)]


@dataclass
class Place:
    """A running combination: the gateway's address, and what the server recorded."""

    at: str | list[str]
    log: Path


def direct(setup: Setup, way: Way, log: Path) -> list[str]:
    """The command of the server without the gateway."""
    if way.era == "modern":
        return python("modern_server.py", *(["--http"] if way.server == "http" else []), str(log))
    node, modules = setup.peers / "bin/node", setup.peers / "node/node_modules"
    if way.server == "http":
        return [str(node), str(HERE / "everything_http.mjs"), str(modules), str(log)]
    everything = str(modules / ".bin/mcp-server-everything")
    return [*python("tap.py", str(log)), str(node), everything]


@asynccontextmanager
async def standing(setup: Setup, way: Way, command: list[str] | None = None) -> AsyncIterator[Place]:
    """Starts the server and the gateway in front of it."""
    work = setup.work / re.sub(r"\W+", "-", f"{way.era} {way}")
    work.mkdir(parents=True, exist_ok=True)
    log = work / "server.log"
    log.touch()
    command = command or direct(setup, way, log)
    config = work / "spillgate.toml"
    gateway = [str(setup.gateway), "mcp", "--store", str(setup.store), "--config", str(config)]
    async with anyio.create_task_group(), _reached(way, command, work) as reached:
        config.write_text(f"[servers.s]\nbridge = {json.dumps(way.bridge)}\n{reached}\n")
        if way.client == "stdio":
            yield Place(gateway, log)
            return
        async with listening([*gateway, "--http", "127.0.0.1:0"], work / "gateway.txt") as url:
            yield Place(url, log)


@asynccontextmanager
async def _reached(way: Way, command: list[str], work: Path) -> AsyncIterator[str]:
    """The configuration of the server."""
    if way.server == "stdio":
        yield f"command = {json.dumps(command[0])}\nargs = {json.dumps(command[1:])}"
        return
    async with listening(command, work / "server.txt") as url:
        yield f"url = {json.dumps(url)}"


@asynccontextmanager
async def client(place: Place, mode: str, witness: Witness, **more: Any) -> AsyncIterator[Client]:
    """The Python SDK's client in this mode."""
    server: Any = place.at
    if isinstance(server, list):
        server = StdioServerParameters(command=server[0], args=server[1:])
    callbacks = {
        "elicitation_callback": witness.elicit,
        "sampling_callback": witness.sample,
        "list_roots_callback": witness.roots,
        "logging_callback": witness.log,
        "message_handler": witness.told,
    }
    async with Client(server, mode=mode, read_timeout_seconds=WAIT, **callbacks, **more) as opened:
        yield opened


def text_of(result: Any) -> str:
    """The text of a result."""
    return "\n".join(getattr(block, "text", "") for block in result.content)


async def refusal(work: Any) -> tuple[int, str]:
    """The error that `work` ends with."""
    try:
        return 0, str(await work)
    except MCPError as error:
        return error.error.code, error.error.message


class Checks:
    """The checks of one combination."""

    def __init__(self, setup: Setup, verdict: Verdict, way: Way) -> None:
        self.setup, self.verdict, self.way = setup, verdict, way

    def check(self, what: str, ok: bool, detail: Any = "") -> None:
        """Records a check."""
        self.verdict.check(f"{self.way}: {what}", ok, detail)

    def equal(self, what: str, got: Any, wanted: Any) -> None:
        """Records whether both values are equal."""
        self.verdict.equal(f"{self.way}: {what}", got, wanted)

    async def lists(self, session: Client, tools: list[str], prompts: list[str]) -> None:
        """The lists of tools and prompts."""
        listed = [tool.name for tool in (await session.list_tools()).tools]
        self.check("tools", set(tools) <= set(listed) and listed[-4:] == OUR_TOOLS, listed)
        listed = [prompt.name for prompt in (await session.list_prompts()).prompts]
        self.check("prompts", set(prompts) <= set(listed), listed)
        resources = await session.list_resources()
        self.check("resources", bool(resources.resources), resources)
        templates = await session.list_resource_templates()
        self.check("templates", bool(templates.resource_templates), templates)
        uri = resources.resources[0].uri
        read = await session.read_resource(uri)
        self.check("a resource", bool(read.contents), read)

    async def large(self, session: Client, tool: str, given: Any, needle: str, whole: bytes) -> None:
        """A result over the limit is a preview, and all of it is stored."""
        shown = text_of(await session.call_tool(tool, given))
        parts = common.preview(shown) or {}
        self.check("a preview", parts.get("tool") == tool and len(shown) < 10_000, shown)
        handle = parts.get("handle", "none")
        grep = await session.call_tool("spillgate_grep", {"handle": handle, "pattern": needle})
        self.check("grep finds the needle", needle in text_of(grep), grep)
        cat = [str(self.setup.gateway), "cat", "--raw", handle, "--store", str(self.setup.store)]
        raw = await anyio.to_thread.run_sync(
            lambda: subprocess.run(cat, capture_output=True, check=False).stdout
        )
        sums = [hashlib.sha256(one).hexdigest() for one in (raw, whole)]
        self.equal("cat --raw is the result", *sums)

    async def cancelled(self, session: Client, witness: Witness, log: Path, call: Any) -> None:
        """A call that the client cancels ends at the server, and the next one is served."""
        name, given, mark = call
        async with anyio.create_task_group() as group:

            async def start() -> None:
                await session.call_tool(name, given, progress_callback=witness.progress)

            group.start_soon(start)
            self.check("progress", await witness.until("progress 1"), witness.seen)
            group.cancel_scope.cancel()
        with anyio.move_on_after(WAIT):
            while mark not in log.read_text(errors="replace"):
                await anyio.sleep(0.05)
        self.check("the server hears of it", mark in log.read_text(errors="replace"))
        echo = await session.call_tool("echo", {"message": "after"})
        self.check("a call after it", "after" in text_of(echo), echo)


def exact(setup: Setup, way: Way, tool: str, given: Any, meta: Any = None) -> bytes:
    """The result of a call as the server itself sends it."""
    alone = Way(way.era, "stdio", "none")
    log = setup.work / f"{way.era}.txt"
    with Peer(direct(setup, alone, log.with_suffix(".log")), log) as peer:
        if way.era == "legacy":
            peer.request("init", "initialize", {**GREETING, "capabilities": {}}, 2 * WAIT)
            peer.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        params = {"name": tool, "arguments": given} | ({"_meta": meta} if meta else {})
        line = peer.request(1, "tools/call", params, 2 * WAIT).raw
    return spans(line)["result"]


SIDES = [(client, server) for client in ("stdio", "http") for server in ("stdio", "http")]


async def each(setup: Setup, verdict: Verdict, ways: list[Way], show: Show) -> None:
    """Runs all combinations, two at a time: most of the time servers are starting."""
    turns = anyio.Semaphore(2)

    async def one(way: Way) -> None:
        checks = Checks(setup, verdict, way)
        async with turns:
            try:
                with anyio.fail_after(4 * WAIT):
                    await show(checks)
                checks.check("to its end", True)
            except Exception:  # The other combinations must still be reported.
                checks.check("to its end", False, traceback.format_exc()[-1400:])

    async with anyio.create_task_group() as group:
        for way in ways:
            group.start_soon(one, way)


Show = Callable[[Checks], Awaitable[None]]
GREETING = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "bridged", "version": "1"}}
TODAY = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "bridged", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
