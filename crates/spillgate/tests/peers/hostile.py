"""A misbehaving server behind the gateway, in raw frames: nothing may kill the relay, and what the
gateway need not change comes through byte for byte."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import common
from common import PREVIEW_BYTES_MAX, Setup, Verdict
from frames import Line, Peer
from hostile_server import FILLER, LONE, NOISE, PIXEL, text, wire

FROM_CLIENT = [
    b"this is no JSON\n",
    b'{"jsonrpc":"2.0","id":1,\n',
    b"\n",
    b"\xff\x00\n",
    b"[1.0]\n",
    b'{"jsonrpc":"2.0", "id":9,"method":"odd/params","params":[1.0,"\\ud83d"]}\r\n',
]


class Case:
    """The context of a scenario: its verdict, and sessions with the server."""

    def __init__(self, setup: Setup, verdict: Verdict) -> None:
        self.setup, self.verdict = setup, verdict
        self.check, self.equal = verdict.check, verdict.equal
        self.gated = setup.gateway is not None
        self.logs: list[Path] = []

    @contextlib.contextmanager
    def session(self, *options: str) -> Iterator[Peer]:
        """Starts a session and makes the handshake."""
        number = len(self.logs)
        self.logs.append(self.setup.work / f"received-{number}.log")
        command = [*self.setup.relayed(), "--log", str(self.logs[-1]), *options]
        with Peer(command, self.setup.work / f"stderr-{number}.txt") as peer:
            peer.handshake()
            yield peer

    def received(self) -> bytes:
        """What the server of the last session has received."""
        return self.logs[-1].read_bytes()

    def alive(self, name: str, peer: Peer) -> None:
        """Checks that the session still works."""
        line = peer.call(f"alive {name}", "surrogate")
        wanted = wire(f"alive {name}", text(LONE + b"\\n"))
        self.equal(f"{name}: the relay lives", line.raw, wanted)

    def preview(self, name: str, line: Line) -> tuple[str, dict[str, Any]]:
        """Checks the preview in an oversized result; returns it and the result."""
        result = (line.message() or {}).get("result", {})
        texts = [block["text"] for block in result.get("content", []) if block["type"] == "text"]
        found = next((text for text in texts if common.preview(text)), "")
        self.check(f"{name}: a preview", bool(found) or not self.gated, texts[:2])
        size = len(found.encode())
        self.check(f"{name}: it is short", size < PREVIEW_BYTES_MAX, size)
        return found, result


def surrogates(case: Case) -> None:
    """A lone surrogate, in a small result and in an oversized one."""
    with case.session() as peer:
        line = peer.call(1, "surrogate")
        case.equal("surrogate: small is identical", line.raw, wire(1, text(LONE + b"\\n")))
        preview, _ = case.preview("surrogate", peer.call(2, "surrogate", {"lines": 2000}))
        case.check("surrogate: nothing odd is shown", encodes(preview), preview)
        case.alive("surrogate", peer)
        if not case.gated:
            return
        handle = handle_of(preview)
        page = peer.call(3, "spillgate_read", {"handle": handle, "start": 1, "lines": 3})
        shown = page.message()["result"]["content"][0]["text"]
        case.check("surrogate: read shows U+FFFD", "half of a smiley: \ufffd." in shown, shown)
    body = wire(2, text(LONE + b"\\n" + FILLER * 2000))
    wanted = re.sub(rb'\A.*?"result":|\}\n\Z', b"", body)
    case.equal("surrogate: cat --raw is what was sent", raw(case, handle), wanted)


def encodes(value: str) -> bool:
    """Whether a text is valid Unicode."""
    with contextlib.suppress(UnicodeEncodeError):
        return bool(value.encode()) or True
    return False


def handle_of(preview: str) -> str:
    """The handle in a preview."""
    return (common.preview(preview) or {}).get("handle", "")


def raw(case: Case, handle: str) -> bytes:
    """The stored bytes of a handle, from the command line."""
    command = [case.setup.gateway or "", "cat", "--raw", handle, "--store", str(case.setup.store)]
    return subprocess.run(command, capture_output=True, check=False).stdout


def malformed(case: Case) -> None:
    """Lines that are not messages pass unchanged, in order, in both directions."""
    with case.session() as peer:
        line = peer.call(7, "noise")
        case.equal("noise: the reply is right", line.raw, wire(7, text(b"after the noise")))
        case.alive("noise", peer)
        passed = [line.raw for line in peer.others]
        case.equal("noise: lines pass unchanged", passed, NOISE + NOISE)
        for sent in FROM_CLIENT:
            peer.send(sent)
        case.alive("noise from the client", peer)
        case.equal("noise: all that was sent arrives unchanged", case.received(), peer.sent)


def cut_off(case: Case) -> None:
    """A reply that breaks off: its caller gets an error, and the server continues."""
    if not case.gated:
        return
    with case.session() as peer:
        peer.start_call(1, "cut_off")
        failed(case, "cut off: the call gets an error", peer, 1)
        case.alive("cut off", peer)


def large(case: Case) -> None:
    """A result of 50 MB on one line."""
    with case.session() as peer:
        start = time.monotonic()
        line = peer.call(1, "huge", {"megabytes": 50}, wait=120)
        case.verdict.facts["seconds for 50 MB"] = round(time.monotonic() - start, 2)
        case.verdict.facts["gateway's peak memory"] = peer.peak_memory()
        case.verdict.facts["bytes of its reply"] = len(line.raw)
        case.preview("huge", line)
        if case.gated:
            case.check("huge: the whole reply is short", len(line.raw) < PREVIEW_BYTES_MAX)
        case.alive("huge", peer)


def death(case: Case) -> None:
    """The server exits in the middle of calls: each gets an error that names it."""
    for half in (False, True):
        name = "exit amid a line" if half else "exit"
        with case.session() as peer:
            peer.start_call(1, "never")
            peer.start_call("two", "never")
            peer.start_call(3, "die", {"half": half})
            if not case.gated:
                peer.quiet(5)
                case.equal(f"{name}: the code is 3", peer.close(), 3)
                continue
            for request in (1, "two", 3):
                failed(case, f"{name}: call {request} gets an error", peer, request)
            after(case, name, peer)
            code = peer.close()
            case.check(f"{name}: the gateway ends by itself", code is not None, peer.stderr())
            case.verdict.facts[f"exit code after {name}"] = code


def failed(case: Case, name: str, peer: Peer, request: Any) -> None:
    """Expects a JSON-RPC error that says that the upstream has ended."""
    try:
        message = peer.reply(request, 15).message()
    except (EOFError, TimeoutError) as missing:
        case.check(name, False, str(missing))
        return
    error = message.get("error", {})
    case.verdict.facts.setdefault("error", error)
    blames = re.search(r"hostile|upstream", error.get("message", ""))
    case.check(name, bool(blames) and isinstance(error.get("code"), int), message)


def after(case: Case, name: str, peer: Peer) -> None:
    """A call after the server has died: the restarted server answers it."""
    try:
        line = peer.call("late", "surrogate", wait=15)
        answer = "error" if "error" in line.message() else "answer"
    except (EOFError, BrokenPipeError):
        answer = "end"
    except TimeoutError:
        answer = "nothing"
    case.check(f"{name}: a later call is answered", answer == "answer", answer)


def hanging_up(case: Case) -> None:
    """The server closes its stdout but does not exit."""
    if not case.gated:
        return
    with case.session() as peer:
        peer.start_call(1, "never")
        peer.start_call(2, "hang_up")
        failed(case, "hang-up: the call gets an error", peer, 1)
        case.check("hang-up: the gateway ends", peer.close() is not None, peer.stderr())


def last_words(case: Case) -> None:
    """A reply without a newline before a clean exit still arrives."""
    with case.session() as peer:
        line = peer.call(1, "unterminated")
        got = line.message()["result"]["content"][0]["text"]
        case.equal("last words: they arrive", got, "last words")


def progress(case: Case) -> None:
    """Progress arrives when it happens, before the reply."""
    with case.session() as peer:
        peer.start_call(1, "slow", {"steps": 8}, _meta={"progressToken": "p"})
        reply = peer.reply(1)
        case.equal("progress: the reply", reply.raw, wire(1, text(b"done slowly")))
        steps = [line.message()["params"]["progress"] for line in peer.others]
        case.equal("progress: all of it, in order", steps, list(range(1, 9)))
        spread = reply.at - peer.others[0].at
        case.check("progress: as it happens", spread > 0.4, spread)


def cancellation(case: Case) -> None:
    """A cancellation reaches the server unchanged, and the cancelled call does not delay an
    oversized reply to another call."""
    with case.session() as peer:
        peer.start_call(1, "slow", {"steps": 600})
        params = b'{"requestId":1, "reason":"x"}'
        notice = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":%s}\n' % params
        peer.send(notice)
        line = peer.call(2, "surrogate", {"lines": 2000})
        case.preview("cancellation", line)
        case.check("cancellation: reaches the server", notice in case.received(), case.received())
        peer.quiet(1)
        case.equal("cancellation: nothing more comes", [line.raw for line in peer.others], [])


def colliding_ids(case: Case) -> None:
    """Both sides use the same id at once: the directions do not interfere."""
    with case.session() as peer:
        peer.start_call(5, "ask")
        asked = peer.next()
        case.check(
            "ask: the request arrives",
            b"sampling/createMessage" in ((asked and asked.raw) or b""),
            asked,
        )
        peer.send({"jsonrpc": "2.0", "id": 5, "result": {"role": "assistant", "n": 1}})
        text = peer.reply(5).message()["result"]["content"][0]["text"]
        case.equal("ask: the answer went back", json.loads(text), {"role": "assistant", "n": 1})


def shapes(case: Case) -> None:
    """Oversized results of other shapes: blocks other than text are unchanged."""
    with case.session() as peer:
        _, result = case.preview("failed", peer.call(1, "failed"))
        case.check("failed: the flag stays", result.get("isError") is True, result)
        case.equal("failed: _meta stays", result.get("_meta", {}).get("x/y"), 1.0)
        line = peer.call(2, "picture")
        _, result = case.preview("picture", line)
        image = b'{"data":"%s","type":"image","mimeType":"image/png"}' % PIXEL.encode()
        link = b'{"type":"resource_link","uri":"demo://a","name":"a","x-unknown":[1.0]}'
        case.check(
            "picture: other blocks are identical", image in line.raw and link in line.raw, line.raw
        )
        kinds = [block["type"] for block in result.get("content", [])]
        case.equal("picture: in their order", kinds, ["image", "text", "resource_link"])
        line = peer.call(3, "blocks")
        case.preview("blocks", line)
        if case.gated:
            case.check(
                "blocks: the whole reply is short", len(line.raw) < PREVIEW_BYTES_MAX, len(line.raw)
            )
        case.preview("backwards", peer.call(4, "backwards"))
        line = peer.call(5, "pieces")
        case.equal("pieces: identical", line.raw, wire(5, text("käse ".encode() * 20)))


def endings(case: Case) -> None:
    """The client disconnects: the server's input ends, and no process stays behind."""
    with case.session() as peer:
        peer.start_call(1, "slow", {"steps": 5})
        code = peer.close()
        case.equal("end of input: exit code", code, 0)
        case.check("end of input: reaches the server", case.received().endswith(b"EOF\n"))
    if not case.gated:
        return
    with case.session() as peer:
        children = children_of(peer.process.pid)
        peer.process.send_signal(signal.SIGTERM)
        gone(case, "terminated", peer, children)
    with case.session("--stubborn") as peer:
        children = children_of(peer.process.pid)
        peer.close(20)
        gone(case, "a server that stays", peer, children)


def last_calls(case: Case) -> None:
    """Calls of our own tools that run when the client disconnects are still answered."""
    if not case.gated:
        return
    with case.session() as peer:
        preview, _ = case.preview("last calls", peer.call(1, "surrogate", {"lines": 50_000}))
    arguments = {"handle": handle_of(preview), "pattern": "4711$"}
    # A server that ends with its input at once.
    setup = replace(case.setup, server=["cat"])
    with Peer(setup.relayed(), case.setup.work / "last-calls.txt") as peer:
        for number in range(6):
            peer.start_call(number, "spillgate_grep", arguments)
        peer.close()
        peer.quiet(1)
        answered = [line for line in peer.others if b'"result"' in line.raw]
        case.equal("last calls: all are answered", len(answered), 6)


def launched(case: Case) -> None:
    """A server behind a launcher such as npx: a signal after the end of input ends both."""
    if not case.gated:
        return
    log = case.setup.work / "launched.log"
    server = shlex.join([*case.setup.server, "--log", str(log), "--stubborn"])
    setup = replace(case.setup, server=["sh", "-c", f"{server}; true"])
    with Peer(setup.relayed(), case.setup.work / "launched.txt") as peer:
        peer.handshake()
        launcher = children_of(peer.process.pid)
        processes = [*launcher, *children_of(launcher[0])]
        case.equal("a launcher: it has a child", len(processes), 2)
        peer.process.stdin.close()
        time.sleep(0.3)
        peer.process.send_signal(signal.SIGTERM)
        gone(case, "a launcher", peer, processes)


def gone(case: Case, name: str, peer: Peer, children: list[int]) -> None:
    """Checks that the gateway ends, and its server with it."""
    case.check(f"{name}: there is a server", bool(children), children)
    try:
        case.verdict.facts[f"exit code, {name}"] = peer.process.wait(10)
        case.check(f"{name}: the gateway ends", peer.process.returncode != -signal.SIGKILL)
    except subprocess.TimeoutExpired:
        case.check(f"{name}: the gateway ends", False, "still there after 10 s")
    case.check(f"{name}: the server goes too", wait_gone(children), children)


def children_of(parent: int) -> list[int]:
    """The process's children, from /proc."""
    tasks = Path(f"/proc/{parent}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def wait_gone(processes: list[int]) -> bool:
    """Whether all processes end within some seconds; kills those that do not."""
    deadline = time.monotonic() + 8
    while time.monotonic() < deadline:
        if not any(Path(f"/proc/{process}").exists() for process in processes):
            return True
        time.sleep(0.05)
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return False


SCENARIOS = (
    surrogates, malformed, cut_off, large, death, hanging_up, last_words, progress, cancellation,
    colliding_ids, shapes, endings, last_calls, launched,
)  # fmt: skip


def scenario(setup: Setup, verdict: Verdict) -> None:
    """Runs all scenarios; one that fails does not stop the others."""
    case = Case(setup, verdict)
    for each in SCENARIOS:
        try:
            each(case)
        except Exception as error:
            verdict.check(
                f"{each.__name__}: ran to its end", False, f"{type(error).__name__}: {error}"
            )


common.run(scenario)
