"""The servers of the corpus: how each is started, and its place, the directory that it works on.

A place is created for every run and is always the same, byte for byte, including its commits and
modification times: two runs of the same requests then get the same replies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# 2026-01-01, the time of everything that has one.
THEN = 1_767_225_600

# Its names at Debian, Google and Playwright.
BROWSERS = ["chromium", "chromium-headless-shell", "google-chrome", "headless_shell"]

@dataclass(frozen=True)
class Server:
    """A server of the corpus."""

    # Gets the directory of the peers, and the place.
    command: Callable[[Path, Path], list[str]]
    make: Callable[[Path], None]
    # Additional variables to those that all servers get; `<PLACE>` stands for the place.
    env: tuple[tuple[str, str], ...] = ()


def node(program: str, *arguments: str) -> Callable[[Path, Path], list[str]]:
    """The command of an npm server; `<PLACE>` stands for the place."""

    def command(peers: Path, place: Path) -> list[str]:
        script = peers / "node/node_modules/.bin" / program
        given = [a.replace("<PLACE>", str(place)) for a in arguments]
        return [str(peers / "bin/node"), str(script), *given]

    return command


def git(peers: Path, place: Path) -> list[str]:
    """mcp-server-git."""
    return [str(peers / "python/bin/python"), "-m", "mcp_server_git", "--repository", str(place)]


def playwright(peers: Path, place: Path) -> list[str]:
    """Playwright's server, with the browser that is installed."""
    options = ["--headless", "--no-sandbox", "--isolated", "--executable-path", browser() or "none"]
    return node("playwright-mcp", *options, "--output-dir", "<PLACE>/out")(peers, place)


def browser() -> str | None:
    """A browser that Playwright can drive, if there is one."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def empty(_: Path) -> None:
    """An empty place."""


def files(place: Path) -> None:
    """A few files, small and large."""
    (place / "sub").mkdir()
    texts = {
        "small.txt": 'Käse\ttab "quoted" \\ \u2028 🎬\r\nsecond\n',
        "numbers.json": '{"a": 1.0, "b": 1e2, "c": 12345678901234567890, "d": -0.0}\n',
        "large.log": log(6000),
        "sub/empty.txt": "",
    }
    for name, text in texts.items():
        (place / name).write_bytes(text.encode())
    (place / "bytes.bin").write_bytes(bytes(range(256)) * 4)
    (place / "odd.txt").write_bytes(b"half \xff\xfe of UTF-8 \xed\xa0\xbd\n")
    for path in [*place.rglob("*"), place]:
        os.utime(path, (THEN, THEN))


def log(lines: int) -> str:
    """Lines of a log."""
    what = "GET /items/{} 200 in {} ms\n"
    return "".join(f"{n:06d} " + what.format(n * 7919 % 99991, n % 97) for n in range(lines))


def graph(place: Path) -> None:
    """A graph of entities for server-memory."""
    entity = '{{"type":"entity","name":"e{0}","entityType":"number","observations":["Größe {0}"]}}'
    (place / "memory.jsonl").write_text("\n".join(entity.format(n) for n in range(2000)))


def repository(place: Path) -> None:
    """A repository of 400 commits and a change that is not committed."""
    stream = []
    for number in range(400):
        body = log(number % 20 + 1)
        message = f"Change {number}: Grüße"
        stream.append(
            f"commit refs/heads/main\ncommitter A U Thor <a@example.com> {THEN + number} +0000\n"
            f"data {len(message.encode())}\n{message}\n"
            f"M 100644 inline file{number % 7}.txt\ndata {len(body)}\n{body}\n"
        )
    run = {"cwd": place, "check": True, "capture_output": True, "env": variables(place)}
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main"], **run)
    subprocess.run(["git", "fast-import", "--quiet"], input="".join(stream).encode(), **run)
    subprocess.run(["git", "reset", "--quiet", "--hard"], **run)
    (place / "file0.txt").write_text("changed\n")


SERVERS = {
    "everything": Server(node("mcp-server-everything"), empty),
    "filesystem": Server(node("mcp-server-filesystem", "<PLACE>"), files),
    "memory": Server(
        node("mcp-server-memory"), graph, (("MEMORY_FILE_PATH", "<PLACE>/memory.jsonl"),)
    ),
    "git": Server(git, repository),
    "playwright": Server(playwright, empty),
}


def variables(place: Path, server: Server | None = None) -> dict[str, str]:
    """The environment of a run: small, unusual, and always the same."""
    given = {"PATH": os.environ["PATH"], "HOME": str(place.parent), "ODD": 'Käse "x"\n\ty'}
    given |= {"TZ": "UTC", "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
    own = {k: v.replace("<PLACE>", str(place)) for k, v in (server.env if server else ())}
    return given | own


def fresh(server: Server, place: Path) -> None:
    """Recreates the place."""
    if place.exists():
        shutil.rmtree(place)
    place.mkdir(parents=True)
    server.make(place)
