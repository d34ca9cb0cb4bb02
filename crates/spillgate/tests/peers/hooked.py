"""Claude Code with the hooks of `spillgate wrap claude-code --hooks`: what its model is shown of the
outputs of its own tools, and that permissions, background commands and small outputs stay the same.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import common
from agents import PATIENCE, PROMPT, environment, preview_in, quiet
from common import PREVIEW_BYTES_MAX, Setup, Verdict
from model import HANDLE, Call, Model

# About 300 KB, and a line in its middle that no preview shows.
LINES = 25_000
BIG = f"seq -f 'line %06g' 1 {LINES}"
DEEP = "line 013131"
# The first line of a preview of a command's output.
HEADLINE = re.compile(
    r"\[spillgate\] Bash ended: exit code (?P<code>\d+); \d+ bytes, .*; stored whole as (?P<handle>[a-z]{14})$",
    re.MULTILINE,
)

SMALL = "printf 'a\\tb\\n'; echo error >&2"

ALL = ["--permission-mode", "bypassPermissions"]


class Client:
    """A home of the client, with or without the hooks."""

    def __init__(self, setup: Setup, name: str, hooks: bool) -> None:
        self.setup = setup
        self.home = setup.work / f"home-{name}"
        self.settings = self.home / ".claude/settings.json"
        self.settings.parent.mkdir(parents=True)
        (self.home / "work").mkdir()
        self.env = environment(self.home, setup.peers)
        if hooks:
            self.spillgate("wrap", "claude-code", "--hooks")

    def spillgate(self, *args: str) -> subprocess.CompletedProcess[bytes]:
        """Runs our command line."""
        command = [str(self.setup.gateway), "--store", str(self.setup.store), *args]
        work = self.home / "work"
        return subprocess.run(command, cwd=work, env=self.env, capture_output=True, check=False)

    def permit(self, permissions: dict[str, Any]) -> None:
        """Sets the client's permission rules."""
        text = self.settings.read_text() if self.settings.exists() else "{}"
        self.settings.write_text(json.dumps(json.loads(text) | {"permissions": permissions}))

    def play(self, script: list[Call], *flags: str, answer: str = "done as told") -> Model:
        """Runs the client with a model that makes these calls; returns the model."""
        wrapper = "agents/node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs"
        command = [str(self.setup.peers / "bin/node"), str(self.setup.peers / wrapper)]
        command += ["-p", PROMPT, "--output-format", "json", *flags]
        with Model(script, answer=answer) as model:
            subprocess.run(
                command,
                cwd=self.home / "work",
                # The client refuses to run as root without permissions, except in a sandbox.
                env=self.env | quiet(model) | {"IS_SANDBOX": "1"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            )
        return model


def shell(command: str, **more: Any) -> Call:
    """A call of the client's shell."""
    return Call("Bash", {"command": command, **more})


def outputs(setup: Setup, verdict: Verdict) -> None:
    """Large outputs of commands that succeed and fail, and small ones."""
    look = f"spillgate grep {HANDLE} {DEEP!r} --store {setup.store}"
    script = [
        shell(BIG),
        shell(f"{BIG}; exit 3"),
        shell(SMALL),
        shell(f"{SMALL}; exit 4"),
        shell("cd .. && export A=1 && pwd"),
        shell("echo $A; pwd"),
    ]
    hooked, plain = Client(setup, "hooked", True), Client(setup, "plain", False)
    model, other = hooked.play(script, *ALL), plain.play(script, *ALL)
    shown, without = model.shown(), other.shown()
    verdict.facts["bytes shown"] = [len(text.encode()) for text in shown]
    verdict.facts["bytes shown without hooks"] = [len(text.encode()) for text in without]
    verdict.equal("every step was made", len(shown), len(script))
    good, bad, *rest = shown
    whole = subprocess.run(BIG, shell=True, capture_output=True, check=True).stdout
    for name, code, text in (("success", "0", good), ("failure", "3", bad)):
        headline = HEADLINE.search(text)
        parts = headline.groupdict() if headline else {}
        verdict.check(f"{name}: it is a preview", parts.get("code") == code, text)
        verdict.check(f"{name}: it is short", len(text.encode()) < PREVIEW_BYTES_MAX, len(text))
        raw = hooked.spillgate("cat", "--raw", parts.get("handle", "none")).stdout
        same = hashlib.sha256(raw).digest() == hashlib.sha256(whole).digest()
        verdict.check(f"{name}: the stored bytes are those of the command", same, len(raw))
    verdict.check("failure: the exit code is told", bad.startswith("Exit code 3"), bad[:100])
    everything = json.dumps(model.requests)
    verdict.check("the large output is nowhere", DEEP not in everything)
    home = [text.replace("home-hooked", "home-plain") for text in rest]
    verdict.equal("all else is the same", home, without[2:])
    model = hooked.play([shell(BIG), shell(look.replace(HANDLE, "last"))], *ALL)
    found = model.shown()[-1]
    verdict.check("a look-up by the command line works", DEEP in found, found)


def others(setup: Setup, verdict: Verdict) -> None:
    """The results of MCP servers and of other agents."""
    client = Client(setup, "others", True)
    config = client.home / "mcp.json"
    entry = {"command": setup.server[0], "args": setup.server[1:]}
    config.write_text(json.dumps({"mcpServers": {"shelf": entry}}))
    flags = [*ALL, "--strict-mcp-config", "--mcp-config", str(config)]
    script = [Call("journal", {"kb": 30}), Call("journal", {"kb": 300}), Call("note", {})]
    model = client.play(script, *flags)
    shown = model.shown()
    verdict.equal("servers: every step was made", len(shown), len(script))
    for name, text in zip(("large", "very large"), shown):
        verdict.check(f"servers: {name} is a preview", preview_in(text) is not None, text)
    verdict.check("servers: small is no preview", preview_in(shown[2]) is None, shown[2])
    # Our trap does not run, so the hook after the command replaces the output.
    model = client.play([shell(f"exec {BIG}")], *ALL)
    (text,) = model.shown()
    verdict.check("exec: it is a preview", preview_in(text) == "Bash", text)


def agents(setup: Setup, verdict: Verdict) -> None:
    """The report of another agent."""
    client = Client(setup, "agents", True)
    report = "".join(f"finding {number:06} is new\n" for number in range(5000))
    task = {"description": "find", "prompt": "look", "subagent_type": "general-purpose"}
    model = client.play([Call("Agent", task | {"run_in_background": False})], *ALL, answer=report)
    text = model.shown()[0]
    verdict.check("agents: the report is a preview", "[spillgate] Agent returned" in text, text)
    verdict.check("agents: the report is nowhere", "finding 002500" not in text, text)


def background(setup: Setup, verdict: Verdict) -> None:
    """A command in the background writes its own file to its end."""
    client = Client(setup, "background", True)
    behind = shell(f"sleep 2; {BIG}", run_in_background=True)
    model = client.play([behind, shell("sleep 5")], *ALL)
    shown = model.shown()
    told = [word for word in shown[0].split() if word.endswith(".output.")]
    text = Path(told[0].rstrip(".")).read_text() if told else ""
    is_whole = text.startswith("line 000001\n") and f"line {LINES:06}\n" in text
    verdict.check("background: all of its output is there", is_whole, shown[0])


def permissions(setup: Setup, verdict: Verdict) -> None:
    """The client's rules decide as without the hooks."""
    rule = "Bash(touch *)"
    rules = {"allow": {"allow": [rule]}, "deny": {"deny": [rule]}, "ask": {"ask": [rule]}, "none": {}}
    for name, permitted in rules.items():
        got = []
        for hooks in (True, False):
            client = Client(setup, f"{name}-{hooks}", hooks)
            client.permit(permitted)
            shown = client.play([shell("touch made")]).shown()
            told = [text.replace(str(client.home), "HOME") for text in shown]
            got.append(((client.home / "work/made").exists(), told))
        verdict.equal(f"permissions: {name} is as without hooks", got[0], got[1])
        verdict.equal(f"permissions: {name} decides", got[0][0], name == "allow")


def scenario(setup: Setup, verdict: Verdict) -> None:
    """Runs each part, and measures the time."""
    for part in (outputs, others, agents, background, permissions):
        start = time.monotonic()
        part(setup, verdict)
        verdict.facts[f"{part.__name__}: seconds"] = round(time.monotonic() - start, 1)


if __name__ == "__main__":
    common.run(scenario)
