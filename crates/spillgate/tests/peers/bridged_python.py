"""The Python SDK's client in either generation, with a server of the other (see `bridged.py`)."""

from __future__ import annotations

import json
from typing import Any

import anyio
import common
from bridged import (
    HERE,
    LONG,
    MODERN,
    NEEDLE,
    TODAY,
    SIDES,
    Checks,
    Place,
    Way,
    Witness,
    client,
    each,
    exact,
    refusal,
    standing,
    text_of,
)
from common import Setup, Verdict
from mcp import Client
from mcp.client.subscriptions import listen
from mcp_types import PromptReference

async def to_legacy(setup: Setup, verdict: Verdict) -> None:
    """A client of 2026-07-28 with server-everything, in each combination; it requires the version or negotiates it."""
    whole = exact(setup, Way("legacy", "stdio", "none"), "echo", {"message": LONG})
    # The gateway inserts the field that a modern result requires, and stores the result as the client would get it.
    whole = whole.replace(b"{", b'{"resultType":"complete",', 1)

    async def show(checks: Checks) -> None:
        way, witness = checks.way, Witness()
        # A client that requires 2026-07-28, and one that negotiates it.
        mode = MODERN if way.bridge == "auto" else "auto"
        async with (
            standing(setup, way) as place,
            client(place, mode, witness, log_level="debug") as session,
        ):
            checks.equal("the generation", session.session.protocol_version, MODERN)
            await checks.lists(session, ["echo", "get-sum"], ["simple-prompt", "args-prompt"])
            await checks.large(session, "echo", {"message": LONG}, NEEDLE, whole)
            if way.bridge == "always":
                await everything(checks, session, witness, place)

    ways = [Way("legacy", *sides, bridge) for sides in SIDES for bridge in ("auto", "always")]
    await each(setup, verdict, ways, show)


async def everything(checks: Checks, session: Client, witness: Witness, place: Place) -> None:
    """The features of server-everything besides results."""
    prompt = await session.get_prompt("args-prompt", {"city": "Ulm"})
    checks.check("a prompt", "Ulm" in str(prompt), prompt)
    got = await refusal(session.read_resource("demo://nope"))
    checks.equal("a resource that is not there", got[0], -32602)
    failed = await session.call_tool("no-such-tool", {})
    checks.check("a tool that is not there", failed.is_error, failed)
    structured = await session.call_tool("get-structured-content", {"location": "Chicago"})
    checks.check("structured content", structured.structured_content, structured)
    slow = ("trigger-long-running-operation", {"duration": 60, "steps": 60})
    await checks.cancelled(session, witness, place.log, (*slow, "notifications/cancelled"))
    roots = await session.call_tool("get-roots-list", {})
    # The server asks outside of a call's stream; in a shared session the question belongs to no particular client.
    is_shared = (checks.way.client, checks.way.server) == ("http", "http")
    wanted, name = ("no roots", "roots: nobody is asked") if is_shared else ("file:///x", "roots")
    checks.check(name, wanted in str(roots) and is_shared != ("roots" in witness.seen), (roots, witness.seen))
    asked = [
        ("sample", "trigger-sampling-request", {"prompt": "say", "maxTokens": 5}, "sampled"),
        ("elicit form", "trigger-elicitation-request", {}, "Ada"),
        ("elicit url", "trigger-url-elicitation", {"url": "https://x.example", "message": "go"}, "complete"),
    ]
    for kind, tool, given, wanted in asked:
        result = await session.call_tool(tool, given)
        checks.check(f"it is asked: {kind}", wanted in str(result) and kind in witness.seen, (result, witness.seen))
    await changes(checks, session, witness)


async def changes(checks: Checks, session: Client, witness: Witness) -> None:
    """Changes of a resource and of the resource list, and log messages during a call."""
    uri = str((await session.list_resources()).resources[0].uri)
    zipped = {"name": "z.gz", "data": "data:text/plain,hello", "outputType": "resourceLink"}
    async with listen(session.session, resources_list_changed=True, resource_subscriptions=[uri]) as stream:
        checks.equal("what is listened for", stream.honored.resource_subscriptions, [uri])
        await session.call_tool("toggle-subscriber-updates", {})
        await session.call_tool("gzip-file-as-resource", zipped)
        seen: set[str] = set()
        with anyio.move_on_after(common.WAIT):
            async for event in stream:
                seen.add(getattr(event, "uri", type(event).__name__))
                if len(seen) == 2:
                    break
        checks.equal("changes", seen, {uri, "ResourcesListChanged"})
    await session.call_tool("toggle-simulated-logging", {})
    with anyio.move_on_after(common.WAIT):
        while not any(one.startswith("log ") for one in witness.seen):
            await session.call_tool("trigger-long-running-operation", {"duration": 2, "steps": 2})
    checks.check("log messages", any(one.startswith("log ") for one in witness.seen), witness.seen)


async def to_modern(setup: Setup, verdict: Verdict) -> None:
    """A client of 2025-11-25 with a server that does not support it, in each combination."""
    whole = exact(setup, Way("modern", "stdio", "none"), "journal", {"kb": 100}, TODAY)

    async def show(checks: Checks) -> None:
        witness = Witness()
        async with standing(setup, checks.way) as place, client(place, "legacy", witness) as session:
            checks.equal("the generation", session.session.protocol_version, "2025-11-25")
            checks.equal("instructions", session.instructions, "Be brief.")
            await checks.lists(session, ["echo", "ask"], ["greet"])
            await checks.large(session, "journal", {"kb": 100}, "code=E4217", whole)
            await modern(checks, session, witness, place)

    await each(setup, verdict, [Way("modern", *sides) for sides in SIDES], show)


async def modern(checks: Checks, session: Client, witness: Witness, place: Place) -> None:
    """The features of the modern server besides results."""
    await session.send_ping()
    prompt = await session.get_prompt("greet", {"who": "Ulm"})
    checks.check("a prompt", "hello Ulm" in str(prompt), prompt)
    reference = PromptReference(type="ref/prompt", name="greet")
    completed = await session.complete(reference, {"name": "who", "value": "A"})
    checks.equal("completion", completed.completion.values, ["Ada"])
    checks.equal("a resource that is not there", (await refusal(session.read_resource("r:2")))[0], -32002)
    got = await refusal(session.call_tool("break", {}))
    checks.equal("an error", got, (-32602, "no tool break"))
    failed = await session.call_tool("fail", {})
    checks.check("a failure", failed.is_error and text_of(failed) == "it failed", failed)
    await session.set_logging_level("info")
    await checks.cancelled(session, witness, place.log, ("slow", {}, "cancelled"))
    checks.check("log messages", await witness.until("log slow is slow"), witness.seen)
    asked = text_of(await session.call_tool("ask", {}))
    checks.check("it is asked in two rounds", asked.startswith("done") and "sampled" in asked, asked)
    checks.check("roots and a form", {"roots", "elicit form", "sample"} <= set(witness.seen), witness.seen)
    visited = text_of(await session.call_tool("page", {}))
    checks.check("a page", visited.startswith("visited") and "elicit url" in witness.seen, visited)
    await session.subscribe_resource("r:1")
    await session.call_tool("change", {})
    names = ["resources/updated", "tools/list_changed", "prompts/list_changed", "resources/list_changed"]
    wanted = [f"notifications/{name}" for name in names]
    checks.check("changes", await witness.until(*wanted), witness.seen)
    await session.unsubscribe_resource("r:1")


async def several(setup: Setup, verdict: Verdict) -> None:
    """A server of each generation behind one gateway, with a client of each generation."""
    node, modules = str(setup.peers / "bin/node"), str(setup.peers / "node/node_modules")
    servers = {
        "new": [str(HERE / "modern_server.mjs"), modules],
        "old": [f"{modules}/.bin/mcp-server-everything"],
    }
    config = setup.work / "several.toml"
    lines = [
        f"[servers.{name}]\ncommand = {json.dumps(node)}\nargs = {json.dumps(args)}\n"
        for name, args in servers.items()
    ]
    config.write_text("".join(lines))
    gateway = [str(setup.gateway), "mcp", "--store", str(setup.store), "--config", str(config)]
    for mode, missing in (("legacy", -32002), ("auto", -32602)):
        witness = Witness()
        async with client(Place(gateway, config), mode, witness) as session:

            def check(what: str, ok: bool, detail: Any = "", mode: str = mode) -> None:
                verdict.check(f"{mode}: {what}", ok, detail)

            want = {"new_echo", "old_echo", "ask", "get-sum", "trigger-elicitation-request"}
            listed: set[str] = set()
            # server-everything lists some tools only after it has read the client's capabilities.
            for _ in range(100):
                listed = {tool.name for tool in (await session.list_tools()).tools}
                if want <= listed:
                    break
                await anyio.sleep(0.1)
            check("tools of both", want <= listed, listed)
            asked = text_of(await session.call_tool("ask", {}))
            check("the modern one asks", "Ada" in asked, asked)
            asked = text_of(await session.call_tool("trigger-elicitation-request", {}))
            check("the legacy one asks", "Ada" in asked, asked)
            for uri in ("r:2", "demo://nope"):
                code = (await refusal(session.read_resource(uri)))[0]
                check(f"{uri} is not there", code == missing, code)
            shown = text_of(await session.call_tool("journal", {"kb": 100}))
            handle = (common.preview(shown) or {}).get("handle", "none")
            grep = await session.call_tool("spillgate_grep", {"handle": handle, "pattern": NEEDLE})
            check("grep finds the needle", NEEDLE in text_of(grep), grep)


async def scenario(setup: Setup, verdict: Verdict) -> None:
    """Runs the selected scenario."""
    shows = {"to-legacy": to_legacy, "to-modern": to_modern, "several": several}
    await shows[setup.only](setup, verdict)


common.run(scenario)
