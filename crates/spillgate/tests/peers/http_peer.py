"""A Streamable HTTP peer with the interface of `frames.Peer`: each frame is a POST, and each message
that comes back, as JSON or as an event, is a line. Versions up to 2025-11-25: sessions and the GET stream."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from typing import Any
from urllib.parse import urlsplit

from frames import Peer

Headers = dict[str, str]


class HttpPeer(Peer):
    """A client of the server at `url`."""

    # The base class would start a process.
    def __init__(self, url: str) -> None:  # pylint: disable=super-init-not-called
        self.url = urlsplit(url)
        self.headers: Headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        self.begin()

    def send(self, message: dict[str, Any] | bytes) -> None:
        """Posts a frame; its replies become lines as they arrive."""
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.sent += raw
        body = raw.rstrip(b"\r\n")
        # The session id must be known before the next frame is sent.
        if b'"initialize"' in body:
            self.exchange("POST", body)
        else:
            threading.Thread(target=self.exchange, args=("POST", body), daemon=True).start()
        if b"notifications/initialized" in body:
            threading.Thread(target=self.exchange, args=("GET", b""), daemon=True).start()

    def exchange(self, method: str, body: bytes) -> None:
        """Makes one request and reads the response to its end."""
        line = http.client.HTTPConnection(self.url.hostname or "", self.url.port, timeout=600)
        path = self.url.path or "/"
        with contextlib.closing(line), contextlib.suppress(OSError, http.client.HTTPException):
            line.request(method, path, body=body or None, headers=self.headers)
            answer = line.getresponse()
            if session := answer.headers.get("mcp-session-id"):
                self.headers["mcp-session-id"] = session
            if "text/event-stream" in answer.headers.get("content-type", ""):
                self.events(answer)
            elif (whole := answer.read()) and method == "POST":
                self.take(whole.rstrip(b"\n") + b"\n")

    def events(self, answer: http.client.HTTPResponse) -> None:
        """Records the data of each event as a line."""
        data = b""
        for raw in answer:
            if raw.startswith(b"data:"):
                data += raw[5:].strip(b" \r\n")
            elif not raw.strip(b"\r\n") and data:
                self.take(data + b"\n")
                data = b""

    def stderr(self) -> str:
        """Empty: the server is not our child."""
        return ""

    def close(self, timeout: float = 10.0) -> int | None:
        """Ends the session."""
        self.exchange("DELETE", b"")
        return 0
