"""A real client's own configuration, wrapped: the client lists its servers through the gateway, and
`unwrap` restores its file.

`--only claude` is Claude Code, `--only codex` Codex CLI. Each has two servers, the one after `--`
and the same behind HTTP, which requires a token that only the client's environment has.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import common
from agents import environment
from common import OUR_TOOLS, Setup, Verdict

TOKEN = "a-token-that-nobody-may-see"
# Time limit of a client that lists its servers, in seconds.
PATIENCE = 60


@contextmanager
def served(setup: Setup) -> Iterator[str]:
    """Starts the server behind HTTP with a token; yields its URL."""
    tokens = setup.work / "tokens"
    tokens.touch(0o600)
    tokens.write_text(TOKEN)
    options = ["--http", "0", "--token-file", str(tokens), "--store", str(setup.store / "front")]
    command = [str(setup.gateway), "mcp", *options, "--", *setup.server]
    # It is also a gateway; without look-up tools of its own it looks like any other server.
    env = os.environ | {"SPILLGATE_LIST_TOOLS": "never"}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as front:
        try:
            assert front.stderr is not None
            yield next(line.split()[-1] for line in front.stderr if "listening" in line)
        finally:
            front.terminate()


def claude(setup: Setup, home: Path, url: str) -> tuple[Path, str]:
    """Claude Code's file and its content."""
    command, *args = setup.server
    files = {"type": "stdio", "command": command, "args": args, "env": {}}
    far = {"type": "http", "url": url, "headers": {"Authorization": "Bearer ${FAR_TOKEN}"}}
    values = {"hasCompletedOnboarding": True, "mcpServers": {"files": files, "far": far}}
    return home / ".claude.json", json.dumps(values, indent=2)


def codex(setup: Setup, home: Path, url: str) -> tuple[Path, str]:
    """Codex CLI's file and its content."""
    command, *args = setup.server
    # A JSON string and a JSON array of strings are also TOML.
    text = f"""# mine
[mcp_servers.files]
command = {json.dumps(command)}
args = {json.dumps(args)}

[mcp_servers.far]
url = {json.dumps(url)} # the far one
bearer_token_env_var = "FAR_TOKEN"
"""
    return home / ".codex/config.toml", text


def listed_by_claude(setup: Setup, env: dict[str, str], home: Path) -> dict[str, str]:
    """What Claude Code reports about each server."""
    wrapper = setup.peers / "agents/node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs"
    command = [str(setup.peers / "bin/node"), str(wrapper), "mcp", "list"]
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    ended = run(command, env | quiet, home)
    pairs = (line.split(": ", 1) for line in ended.stdout.splitlines() if " - " in line)
    return {name: said for name, said in pairs}


def listed_by_codex(setup: Setup, env: dict[str, str], home: Path) -> dict[str, str]:
    """The tools that Codex has of each server."""
    script = setup.peers / "agents/node_modules/@openai/codex/bin/codex.js"
    command = [str(setup.peers / "bin/node"), str(script), "app-server"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    found: dict[str, str] = {}
    with subprocess.Popen(command, cwd=home, env=env, text=True, **pipes) as server:
        clock = threading.Timer(PATIENCE, server.kill)
        clock.start()
        info = {"clientInfo": {"name": "lab", "title": "lab", "version": "1"}}
        for message in (
            {"id": 1, "method": "initialize", "params": info},
            {"method": "initialized"},
            {"id": 2, "method": "mcpServerStatus/list", "params": {}},
        ):
            server.stdin.write(json.dumps(message) + "\n")
            server.stdin.flush()
        for line in server.stdout:
            answer = json.loads(line)
            if answer.get("id") == 2:
                for one in answer["result"]["data"]:
                    found[one["name"]] = " ".join(one["tools"])
                break
        clock.cancel()
        server.kill()
    return found


CLIENTS = {
    "claude": ("claude-code", claude, listed_by_claude),
    "codex": ("codex", codex, listed_by_codex),
}


def run(command: list[str], env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end."""
    return subprocess.run(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def is_wrapped(name: str, said: dict[str, str]) -> bool:
    """Whether the client lists both servers through the gateway."""
    if name == "codex":
        # Only the separate entry has our tools.
        ours = {server for server, tools in said.items() if OUR_TOOLS[0] in tools}
        return ours == {"spillgate"} and all(said.get(server) for server in ("files", "far"))
    wrapped = ("files", "spillgate mcp --name"), ("far", "spillgate mcp --name")
    parts = (*wrapped, ("spillgate", "spillgate mcp --lookups"))
    return all(part in said.get(name, "") and "Connected" in said[name] for name, part in parts)


def main(setup: Setup, verdict: Verdict) -> None:
    """Wraps and unwraps one client."""
    name, write, listed = CLIENTS[setup.only]
    home = setup.work / "home"
    home.mkdir()
    env = environment(home, setup.peers) | {"FAR_TOKEN": TOKEN}
    ours = env | {"PATH": f"{env['PATH']}:{os.environ.get('PATH', '')}"}

    def spillgate(*args: str) -> subprocess.CompletedProcess[str]:
        return run([str(setup.gateway), *args, name], ours, home)

    with served(setup) as url:
        file, text = write(setup, home, url)
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        said = listed(setup, env, home)
        verdict.equal("both servers are listed before", sorted(said), ["far", "files"])
        verdict.check("none is behind the gateway before", not is_wrapped(setup.only, said), said)
        # A client may rewrite its file when it runs.
        before = file.read_bytes()
        dry = spillgate("wrap", "--dry-run")
        verdict.check("a dry run writes nothing", file.read_bytes() == before, dry.stderr)
        wrapped = spillgate("wrap")
        verdict.check("wrap", wrapped.returncode == 0, wrapped.stderr)
        after = file.read_bytes()
        verdict.check("the token is in no file", TOKEN.encode() not in after, after)
        said = listed(setup, env, home)
        verdict.check("both servers answer through the gateway", is_wrapped(setup.only, said), said)
        doctor = spillgate("doctor")
        verdict.check("doctor finds nothing broken", doctor.returncode == 0, doctor.stdout)
        unchanged = file.read_bytes() == after
        back = spillgate("unwrap")
        same = file.read_bytes() == before
        verdict.check("unwrap", back.returncode == 0, back.stderr)
        verdict.check("the file is what it was", same or not unchanged, file.read_text())
        verdict.facts["the client left the file alone"] = unchanged
        said = listed(setup, env, home)
        verdict.check("none is behind the gateway after", not is_wrapped(setup.only, said), said)


if __name__ == "__main__":
    common.run(main)
