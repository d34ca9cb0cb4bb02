"""The corpus, once to a server directly and once through the gateway: every reply is the same, byte
for byte, unless it was oversized; then the stored result is the same.

Only these may differ: `tools/list` ends with our tools and has widened output schemas; what a step
declares to vary from run to run; and, unless `--no-links`, what `meant` removes. `--only SERVER`
leaves the other servers out. With `--direct-url` and `--through-url` the servers at these URLs are
used instead of started ones.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import common
import places
from common import OUR_TOOLS, Setup, Verdict, meant
from corpus import Session, Step, load, same_lines, spans
from frames import Peer
from http_peer import HttpPeer
from identity import compare_tools
from model import HANDLES

# Seconds after which a reply counts as missing: servers that start wait for each other.
WAIT = 90.0

# Seconds to wait after a frame that gets no reply.
QUIET = 0.4

# A text of more bytes is over the gateway's limit of 2,500 tokens, whatever its content ...
SURELY_LARGE = 60_000
# ... and one of this many bytes is within the limit.
SURELY_SMALL = 2_000


@dataclass
class Recording:
    """The replies in one run of a session."""

    # By the index of the step.
    replies: dict[int, bytes] = field(default_factory=dict)
    others: list[bytes] = field(default_factory=list)
    # The first step whose reply is missing, and why.
    stuck: str = ""
    at: int = 0


def run(session: Session, peer: Peer, place: Path, wait: float = WAIT) -> Recording:
    """Sends the steps of a session in their order."""
    made = Recording()
    with peer:
        try:
            for number, step in enumerate(session.steps):
                if step.after is not None:
                    peer.asked(step.after, wait)
                peer.send(step.sent(place))
                if step.reply is None:
                    peer.quiet(QUIET)
                elif not step.later:
                    # The first reply takes as long as the server's start.
                    made.replies[number] = peer.reply(step.reply, wait if number else WAIT).raw
            for number, step in enumerate(session.steps):
                if step.later:
                    made.replies[number] = peer.reply(step.reply, wait).raw
            peer.quiet(QUIET)
        except (TimeoutError, EOFError, OSError) as error:
            made.at = number
            made.stuck = f"step {number} ({title(step)}): {error}"
    made.others = [line.raw for line in peer.others]
    return made


def title(step: Step) -> str:
    """A step's name: its own, or its request."""
    if step.name:
        return step.name
    try:
        message = json.loads(step.frame)
        params = message.get("params") or {}
        return f"{message.get('method', 'an answer')} {params.get('name', '')}".strip()
    except (ValueError, AttributeError):
        return repr(step.frame[:40])


def texts(reply: bytes) -> int:
    """The bytes of text in a tool result."""
    content = (json.loads(reply).get("result") or {}).get("content") or []
    return sum(len(block.get("text", "").encode(errors="replace")) for block in content)


@dataclass
class Judge:
    """Compares the two runs of one session."""

    setup: Setup
    session: Session
    verdict: Verdict
    exact: int = 0
    masked: int = 0
    stored: int = 0

    def compare(self, direct: Recording, through: Recording) -> None:
        """Compares all replies, and all other frames."""
        name = f"{self.session.server}, {self.session.name}"
        self.verdict.equal(f"{name}: runs to its end directly", direct.stuck, "")
        self.verdict.equal(f"{name}: runs to its end", through.stuck, direct.stuck)
        for number, wanted in direct.replies.items():
            step, got = self.session.steps[number], through.replies.get(number, b"")
            self.reply(f"{name}, {number}: {title(step)}", step, got, wanted)
        varies = self.session.varies
        more, missing = same_lines(through.others, direct.others, varies)
        self.verdict.check(f"{name}: beside replies, nothing more", not more, list(more))
        self.verdict.check(f"{name}: beside replies, nothing lost", not missing, list(missing))

    def reply(self, name: str, step: Step, got: bytes, wanted: bytes) -> None:
        """Compares one reply."""
        if not got:
            return self.verdict.check(name, False, "no reply")
        got = got if self.setup.no_links else meant(got, wanted)
        if got == wanted:
            self.exact += 1
            large = b"tools/call" in step.frame and texts(wanted) > SURELY_LARGE
            return self.verdict.check(name, not (large and self.setup.gateway), "not offloaded")
        if b'"tools":[' in wanted and b"tools/list" in step.frame:
            return self.tools(name, got, wanted)
        if HANDLES.search(got.decode(errors="replace")) and not HANDLES.search(wanted.decode()):
            return self.oversized(name, step, got, wanted)
        self.masked += 1
        return self.verdict.equal(name, step.stable(got), step.stable(wanted))

    def tools(self, name: str, got: bytes, wanted: bytes) -> None:
        """The list has the server's tools, then ours; a page other than the last is unchanged."""
        inner = Verdict()
        compare_tools(inner, wanted, got, gated=self.setup.gateway is not None)
        red = [check for check in inner.checks if not check["ok"]]
        self.verdict.check(name, not red, red)

    def oversized(self, name: str, step: Step, got: bytes, wanted: bytes) -> None:
        """The preview of a large reply leads to all of it."""
        self.stored += 1
        result = spans(wanted)["result"]
        self.verdict.check(f"{name}: was too large", len(result) > SURELY_SMALL, len(result))
        kept = [
            hashlib.sha256(step.stable(self.raw(handle))).hexdigest()
            for handle in dict.fromkeys(HANDLES.findall(got.decode(errors="replace")))
        ]
        sum_of_it = hashlib.sha256(step.stable(result)).hexdigest()
        self.verdict.check(f"{name}: is stored to the byte", sum_of_it in kept, (sum_of_it, kept))
        around = [{k: v for k, v in spans(raw).items() if k != "result"} for raw in (got, wanted)]
        self.verdict.equal(f"{name}: around the result", *around)
        inner = [spans(spans(raw)["result"]) for raw in (got, wanted)]
        for members in inner:
            for shown in ("content", "structuredContent"):
                members.pop(shown, None)
        self.verdict.equal(f"{name}: beside the content", *inner)

    def raw(self, handle: str) -> bytes:
        """The stored result."""
        cat = [self.setup.gateway or "", "cat", "--raw", handle, "--store", str(self.setup.store)]
        return subprocess.run(cat, capture_output=True, check=False).stdout


def peers(setup: Setup, session: Session, place: Path, through: bool) -> Peer:
    """A client of the server, or of the gateway in front of it."""
    if url := (setup.through_url if through else setup.direct_url):
        return HttpPeer(url)
    server = places.SERVERS[session.server]
    places.fresh(server, place)
    command = server.command(setup.peers, place)
    command = Setup(setup.gateway if through else None, setup.store, place, command).relayed()
    errors = place.with_name("through.txt" if through else "direct.txt")
    variables = places.variables(place, server)
    if through and setup.no_links:
        config = place.with_name("no-links.toml")
        config.write_text("max_binary_bytes = 0\n")
        variables["SPILLGATE_CONFIG"] = str(config)
    return Peer(command, errors, variables)


def play(setup: Setup, session: Session) -> tuple[Session, Recording, Recording]:
    """Makes both runs of a session."""
    place = setup.work / f"{session.server} {session.name}".replace(" ", "-") / "place"
    runs = [run(session, peers(setup, session, place, through), place) for through in (False, True)]
    return session, *runs


def scenario(setup: Setup, verdict: Verdict) -> None:
    """Runs all sessions, two at a time."""
    sessions = [one for one in load() if setup.only in ("", one.server)]
    start, exact, masked, stored = time.monotonic(), 0, 0, 0
    with ThreadPoolExecutor(2) as pool:
        for session, direct, through in pool.map(lambda one: play(setup, one), sessions):
            judge = Judge(setup, session, verdict)
            judge.compare(direct, through)
            exact, masked, stored = (
                exact + judge.exact,
                masked + judge.masked,
                stored + judge.stored,
            )
    verdict.facts |= {"exact": exact, "masked": masked, "stored": stored}
    verdict.facts["seconds"] = round(time.monotonic() - start, 1)
    verdict.check("there are sessions", bool(sessions), setup.only)
    if setup.gateway:
        verdict.check("some replies were too large", stored > 0)
    verdict.check("most replies are the same without a mask", exact > 2 * masked, (exact, masked))


if __name__ == "__main__":
    common.run(scenario)
