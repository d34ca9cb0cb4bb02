"""The corpus: requests as clients sent them, in sessions, one step a line of `corpus.jsonl`.

A step is what the client sends and what it waits for. `frame` is the line without its newline;
`base64` is one that is not UTF-8. In a frame `<PLACE>` stands for the server's place and `<FILL n>`
for a text of n characters. `reply` is the id of the reply to wait for, `after` that of the server's
own request to wait for first; `later` waits only at the session's end. `varies` names what a server
generates differently in each run (see `MASKS`); nothing else may differ between two runs.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("corpus.jsonl")

MASKS = {
    "uuid": rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "hex": rb"[0-9a-f]{32}",
    "iso time": rb"\d{4}-\d{2}-\d{2}T[\d:.-]+Z",
    "clock": rb"\d{1,2}:\d{2}:\d{2} [AP]M",
    "file time": rb"[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d 20\d\d [\d:]{8} GMT[+]0000 [(][^)]*[)]",
    "blob": rb'"blob":"[A-Za-z0-9+/=]+"',
    "log message": rb'"level":"\w+","data":"[^"]*"',
    "milliseconds": rb"\b\d+(?:\.\d+)? ?ms\b",
}

FILL = re.compile(r"<FILL (\d+)>")


@dataclass
class Step:
    """One frame of a client."""

    frame: bytes
    name: str = ""
    reply: Any = None
    after: Any = None
    later: bool = False
    varies: list[str] = field(default_factory=list)

    @staticmethod
    def of(line: dict[str, Any]) -> Step:
        """Parses a step from its line."""
        raw = line.pop("base64", None)
        frame = base64.b64decode(raw) if raw else line.pop("frame").encode("utf-8")
        return Step(frame, **line)

    def line(self) -> dict[str, Any]:
        """Formats the step as its line."""
        try:
            said: dict[str, Any] = {"frame": self.frame.decode("utf-8")}
        except UnicodeDecodeError:
            said = {"base64": base64.b64encode(self.frame).decode()}
        given = {"name": self.name, "reply": self.reply, "after": self.after, "later": self.later}
        # An id may be 0, which equals False.
        told = {k: v for k, v in given.items() if v is not None and v is not False and v != ""}
        return told | said | self.masked()

    def masked(self) -> dict[str, Any]:
        """The masks of what varies, if anything does."""
        return {"varies": self.varies} if self.varies else {}

    def sent(self, place: Path) -> bytes:
        """The line that is sent."""
        text = self.frame.replace(b"<PLACE>", str(place).encode())
        return re.sub(FILL.pattern.encode(), lambda m: fill(int(m[1])), text) + b"\n"

    def stable(self, raw: bytes) -> bytes:
        """Masks what varies in a reply."""
        return masked(raw, self.varies)


@dataclass
class Session:
    """What one client sends to one server, from the first frame to the last."""

    server: str
    name: str
    steps: list[Step]
    # What varies in frames that are not replies.
    varies: list[str] = field(default_factory=list)


def masked(raw: bytes, varies: list[str]) -> bytes:
    """Masks what varies in bytes."""
    for name in varies:
        raw = re.sub(MASKS[name], f"<{name}>".encode(), raw)
    return raw


def fill(size: int) -> bytes:
    """A text of `size` characters, always the same; it needs no escapes in JSON."""
    line = "row {} of the filling, state ok; "
    text = "".join(line.format(n) for n in range(size // 25 + 1))
    return text[:size].encode()


def load(file: Path = FILE) -> list[Session]:
    """Loads all sessions; a line with `session` begins one."""
    sessions: list[Session] = []
    for line in map(json.loads, file.read_text("utf-8").strip().split("\n")):
        if "session" in line:
            varies = line.get("varies", [])
            sessions.append(Session(line["server"], line["session"], [], varies))
        else:
            sessions[-1].steps.append(Step.of(line))
    return sessions


def save(sessions: list[Session], file: Path = FILE) -> None:
    """Writes all sessions."""
    lines: list[dict[str, Any]] = []
    for one in sessions:
        lines.append({"session": one.name, "server": one.server})
        lines[-1] |= {"varies": one.varies} if one.varies else {}
        lines += [step.line() for step in one.steps]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    # Some readers of text treat line separators as line ends; JSON does not.
    file.write_text(text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"), "utf-8")


def spans(raw: bytes) -> dict[str, bytes]:
    """The members of a JSON object, each as it is spelled."""
    text, found, decoder = raw.decode("utf-8").strip(), {}, json.JSONDecoder(strict=False)
    blank = re.compile(r"[\s,:]*")
    at = blank.match(text, 1).end() if text.startswith("{") else len(text)  # type: ignore[union-attr]
    while at < len(text) and text[at] != "}":
        key, at = decoder.raw_decode(text, at)
        start = blank.match(text, at).end()  # type: ignore[union-attr]
        _, at = decoder.raw_decode(text, start)
        found[key] = text[start:at].encode("utf-8")
        at = blank.match(text, at).end()  # type: ignore[union-attr]
    return found


def same_lines(got: list[bytes], wanted: list[bytes], varies: list[str]) -> tuple[Counter, Counter]:
    """The lines that only the first has, and those that only the second has."""
    left = Counter(masked(raw, varies) for raw in got)
    right = Counter(masked(raw, varies) for raw in wanted)
    return left - right, right - left
