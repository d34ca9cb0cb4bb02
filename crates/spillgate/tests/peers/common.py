"""The parts that all drivers share: their command line, the verdict that they print, the sample file.

A driver runs one scenario and prints one JSON object on its last line:
`{"checks": [{"name", "ok", "detail"}], "facts": {...}}`. `peers.rs` asserts on the checks; the
facts are measurements that help to analyze a failure. Without `--gateway` a driver talks to the
server directly and skips the checks that only a gateway can pass: this verifies the drivers
themselves.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OUR_TOOLS = ["spillgate_read", "spillgate_grep", "spillgate_query", "spillgate_search"]

# Clients cut or divert what is longer (docs/spec/limits.md, "What clients take").
PREVIEW_BYTES_MAX = 10_000

# The reply to a list of resources from a server without any, and its content.
EMPTY_LIST = re.compile(
    rb',"result":\{(?:"cacheScope":"private",)?"(?:resources|resourceTemplates)":\[\]'
    rb'(?:,"resultType":"complete","ttlMs":0)?\}'
)
ERROR = re.compile(rb',"error":\{"code":-32601,[^{}]*(?:\{[^{}]*\})?\}')

# Seconds after which a missing reply is a failure.
WAIT = 60.0

PREVIEW = re.compile(
    r"\A\[spillgate\] (?P<tool>\S+) (?:returned|failed with) (?P<bytes>[\d,]+) bytes, .*; stored whole as "
    r"(?P<handle>[a-z]{14})$",
    re.MULTILINE,
)


@dataclass
class Setup:
    """One driver's command line."""

    gateway: str | None
    store: Path
    work: Path
    server: list[str]
    # Where `cargo xtask peers` installed the peers, and the client or server to test, if there are several.
    peers: Path = Path(".peers")
    only: str = ""
    # URLs of a server and of the gateway in front of it, for the drivers that can use HTTP.
    direct_url: str = ""
    through_url: str = ""
    # Nothing becomes a link, so a greeting does not mention resources either.
    no_links: bool = False

    def direct(self) -> list[str]:
        """The server's own command."""
        return self.server

    def relayed(self, *options: str) -> list[str]:
        """The server behind the gateway, or the server alone without a gateway."""
        if self.gateway is None:
            return self.server
        return [self.gateway, "mcp", "--store", str(self.store), *options, "--", *self.server]


@dataclass
class Verdict:
    """The checks made so far."""

    checks: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def check(self, name: str, ok: bool, detail: Any = "") -> None:
        """Records one check; `detail` is kept, shortened, only when it failed."""
        text = "" if ok else short(detail)
        self.checks.append({"name": name, "ok": bool(ok), "detail": text})

    def equal(self, name: str, got: Any, wanted: Any) -> None:
        """Records whether two values are equal, and where they first differ."""
        self.check(name, got == wanted, lambda: difference(got, wanted))


def short(detail: Any) -> str:
    """`detail` as a short text for a test log."""
    value = detail() if callable(detail) else detail
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 1500 else f"{text[:1000]} … {text[-450:]}"


def meant(got: bytes, wanted: bytes) -> bytes:
    """A reply without the intended changes of the gateway to a greeting or an empty list: it serves
    links itself, so it declares resources, and lists none if the server has none."""
    if b'"capabilities":{' in got and b'"resources":' not in wanted:
        return got.replace(b'"capabilities":{"resources":{},', b'"capabilities":{', 1)
    if b'"code":-32601' in wanted and (empty := EMPTY_LIST.search(got)):
        around = got.replace(empty.group(), b"", 1)
        return wanted if around == ERROR.sub(b"", wanted, count=1) else got
    return got


def difference(got: Any, wanted: Any) -> str:
    """The surroundings of the first difference between two values."""
    left, right = repr(got), repr(wanted)
    pairs = enumerate(zip(left, right))
    at = next((i for i, (a, b) in pairs if a != b), min(len(left), len(right)))
    around = slice(max(0, at - 80), at + 200)
    return f"at {at} of {len(left)}/{len(right)}: got {left[around]!r}, wanted {right[around]!r}"


def preview(text: str) -> dict[str, str] | None:
    """The parts of a preview's first line, or None if `text` is no preview."""
    match = PREVIEW.match(text)
    return match.groupdict() if match else None


def run(scenario: Callable[[Setup, Verdict], Any]) -> None:
    """Runs a driver's scenario, plain or async, and prints its verdict."""
    setup, verdict = parse(), Verdict()
    try:
        outcome = scenario(setup, verdict)
        if inspect.isawaitable(outcome):
            asyncio.run(outcome)
        verdict.check("the driver ran to its end", True)
    except BaseException:  # The verdict must be printed in any case, also after task-group errors.
        verdict.check("the driver ran to its end", False, traceback.format_exc()[-1400:])
    sys.stdout.write(json.dumps({"checks": verdict.checks, "facts": verdict.facts}) + "\n")


def parse() -> Setup:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--gateway", help="the spillgate binary; without it, no gateway")
    parser.add_argument("--store", type=Path, required=True, help="the gateway's store")
    parser.add_argument("--work", type=Path, required=True, help="a directory for test files")
    parser.add_argument("--peers", type=Path, default=Path(".peers"), help="the installed peers")
    parser.add_argument("--only", default="", help="the client or server, where there are several")
    parser.add_argument("--direct-url", default="", help="a server that listens already")
    parser.add_argument("--through-url", default="", help="the gateway that listens before it")
    parser.add_argument("--no-links", action="store_true", help="no binary block is too large")
    parser.add_argument("server", nargs="*", help="the MCP server's command, after --")
    return Setup(**vars(parser.parse_args()))


@dataclass
class Sample:
    """A text file of about 5 MB with one needle in it."""

    path: Path
    lines: list[str]
    needle: str
    # Counted from 1, as `grep -n` does.
    needle_line: int

    @property
    def text(self) -> str:
        """The whole file."""
        return "".join(f"{line}\n" for line in self.lines)


def sample(directory: Path) -> Sample:
    """Writes the sample file; it is the same every time."""
    needle, needle_line = "NEEDLE-0b5e55ed: valve 17 stuck at 4217 kPa", 31_415
    lines = [
        f"{number:06d} GET /items/{number * 7919 % 999983:06d} 200 {number % 97} ms "
        f'agent="Prüfer/{number % 13}" path=C:\\logs\\new\\{number % 31}'
        for number in range(1, 72_001)
    ]
    lines[needle_line - 1] = needle
    path = directory / "sample.log"
    made = Sample(path, lines, needle, needle_line)
    path.write_text(made.text, encoding="utf-8")
    return made
