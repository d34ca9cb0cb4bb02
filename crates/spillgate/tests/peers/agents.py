"""A coding agent, end to end: a scripted model tells it to call a tool with a large result, to look
into the stored result by its handle, and to stop. The checks are about what the model was shown.

`--only claude` is Claude Code, `--only codex` Codex CLI; `--peers` is where they are installed.
Both run without the caller's environment, in a home of their own, with proxies that lead nowhere:
they reach the scripted model and nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
import shelf_server as shelf
from common import OUR_TOOLS, PREVIEW_BYTES_MAX, Setup, Verdict
from model import HANDLE, Call, Model, offered

# Time limit of an agent for the whole script, in seconds.
PATIENCE = 90

PROMPT = "Do what you are told."

# A line of the large log that no preview shows.
DEEP = "0002222 INFO"

ANSWER = "E4217, said worker 3"


def script(last: Call) -> list[Call]:
    """The model's steps, in order."""
    return [
        Call("note", {}),
        Call("journal", {"kb": 300}),
        Call("spillgate_grep", {"handle": HANDLE, "pattern": r"code=E\d+"}),
        Call("spillgate_read", {"handle": HANDLE, "start": 2220, "lines": 5}),
        last,
        Call("rows", {"count": 6000}),
        Call("spillgate_query", {"handle": HANDLE, "filter": ".rows[4217]"}),
    ]


def environment(home: Path, peers: Path) -> dict[str, str]:
    """The environment of every agent."""
    nowhere = "http://127.0.0.1:9"
    return {
        "PATH": f"{peers / 'bin'}:{os.defpath}",
        "HOME": str(home),
        "http_proxy": nowhere,
        "https_proxy": nowhere,
        "HTTP_PROXY": nowhere,
        "HTTPS_PROXY": nowhere,
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


def quiet(model: Model) -> dict[str, str]:
    """The environment in which Claude Code reaches nothing but the model."""
    return {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        # Put tools into the request from the start, not behind a search for tools.
        "ENABLE_TOOL_SEARCH": "false",
    }


def claude(setup: Setup, server: list[str], model: Model, home: Path) -> Run:
    """Claude Code: its command, and the additional environment."""
    config = home / "mcp.json"
    entry = {"command": server[0], "args": server[1:]}
    config.write_text(json.dumps({"mcpServers": {"shelf": entry}}))
    wrapper = setup.peers / "agents/node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs"
    command = [str(setup.peers / "bin/node"), str(wrapper), "-p", PROMPT, "--output-format", "json"]
    command += ["--strict-mcp-config", "--mcp-config", str(config), "--allowedTools", "mcp__shelf"]
    return command, quiet(model)


# What Codex allows commands to do. It calls a tool that may change something without asking only if
# this is "danger-full-access".
CODEX_SANDBOX = "read-only"


def codex(setup: Setup, server: list[str], model: Model, home: Path) -> Run:
    """Codex CLI: its command, and the additional environment."""
    # A JSON string and a JSON array of strings are also TOML.
    config = f"""
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = {json.dumps(CODEX_SANDBOX)}
[model_providers.scripted]
name = "scripted"
base_url = {json.dumps(model.url + "/v1")}
env_key = "MODEL_KEY"
wire_api = "responses"
[mcp_servers.shelf]
command = {json.dumps(server[0])}
args = {json.dumps(server[1:])}
"""
    (home / "config.toml").write_text(config)
    launcher = setup.peers / "agents/node_modules/@openai/codex/bin/codex.js"
    command = [str(setup.peers / "bin/node"), str(launcher), "exec", "--skip-git-repo-check"]
    return [*command, "--json", PROMPT], {"CODEX_HOME": str(home), "MODEL_KEY": "none"}


Run = tuple[list[str], dict[str, str]]
AGENTS: dict[str, Callable[[Setup, list[str], Model, Path], Run]] = {
    "claude": claude,
    "codex": codex,
}


def play(setup: Setup, server: list[str], model: Model, name: str) -> dict[str, Any]:
    """Runs the agent to its end, and returns how it ended."""
    home = setup.work / f"home-{name}"
    home.mkdir(parents=True)
    command, more = AGENTS[setup.only](setup, server, model, home)
    start = time.monotonic()
    ended = subprocess.run(
        command,
        cwd=home,
        env=environment(home, setup.peers) | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    seconds = round(time.monotonic() - start, 1)
    tail = (ended.stdout[-600:] + b"\n" + ended.stderr[-600:]).decode(errors="replace")
    return {"code": ended.returncode, "seconds": seconds, "tail": tail, "stdout": ended.stdout}


def with_a_model(setup: Setup, model: Model) -> list[str]:
    """The gateway's options: `tool_output` uses the same scripted endpoint."""
    config = setup.work / "spillgate.toml"
    config.write_text(
        '[tool_output]\nmodels = "scripted/reader"\n'
        f'[providers.scripted]\nkind = "openai"\nbase_url = "{model.url}/v1"\nstream = false\n'
        '[models."scripted/reader"]\nwindow = 128000\nmax_output = 4096\n'
    )
    return ["--config", str(config)]


def judge(setup: Setup, verdict: Verdict, model: Model, ended: dict[str, Any], title: str) -> None:
    """Checks what one run showed the model."""
    shown = model.shown()
    verdict.facts[f"{title}: seconds"] = ended["seconds"]
    verdict.facts[f"{title}: bytes shown"] = [len(text.encode()) for text in shown]
    verdict.check(f"{title}: the agent ends well", ended["code"] == 0, ended["tail"])
    said = model.answer.encode() in ended["stdout"]
    verdict.check(f"{title}: it says the model's last word", said, ended["tail"])
    verdict.check(f"{title}: only what is spoken was asked", not model.refused, model.refused)
    verdict.check(f"{title}: every step was made", len(shown) == len(model.script), ended["tail"])
    if len(shown) != len(model.script):
        return
    note, journal, grep, read, last, rows, query = shown
    verdict.check(f"{title}: a small result is whole", holds_note(note), note)
    for name, text in (("journal", journal), ("rows", rows)):
        verdict.check(f"{title}: {name} is a preview", preview_in(text) == name, text)
        verdict.check(f"{title}: {name} is short", len(text.encode()) < PREVIEW_BYTES_MAX, len(text))
    everything = json.dumps(model.requests)
    verdict.check(f"{title}: the large text is nowhere", "0003333 INFO" not in everything)
    verdict.check(f"{title}: the large rows are nowhere", not holds_row(everything, 5555))
    verdict.check(f"{title}: grep finds the needle", shelf.NEEDLE in grep, grep)
    verdict.check(f"{title}: read gives the lines", "0002222 INFO" in read, read)
    found = shelf.NEEDLE in last or ANSWER in last
    verdict.check(f"{title}: the last tool answers", found, last)
    verdict.check(f"{title}: query gives the row", holds_row(query, 4217), query)
    longest = max(len(text.encode()) for text in shown)
    verdict.check(f"{title}: nothing is cut", longest < PREVIEW_BYTES_MAX, longest)


def preview_in(text: str) -> str | None:
    """The tool of a preview. Agents wrap what they show: a preview in structured content is JSON,
    and Codex adds a line on top."""
    for line in ('{"spillgate":"', "[spillgate] "):
        at = text.find(line)
        if at >= 0 and line.startswith("{"):
            value, _ = json.JSONDecoder().raw_decode(text, at)
            text = value["spillgate"]
        elif at >= 0:
            text = text[at:]
    parts = common.preview(text)
    return parts["tool"] if parts else None


def holds_note(text: str) -> bool:
    """Whether the text contains the small structured result as it was sent."""
    at = text.find("{")
    try:
        return at >= 0 and json.JSONDecoder().raw_decode(text, at)[0] == shelf.NOTE
    except ValueError:
        return False


def holds_row(text: str, number: int) -> bool:
    """Whether the text contains the row with this id, in any spelling."""
    bare = text.replace(" ", "").replace("\\", "").replace("\n", "")
    return f'"id":{number},"state"' in bare


def scenario(setup: Setup, verdict: Verdict) -> None:
    """Runs once without a model for `tool_output`, once with one."""
    question = "Which error code is there?"
    asked = Call("spillgate_search", {"handle": HANDLE, "query": "error code disk quota"})
    with Model(script(asked)) as model:
        ended = play(setup, setup.relayed(), model, "plain")
        judge(setup, verdict, model, ended, "search")
        listed = [name for name in OUR_TOOLS if any(n.endswith(name) for n in model.tools())]
        verdict.equal("search: our tools are listed", listed, OUR_TOOLS)
        verdict.facts["search: tools"] = model.tools()
    extract = {"handle": HANDLE, "extract": question, "mode": "full-chunked"}
    with Model(script(Call("tool_output", extract)), answer=ANSWER) as model:
        ended = play(setup, setup.relayed(*with_a_model(setup, model)), model, "model")
        judge(setup, verdict, model, ended, "extract")
        text = json.dumps(model.extractions)
        verdict.check("extract: the other model read it", DEEP in text, text)
        searches = [name for name in model.tools() if name.endswith("spillgate_search")]
        verdict.equal("extract: tool_output stands for the search", searches, [])
    grown(setup, verdict)


# Whether the agent fetches the list of tools again when a server says that it has changed.
FETCHES_AGAIN = {"claude": True, "codex": False}


def grown(setup: Setup, verdict: Verdict) -> None:
    """Runs with a list that grows by the tools that a search finds."""
    steps = [Call("spillgate_find_tools", {"task": "read the note"}), Call("note", {})]
    with Model(steps) as model:
        ended = play(setup, setup.relayed("--tool-list", "found"), model, "found")
        shown = model.shown()
        verdict.check("found: the agent ends well", ended["code"] == 0, ended["tail"])
        verdict.check("found: the search names the tool", "note" in "".join(shown[:1]), shown)
        first = [tool.name for tool in offered(model.requests[0])]
        verdict.check("found: the tool is not in the first list", not any(n.endswith("note") for n in first), first)
        called = len(shown) == 2 and holds_note(shown[1])
        verdict.equal("found: the tool is called", called, FETCHES_AGAIN[setup.only])


if __name__ == "__main__":
    common.run(scenario)
