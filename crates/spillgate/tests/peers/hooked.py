"""A client with the hooks of `spillgate wrap CLIENT --hooks`: what its model is shown of the outputs of
its tools, and that permissions, failures of the hook and small outputs stay the same.

`--only NAME` is one of the clients in hooked_clients.py.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import time
from pathlib import Path

import common
import shelf_server as shelf
from agents import preview_in
from common import PREVIEW_BYTES_MAX, Setup, Verdict
from hooked_clients import RULES, Client
from model import HANDLE, Call

# About 300 KB, and a line in its middle that no preview shows.
LINES = 25_000
BIG = f"seq -f 'line %06g' 1 {LINES}"
DEEP = "line 013131"
# A line of the beginning that no preview shows, for a client that cuts out the middle.
NEAR = "line 000300"

# A line of the large result of a server.
ROW = "0002222 INFO"

# The first line of a preview.
HEADLINE = re.compile(
    r"\[spillgate\] (?P<tool>\S+) (?:ended: exit code (?P<code>\d+);|returned) [\d,]+ bytes.*; "
    r"stored whole as (?P<handle>[a-z]{14})$",
    re.MULTILINE,
)

SMALL = "printf 'a\\tb\\n'; sleep 0.3; echo error >&2"

# What differs between two runs of a client: identifiers, times, numbers of processes.
VOLATILE = re.compile(
    r"(?<=Process Group PGID: )\d+|(?<=Chunk ID: )\w+|(?<=Wall time: )[\d.]+"
    r"|[0-9a-f]{8}-[0-9a-f-]{27}|tool_[0-9a-zA-Z]{26}|\d{13}(?:_\d+)?|(?<=tool-output-)[0-9a-f-]+"
    r"|(?<=home-)[\w-]+|(?<=-)[0-9a-z]{6}(?=\.txt)"
)
# opencode cuts the beginning of an output where the command paused in writing.
FROM_SOMEWHERE = re.compile(r"(?<=tool-output/\?)\s+(?:[a-z ]*\d+\n?)*")


def same(text: str) -> str:
    """A text without what differs between two runs."""
    return FROM_SOMEWHERE.sub("?", VOLATILE.sub("?", text))


def parts(text: str) -> dict[str, str]:
    """The parts of the first line of a preview; empty if there is none."""
    found = HEADLINE.search(text)
    return {name: part for name, part in found.groupdict().items() if part} if found else {}


def stored(client: Client, text: str) -> bytes:
    """The bytes for which a preview stands."""
    return client.spillgate("cat", "--raw", parts(text).get("handle", "none")).stdout


def outputs(setup: Setup, verdict: Verdict) -> None:
    """Large outputs of commands that succeed and fail, a large result of a server, and small ones."""
    hooked, plain = Client(setup, "hooked", True), Client(setup, "simple", False)
    kind, shell = hooked.kind, hooked.shell
    script = [
        shell(BIG),
        shell(f"{BIG}; exit 3"),
        Call("journal", {"kb": 1000}),
        Call("note", {}),
        shell(SMALL),
        shell(f"{SMALL}; exit 4"),
        shell("mkdir inner && cd inner && export A=1 && pwd"),
        shell("echo $A; pwd"),
    ]
    model, other = hooked.play(script), plain.play(script)
    shown, without = model.shown(), other.shown()
    verdict.facts["bytes shown"] = [len(text.encode()) for text in shown]
    verdict.facts["bytes shown without hooks"] = [len(text.encode()) for text in without]
    verdict.equal("every step was made", len(shown), len(script))
    good, bad, served, *rest = shown
    output = subprocess.run(BIG, shell=True, capture_output=True, check=True).stdout
    whole = {"success": output, "failure": output}
    whole["server"] = shelf.journal(1000)["content"][0]["text"].encode()
    for name, code, text in (("success", "0", good), ("failure", "3", bad), ("server", None, served)):
        verdict.check(f"{name}: it is a preview", bool(parts(text)), text)
        verdict.check(f"{name}: it is short", len(text.encode()) < PREVIEW_BYTES_MAX, len(text))
        raw = stored(hooked, text)
        if code and kind.tells_exit:
            verdict.equal(f"{name}: the exit code is told", parts(text).get("code"), code)
        if code and kind.cuts:
            verdict.check(f"{name}: the cut is told", "cut the middle out" in text, text)
            verdict.check(f"{name}: the rest is stored", NEAR.encode() in raw, len(raw))
            continue
        wanted = kind.received(whole[name]) if code else whole[name]
        equal = hashlib.sha256(raw).digest() == hashlib.sha256(wanted).digest()
        verdict.check(f"{name}: the stored bytes are those of the output", equal, len(raw))
    everything = json.dumps(model.requests)
    verdict.check("the large output is nowhere", DEEP not in everything and ROW not in everything)
    verdict.equal("all else is the same", list(map(same, rest)), list(map(same, without[3:])))


def lookups(setup: Setup, verdict: Verdict) -> None:
    """The model finds what a preview leaves out: by commands, and by tools."""
    client = Client(setup, "commands", True)
    line = NEAR if client.kind.cuts else DEEP
    # Claude Code finds the program by itself. The others start shells with a PATH of their own.
    program = "spillgate" if setup.only == "claude" else setup.gateway
    look = client.shell(f"{program} grep last {line!r} --store {setup.store} --max-tokens 2500")
    first, found = client.play([client.shell(BIG), look]).shown()
    verdict.check("commands: the preview names commands", "next: spillgate " in first, first)
    verdict.check("commands: a look-up finds the line", line in found, found)
    client = Client(setup, "tools", True)
    client.spillgate("wrap", client.kind.name)
    look = Call("spillgate_grep", {"handle": HANDLE, "pattern": line})
    first, found = client.play([client.shell(BIG), look]).shown()
    verdict.check("tools: the preview names tools", "next: spillgate_" in first, first)
    verdict.check("tools: a look-up finds the line", line in found, found)
    verdict.check("tools: a look-up is no preview", not parts(found), found)


def failures(setup: Setup, verdict: Verdict) -> None:
    """A hook that is missing, crashes or hangs: the model is shown what it would be shown without it."""
    script = lambda client: [client.shell(f"{BIG}; exit 3"), Call("journal", {"kb": 1000})]
    plain = Client(setup, "alone", False)
    wanted = list(map(same, plain.play(script(plain)).shown()))
    bodies = {
        "missing": None,
        "crash": "echo half an answer; kill -SEGV $$",
        "panic": "cat >/dev/null; echo 'it panicked' >&2; exit 101",
        "hang": "exec sleep 600",
    }
    for name, body in bodies.items():
        client = Client(setup, name, True)
        program = client.home / "bin/spillgate"
        text = client.settings.read_text().replace(str(setup.gateway), str(program))
        verdict.check(f"{name}: the time limit is there", client.kind.limit[0] in text, text)
        client.settings.write_text(text.replace(*client.kind.limit))
        if body:
            program.parent.mkdir()
            program.write_text(f"#!/bin/sh\n{body}\n")
            program.chmod(0o755)
        shown = list(map(same, client.play(script(client)).shown()))
        verdict.equal(f"{name}: as without hooks", shown, wanted)


def permissions(setup: Setup, verdict: Verdict) -> None:
    """The client's rules decide as without the hooks."""
    for rule in RULES:
        got = []
        for hooks in (True, False):
            client = Client(setup, f"{rule}-{hooks}", hooks, rule)
            shown = client.play([client.shell("touch made")]).shown()
            told = [same(text.replace(str(client.home), "HOME")) for text in shown]
            got.append(((client.home / "work/made").exists(), told))
        verdict.equal(f"permissions: {rule} is as without hooks", got[0], got[1])
        verdict.facts[f"permissions: {rule} ran"] = got[0][0]
        if rule in ("allow", "deny"):
            verdict.equal(f"permissions: {rule} decides", got[0][0], rule == "allow")


def settings(setup: Setup, verdict: Verdict) -> None:
    """`unwrap` restores the settings byte for byte."""
    client = Client(setup, "settings", False)
    files = lambda: {
        path: path.read_bytes() for path in client.home.rglob("*") if path.is_file() and ".local" not in str(path)
    }
    before = files()
    client.spillgate("wrap", client.kind.name, "--hooks", "--dry-run")
    verdict.equal("settings: a dry run changes nothing", files(), before)
    client.spillgate("wrap", client.kind.name, "--hooks")
    verdict.check("settings: wrap changes them", client.settings.exists() and files() != before)
    doctor = client.spillgate("doctor", client.kind.name, "--no-start").stdout.decode()
    verdict.check("settings: doctor finds the hook", "ok     a hook runs" in doctor, doctor)
    client.spillgate("unwrap", client.kind.name)
    verdict.equal("settings: unwrap restores them", files(), before)


def agents(setup: Setup, verdict: Verdict) -> None:
    """The report of another agent (Claude Code)."""
    client = Client(setup, "agents", True)
    report = "".join(f"finding {number:06} is new\n" for number in range(5000))
    task = {"description": "find", "prompt": "look", "subagent_type": "general-purpose"}
    model = client.play([Call("Agent", task | {"run_in_background": False})], answer=report)
    text = model.shown()[0]
    verdict.check("agents: the report is a preview", "[spillgate] Agent returned" in text, text)
    verdict.check("agents: the report is nowhere", "finding 002500" not in text, text)


def background(setup: Setup, verdict: Verdict) -> None:
    """A command in the background writes its own file to its end (Claude Code)."""
    client = Client(setup, "background", True)
    behind = client.shell(f"sleep 2; {BIG}", run_in_background=True)
    shown = client.play([behind, client.shell("sleep 5")]).shown()
    told = [word for word in shown[0].split() if word.endswith(".output.")]
    text = Path(told[0].rstrip(".")).read_text() if told else ""
    is_whole = text.startswith("line 000001\n") and f"line {LINES:06}\n" in text
    verdict.check("background: all of its output is there", is_whole, shown[0])
    # Our trap does not run, so the hook after the command replaces the output.
    (text,) = client.play([client.shell(f"exec {BIG}")]).shown()
    verdict.check("exec: it is a preview", preview_in(text) == "Bash", text)


PARTS = [outputs, lookups, failures, permissions, settings]


def scenario(setup: Setup, verdict: Verdict) -> None:
    """Runs each part, and measures the time."""
    for part in PARTS + ([agents, background] if setup.only == "claude" else []):
        start = time.monotonic()
        part(setup, verdict)
        verdict.facts[f"{part.__name__}: seconds"] = round(time.monotonic() - start, 1)


if __name__ == "__main__":
    common.run(scenario)
