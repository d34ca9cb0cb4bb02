"""A stdio peer without MCP's types: it sends and receives raw lines, byte for byte."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Seconds after which a reply counts as missing.
WAIT = 30.0


@dataclass(frozen=True)
class Line:
    """A received line, including its newline, and its time."""

    raw: bytes
    at: float

    def message(self) -> Any:
        """The JSON in it, or None."""
        try:
            return json.loads(self.raw)
        except ValueError:
            return None

    def answers(self, request: Any) -> bool:
        """Whether this is the reply to the request with this id."""
        message = self.message()
        if not isinstance(message, dict) or "method" in message:
            return False
        # In Python 1 == 1.0 == True; ids are equal only if they are spelled the same.
        return json.dumps(message.get("id")) == json.dumps(request)


class Peer:
    """A process that speaks newline-delimited JSON."""

    def __init__(self, command: list[str], errors: Path, env: dict[str, str] | None = None) -> None:
        self.errors = errors
        with errors.open("wb") as stderr:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=env
            )
        self.begin()
        threading.Thread(target=self._read, daemon=True).start()

    def begin(self) -> None:
        """Resets the state: nothing sent, nothing received."""
        self.lines: queue.Queue[Line | None] = queue.Queue()
        self.sent = b""
        # Lines other than awaited replies, in order.
        self.others: list[Line] = []
        self.ended = False

    def _read(self) -> None:
        assert self.process.stdout is not None
        for raw in self.process.stdout:
            self.take(raw)
        self.lines.put(None)

    def take(self, raw: bytes) -> None:
        """Records a received line."""
        self.lines.put(Line(raw, time.monotonic()))

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, message: dict[str, Any] | bytes) -> None:
        """Sends one line: a message, or bytes as they are."""
        assert self.process.stdin is not None
        raw = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        self.sent += raw
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def next(self, timeout: float = WAIT) -> Line | None:
        """The next line, or None at the end of the stream."""
        if self.ended:
            return None
        try:
            line = self.lines.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError(f"no line within {timeout} s; stderr: {self.stderr()}") from None
        self.ended = line is None
        return line

    def reply(self, request: Any, timeout: float = WAIT) -> Line:
        """The reply to the request with this id; lines before it go to `others`. Replies may come
        in any order, so it may have arrived already."""
        if early := next((line for line in self.others if line.answers(request)), None):
            self.others.remove(early)
            return early
        deadline = time.monotonic() + timeout
        while (line := self.next(max(0.0, deadline - time.monotonic()))) is not None:
            if line.answers(request):
                return line
            self.others.append(line)
        raise EOFError(f"the stream ended before a reply to {request!r}; stderr: {self.stderr()}")

    def asked(self, request: Any, timeout: float = WAIT) -> Line:
        """The server's own request with this id; it stays in `others`."""
        deadline = time.monotonic() + timeout
        seen = 0
        while True:
            for line in self.others[seen:]:
                message = line.message()
                if isinstance(message, dict) and "method" in message and "id" in message:
                    if json.dumps(message["id"]) == json.dumps(request):
                        return line
            seen = len(self.others)
            if (line := self.next(max(0.0, deadline - time.monotonic()))) is None:
                raise EOFError(f"the stream ended before a request {request!r}: {self.stderr()}")
            self.others.append(line)

    def request(self, request: Any, method: str, params: Any = None, wait: float = WAIT) -> Line:
        """Sends a request and waits for its reply."""
        message = {"jsonrpc": "2.0", "id": request, "method": method}
        self.send(message if params is None else message | {"params": params})
        return self.reply(request, wait)

    def call(self, request: Any, tool: str, arguments: Any = None, wait: float = WAIT) -> Line:
        """Calls a tool and waits for its result."""
        params = {"name": tool, "arguments": arguments or {}}
        return self.request(request, "tools/call", params, wait)

    def start_call(self, request: Any, tool: str, arguments: Any = None, **params: Any) -> None:
        """Calls a tool and does not wait."""
        params = {"name": tool, "arguments": arguments or {}} | params
        self.send({"jsonrpc": "2.0", "id": request, "method": "tools/call", "params": params})

    def handshake(self, capabilities: dict[str, Any] | None = None) -> Line:
        """Initializes the session."""
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities or {},
            "clientInfo": {"name": "frames", "version": "1"},
        }
        line = self.request("init", "initialize", params)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return line

    def quiet(self, seconds: float) -> None:
        """Reads lines into `others` until none arrives for `seconds`."""
        with contextlib.suppress(TimeoutError):
            while (line := self.next(seconds)) is not None:
                self.others.append(line)

    def stderr(self) -> str:
        """The end of what the process wrote to stderr."""
        return self.errors.read_text(errors="replace")[-600:]

    def peak_memory(self) -> int | None:
        """The process's peak resident memory in bytes, if the system reports it."""
        with contextlib.suppress(OSError, StopIteration):
            status = Path(f"/proc/{self.process.pid}/status").read_text()
            line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
            return int(line.split()[1]) * 1024
        return None

    def close(self, timeout: float = 10.0) -> int | None:
        """Closes stdin and returns the exit code, or None if the process had to be killed."""
        with contextlib.suppress(OSError):
            assert self.process.stdin is not None
            self.process.stdin.close()
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None
