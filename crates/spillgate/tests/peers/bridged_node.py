"""The TypeScript SDK's clients and the inspector with servers of the other generation (see `bridged.py`)."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import common
from bridged import HERE, LONG, MODERN, NEEDLE, SIDES, Checks, Way, each, standing
from clients import Node, typescript
from common import OUR_TOOLS, Setup, Verdict
from sdks import text_of

def node_server(setup: Setup, way: Way) -> list[str]:
    """The TypeScript SDK's server that supports only 2026-07-28."""
    program, modules = HERE / "modern_server.mjs", setup.peers / "node/node_modules"
    command = [str(setup.peers / "bin/node"), str(program), str(modules)]
    return command + (["--http"] if way.server == "http" else [])


async def looked_into(face: Node, check: Any, tool: str, given: dict[str, Any], needle: str) -> None:
    """A large result is a preview, and a search finds its content."""
    shown = text_of(await face.call(tool, given))
    handle = (common.preview(shown) or {}).get("handle", "none")
    check("a preview", handle != "none" and len(shown) < common.PREVIEW_BYTES_MAX, shown)
    grep = await face.call("spillgate_grep", {"handle": handle, "pattern": needle})
    check("grep finds the needle", needle in text_of(grep), grep)


async def names(face: Node) -> list[Any]:
    """The names of the tools in the first list."""
    return [tool.get("name") for tool in await face.tools()]


async def to_modern(setup: Setup, verdict: Verdict) -> None:
    """The client of SDK 1.x, in each combination."""

    async def show(checks: Checks) -> None:
        way, check = checks.way, checks.check
        async with standing(setup, way, node_server(setup, way)) as place:
            at = place.at if isinstance(place.at, list) else [place.at]
            async with typescript("v1")(at, setup.peers) as face:
                assert isinstance(face, Node)
                listed = await names(face)
                wanted = ["echo", "journal", "ask", "fail", "break", *OUR_TOOLS]
                check("tools", listed == wanted, listed)
                await looked_into(face, check, "journal", {"kb": 100}, NEEDLE)
                await rest(face, check)
            if way.client == "stdio":
                shown = await inspected(setup, way, at, "echo", {"message": "hi"})
                check("inspector", "Echo: hi" in shown, shown)
                # It declares fewer capabilities than the server requires, and the server says so.
                shown = await inspected(setup, way, at, "ask", {})
                check("inspector: a clear refusal", "capabilities do not declare" in shown, shown)

    await each(setup, verdict, [Way("modern", *sides) for sides in SIDES], show)


async def rest(face: Node, check: Any) -> None:
    """Everything other than lists and large results."""
    asked = text_of(await face.call("ask", {}))
    check("it is asked", asked.startswith('done first \u2028 "round"') and "Ada" in asked, asked)
    check("its roots", "file:///x" in asked, asked)
    failed = await face.call("fail", {})
    check("a failure", failed.get("isError") is True, failed)
    broken = await face.call("break", {})
    check("an error", broken.get("code") == -32602 and "it is broken" in broken["refused"], broken)
    gone = await face.do("readResource", {"uri": "r:2"})
    check("a resource that is not there", gone.get("code") == -32002, gone)
    read = await face.do("readResource", {"uri": "r:1"})
    check("a resource", "hello" in str(read), read)
    prompts = await face.do("listPrompts")
    check("prompts", "greet" in str(prompts), prompts)
    pong = await face.do("ping")
    check("ping", pong == {}, pong)


async def to_legacy(setup: Setup, verdict: Verdict) -> None:
    """The client of SDK 2.x that insists on 2026-07-28, in each combination."""

    async def show(checks: Checks) -> None:
        way, check = checks.way, checks.check
        async with standing(setup, way) as place:
            at = place.at if isinstance(place.at, list) else [place.at]
            async with typescript("v2-modern")(at, setup.peers) as face:
                assert isinstance(face, Node)
                if way.bridge == "auto":
                    # It probes the version, is refused, and reports that.
                    said = await face.hear()
                    check("a clear refusal", MODERN in said.get("refused", ""), said)
                    return
                await served(face, check)
            if way.client == "stdio":
                shown = await inspected(setup, way, at, "echo", {"message": "hi"})
                check("inspector", "Echo: hi" in shown, shown)

    ways = [Way("legacy", *sides, bridge) for sides in SIDES for bridge in ("auto", "always")]
    await each(setup, verdict, ways, show)


async def served(face: Node, check: Any) -> None:
    """What server-everything offers it."""
    listed = await names(face)
    check("tools", "echo" in listed and listed[-4:] == OUR_TOOLS, listed)
    await looked_into(face, check, "echo", {"message": LONG}, NEEDLE)
    asked = text_of(await face.call("trigger-elicitation-request", {}))
    check("it is asked", "Ada" in asked, asked)
    sampled = await face.call("trigger-sampling-request", {"prompt": "say", "maxTokens": 5})
    check("a sample", "sampled" in str(sampled), sampled)
    gone = await face.do("readResource", {"uri": "demo://nope"})
    check("a resource that is not there", gone.get("code") == -32602, gone)


async def inspected(setup: Setup, way: Way, command: list[str], tool: str, given: dict[str, str]) -> str:
    """The output of the inspector's command line for a call."""
    # It speaks the generation that the server does not.
    era = "modern" if way.era == "legacy" else "legacy"
    config = setup.work / f"inspector-{era}-{way.server}.json"
    server = {"command": command[0], "args": command[1:]}
    config.write_text(json.dumps({"mcpServers": {"s": server}}))
    inspector = setup.peers / "node/node_modules/.bin/mcp-inspector"
    words = [str(setup.peers / "bin/node"), str(inspector), "--cli", "--config", str(config), "--server", "s"]
    words += ["--protocol-era", era, "--method", "tools/call", "--tool-name", tool]
    words += [word for name, value in given.items() for word in ("--tool-arg", f"{name}={value}")]
    env = os.environ | {"HOME": str(setup.work), "MCP_INSPECTOR_SECRET_STORE": "memory"}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*words, stdout=pipe, stderr=pipe, env=env)
    said = await asyncio.wait_for(process.communicate(), 2 * common.WAIT)
    return "".join(one.decode(errors="replace") for one in said)


async def scenario(setup: Setup, verdict: Verdict) -> None:
    """Runs one of the two directions."""
    await (to_legacy if setup.only == "to-legacy" else to_modern)(setup, verdict)


if __name__ == "__main__":
    common.run(scenario)
