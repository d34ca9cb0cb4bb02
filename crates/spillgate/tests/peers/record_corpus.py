"""Records `corpus.jsonl` again: what real clients send to real servers, and `edges.py`.

    python record_corpus.py --peers .peers --store X --work /tmp/new-directory

Clients: the SDKs' and FastMCP's, the inspector, Claude Code, Codex CLI, each with the servers in
`FOR`. Every session is then run twice without a gateway, and what differs between the two is noted
as `varies`; a difference that no mask covers ends the recording.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import common
import edges
import places
from agents import environment, play as play_agent
from clients import CLIENTS
from common import Setup, Verdict
from corpus import MASKS, Session, Step, masked, same_lines, save
from corpus import load as load_corpus
from everything import Observer
from frames import Peer
from model import Call, Model
from replay import QUIET, run, title

# Seconds after which a request counts as unanswered; a browser is slow.
PATIENCE = 8.0
PATIENCE_WITH_A_BROWSER = 60.0

# The calls of a client: one with a small and one with a large result of each server.
TOURS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "everything": [
        ("echo", {"message": "Grüße \u2028 🎬"}),
        ("echo", {"message": "<FILL 60000>"}),
        ("get-structured-content", {"location": "Chicago"}),
        ("get-sum", {"a": 1.5, "b": 2}),
    ],
    "filesystem": [
        ("list_directory", {"path": "<PLACE>"}),
        ("read_text_file", {"path": "<PLACE>/large.log"}),
        ("read_text_file", {"path": "<PLACE>/small.txt"}),
    ],
    "memory": [("open_nodes", {"names": ["e1"]}), ("read_graph", {})],
    "git": [
        ("git_status", {"repo_path": "<PLACE>"}),
        ("git_log", {"repo_path": "<PLACE>", "max_count": 300}),
    ],
    "playwright": [
        ("browser_navigate", {"url": "data:text/html,<h1>Hello</h1>"}),
        ("browser_evaluate", {"function": "() => 'row '.repeat(30000)"}),
        ("browser_snapshot", {}),
    ],
}

# The clients of each server; `everything` gets all of them.
FOR: dict[str, list[str]] = {
    "everything": [*CLIENTS, "tour", "inspector", "claude", "codex"],
    "filesystem": [*CLIENTS, "inspector", "claude", "codex"],
    "memory": ["mcp.Client", "typescript v2"],
    "git": ["mcp.Client", "typescript v1", "claude"],
    "playwright": ["mcp.ClientSession", "typescript v2", "codex"],
}


class Recorder:
    """Runs clients with a server behind the tap."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    def command(self, server: str, place: Path, log: Path) -> list[str]:
        """The server behind the tap, with its environment, because clients do not pass theirs on."""
        its = places.SERVERS[server]
        variables = places.variables(place, its)
        pairs = [f"{k}={v}" for k, v in variables.items() if "\n" not in v]
        tap = [sys.executable, str(Path(__file__).with_name("tap.py")), str(log)]
        return ["/usr/bin/env", *pairs, *tap, *its.command(self.setup.peers, place)]

    async def record(self, server: str, client: str) -> Session:
        """Runs one client with one server."""
        place = self.setup.work / f"{server}-{client}".replace(" ", "-") / "place"
        places.fresh(places.SERVERS[server], place)
        log = place.with_name("tap.jsonl")
        command = self.command(server, place, log)
        steps = [(tool, at(place, arguments)) for tool, arguments in TOURS[server]]
        if client in CLIENTS:
            async with CLIENTS[client](command, self.setup.peers) as face:
                await face.tools()
                for tool, arguments in steps:
                    await face.call(tool, arguments)
        elif client == "tour":
            await Observer().run(command)
        elif client == "inspector":
            self.inspect(command, place, steps[0])
        else:
            self.setup.only, self.setup.work = client, place.parent
            with Model([Call(tool, arguments) for tool, arguments in steps]) as model:
                play_agent(self.setup, command, model, client)
            self.setup.work = place.parent.parent
        return Session(server, client, taken(log, place))

    def inspect(self, command: list[str], place: Path, step: tuple[str, dict[str, Any]]) -> None:
        """Runs the inspector's command line once."""
        config = place.with_name("inspector.json")
        entry = {"command": command[0], "args": command[1:]}
        config.write_text(json.dumps({"mcpServers": {"s": entry}}))
        program = [self.setup.peers / "bin/node", self.setup.peers / "node/node_modules/.bin/mcp-inspector"]
        tool, arguments = step
        call = ["--cli", "--server", "s", "--config", config, "--method", "tools/call"]
        call += ["--tool-name", tool, "--tool-arg", *(f"{k}={v}" for k, v in arguments.items())]
        env = environment(place.parent, self.setup.peers) | {"MCP_INSPECTOR_SECRET_STORE": "memory"}
        subprocess.run([*program, *call], env=env, capture_output=True, check=False)


def at(place: Path, arguments: Any) -> Any:
    """Inserts the place into arguments."""
    return json.loads(json.dumps(arguments).replace("<PLACE>", str(place)))


def taken(log: Path, place: Path) -> list[Step]:
    """The steps in a tap's log."""
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    replied = {key(m) for who, text in lines if who == "server" and "method" not in (m := load(text))}
    steps: list[Step] = []
    waiting: dict[str, Step] = {}
    for who, text in lines:
        message = load(text)
        if who != "client":
            waiting.pop(key(message) if "method" not in message else "", None)
            continue
        # The client continued before these were answered.
        for earlier in waiting.values():
            earlier.later = True
        step = Step(text.encode("utf-8", errors="surrogateescape"))
        step.frame = step.frame.replace(str(place).encode(), b"<PLACE>")
        step.frame = step.frame.replace(str(place.parent).encode(), b"<PLACE>/..")
        if "method" not in message:
            step.after = message.get("id")
        elif "id" in message and key(message) in replied:
            step.reply = message["id"]
            waiting[key(message)] = step
        steps.append(step)
    return steps


def load(text: str) -> dict[str, Any]:
    """Parses a message; empty if it is none."""
    try:
        message = json.loads(text)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def key(message: dict[str, Any]) -> str:
    """A normalized spelling of an id."""
    return json.dumps(message.get("id"))


def once(setup: Setup, session: Session) -> Any:
    """Runs a session without a gateway."""
    server = places.SERVERS[session.server]
    place = setup.work / "varies" / f"{session.server} {session.name}".replace(" ", "-") / "place"
    places.fresh(server, place)
    peer = Peer(server.command(setup.peers, place), place.with_name("stderr.txt"), places.variables(place, server))
    patience = PATIENCE_WITH_A_BROWSER if session.server == "playwright" else PATIENCE
    return run(session, peer, place, patience)


def find_what_varies(setup: Setup, session: Session, verdict: Verdict) -> None:
    """Runs a session twice; records the masks that make the two runs equal."""
    first = once(setup, session)
    # A request that the server does not answer is not waited for.
    for _ in session.steps:
        if not first.stuck:
            break
        session.steps[first.at].reply = None
        first = once(setup, session)
    # Clocks that show seconds must advance.
    time.sleep(1.1)
    second = once(setup, session)
    name = f"{session.server}, {session.name}"
    verdict.equal(f"{name}: runs", (first.stuck, second.stuck), ("", ""))
    for number, step in enumerate(session.steps):
        one, other = first.replies.get(number, b""), second.replies.get(number, b"")
        step.varies = next((m for m in choices() if masked(one, m) == masked(other, m)), ["nothing"])
        if step.varies == ["nothing"]:
            verdict.equal(f"{name}: {number}: {title(step)} varies by a mask", one, other)
    same = lambda masks: not any(same_lines(first.others, second.others, masks))
    session.varies = next(filter(same, choices()), ["nothing"])
    if session.varies == ["nothing"]:
        session.varies = []
        verdict.equal(f"{name}: other lines vary by a mask", first.others, second.others)


def choices() -> list[list[str]]:
    """All sets of masks, smallest first."""
    return [list(some) for size in range(4) for some in itertools.combinations(MASKS, size)]


async def scenario(setup: Setup, verdict: Verdict) -> None:
    """Records, finds what varies, writes the file; `--only edges` keeps earlier recordings."""
    recorded = [(server, client) for server in places.SERVERS for client in FOR[server]]
    found = []
    if setup.only == "edges":
        found = [one for one in load_corpus() if (one.server, one.name) in recorded]
        recorded = []
    recorder = Recorder(setup)
    for server, client in recorded:
        sys.stderr.write(f"{server}, {client}\n")
        try:
            found.append(await asyncio.wait_for(recorder.record(server, client), 100))
        except Exception as error:  # One client that fails must not hide the others.
            verdict.check(f"{server}, {client}: was recorded", False, repr(error))
    found += edges.sessions()
    save(found)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda one: find_what_varies(setup, one, verdict), found))
    save(found)
    text = Path(common.__file__).with_name("corpus.jsonl").read_text("utf-8")
    for private in (str(setup.work), str(setup.peers), f"{Path.home()}/"):
        verdict.check(f"nothing of this machine: {private}", private not in text)
    verdict.facts["sessions"] = {f"{s.server}, {s.name}": len(s.steps) for s in found}


if __name__ == "__main__":
    common.run(scenario)
