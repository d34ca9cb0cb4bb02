"""An MCP server that does to its client what real ones do on a bad day. Standard library only.

`hostile_server.py --log FILE`: every line that comes in goes to FILE as it came, the end of stdin
as the line `EOF`. With `--stubborn` it then stays. Each tool misbehaves in its own way; `TOOLS`
lists them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

# A lone surrogate, as JavaScript servers send it: legal JSON, but not valid Unicode.
LONE = b"half of a smiley: \\ud83d."
FILLER = b"line with some words and a number 4711\\n"
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)

NOISE = [
    b"Debugger listening on port 9229\n",
    # Cut off, with the id of a request that nobody made: a waiting request would get an error.
    b'{"jsonrpc":"2.0","id":77,"result":{"content":[{"type":"te\n',
    b"\xff\xfe not UTF-8 \x80\x00\n",
    b"\n",
    b"42\n",
    b'"text"\n',
    b"[]\n",
    b'[{"jsonrpc":"2.0","method":"notifications/message","params":{}}]\n',
    b'{"jsonrpc": "2.0",  "method":"notifications/odd\\u0020one","params":{"n":1.0,"n":1e2}}\r\n',
    b'{"jsonrpc":"2.0","id":"nobody asked","result":{"content":[{"type":"text","text":"?"}]}}\n',
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n',
]

TREE_SCHEMA = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "required": ["root"],
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["name"],
        }
    },
}


class Server:
    """The state of one session, and its output."""

    def __init__(self, log: BinaryIO) -> None:
        self.log = log
        self.out = sys.stdout.buffer
        self.lock = threading.Lock()
        self.cancelled: list[Any] = []
        self.answers: dict[str, Any] = {}

    def emit(self, *parts: bytes) -> None:
        """Writes bytes to stdout unchanged."""
        with self.lock:
            for part in parts:
                self.out.write(part)
            self.out.flush()

    def send(self, message: dict[str, Any]) -> None:
        """Writes one message."""
        self.emit(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")

    def serve(self) -> None:
        """Reads until the end of stdin."""
        for raw in sys.stdin.buffer:
            self.log.write(raw)
            self.log.flush()
            try:
                message = json.loads(raw)
            except ValueError:
                continue
            if isinstance(message, dict):
                self.take(message)
        self.log.write(b"EOF\n")
        self.log.flush()

    def take(self, message: dict[str, Any]) -> None:
        """Handles one message; tools run on threads of their own."""
        match message.get("method"):
            case "initialize":
                self.send({"id": message["id"], "result": self.welcome(message["params"])})
            case "tools/list":
                self.send({"id": message["id"], "result": {"tools": listing()}})
            case "tools/call":
                tool = TOOLS.get(message["params"]["name"], unknown)
                work = (self, message["id"], message["params"])
                threading.Thread(target=tool, args=work, daemon=True).start()
            case "notifications/cancelled":
                self.cancelled.append(message["params"].get("requestId"))
            case None:
                self.answers[json.dumps(message.get("id"))] = message
            case _ if "id" in message:
                self.send({"id": message["id"], "error": {"code": -32601, "message": "no"}})

    @staticmethod
    def welcome(params: dict[str, Any]) -> dict[str, Any]:
        """The result of the handshake."""
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "hostile", "version": "1"},
        }


def listing() -> list[dict[str, Any]]:
    """All tools; some declare a schema for their output."""
    tools = []
    for name in TOOLS:
        tool: dict[str, Any] = {"name": name, "inputSchema": {"type": "object"}}
        if name.startswith("tree"):
            tool["outputSchema"] = TREE_SCHEMA
        tools.append(tool)
    return tools


def wire(request: Any, *content: bytes, extra: bytes = b"") -> bytes:
    """A tool result as a line, its content given as raw JSON blocks."""
    blocks = b",".join(content)
    identity = json.dumps(request).encode()
    return b'{"jsonrpc":"2.0","id":%s,"result":{"content":[%s]%s}}\n' % (identity, blocks, extra)


def text(raw: bytes) -> bytes:
    """A text block around raw JSON string content."""
    return b'{"type":"text","text":"%s"}' % raw


def unknown(server: Server, request: Any, params: dict[str, Any]) -> None:
    """Answers that there is no such tool."""
    server.send({"id": request, "error": {"code": -32602, "message": f"no {params['name']}"}})


def surrogate(server: Server, request: Any, params: dict[str, Any]) -> None:
    """A lone surrogate, among `lines` other lines."""
    lines = params.get("arguments", {}).get("lines", 0)
    server.emit(wire(request, text(LONE + b"\\n" + FILLER * lines)))


def noise(server: Server, request: Any, _: dict[str, Any]) -> None:
    """Lines that are not MCP messages, around a valid reply."""
    server.emit(*NOISE, wire(request, text(b"after the noise")), *NOISE)


def cut_off(server: Server, request: Any, _: dict[str, Any]) -> None:
    """A reply that breaks off in the middle of its line, and nothing more."""
    server.emit(wire(request, text(b"never whole"))[:-12] + b"\n")


def huge(server: Server, request: Any, params: dict[str, Any]) -> None:
    """One line of the requested megabytes."""
    count = params["arguments"]["megabytes"] * 1_000_000 // (len(FILLER) - 1)
    server.emit(wire(request, text(FILLER * count)))


def die(server: Server, request: Any, params: dict[str, Any]) -> None:
    """Exits mid-call, with half a line written."""
    if params.get("arguments", {}).get("half"):
        server.emit(b'{"jsonrpc":"2.0","id":%d,"resu' % request)
    os._exit(3)


def hang_up(server: Server, *_: Any) -> None:
    """Closes stdout but does not exit."""
    with server.lock:
        os.close(1)
    time.sleep(3600)


def never(*_: Any) -> None:
    """Does not answer."""


def slow(server: Server, request: Any, params: dict[str, Any]) -> None:
    """Reports progress every 100 ms; stops without a reply once cancelled."""
    token = params.get("_meta", {}).get("progressToken")
    steps = params["arguments"]["steps"]
    for step in range(1, steps + 1):
        time.sleep(0.1)
        if request in server.cancelled:
            return
        if token is not None:
            progress = {"progressToken": token, "progress": step, "total": steps}
            server.send({"method": "notifications/progress", "params": progress})
    server.emit(wire(request, text(b"done slowly")))


def ask(server: Server, request: Any, _: dict[str, Any]) -> None:
    """Sends the client a request with the id of the client's own request."""
    server.send({"id": request, "method": "sampling/createMessage", "params": {"maxTokens": 1}})
    key = json.dumps(request)
    while key not in server.answers:
        time.sleep(0.01)
    answer = json.dumps(server.answers[key].get("result"))
    server.send({"id": request, "result": {"content": [{"type": "text", "text": answer}]}})


def failed(server: Server, request: Any, _: dict[str, Any]) -> None:
    """A long error."""
    server.emit(wire(request, text(FILLER * 2000), extra=b',"isError":true,"_meta":{"x/y":1.0}'))


def picture(server: Server, request: Any, _: dict[str, Any]) -> None:
    """A long text beside an image and a resource link."""
    image = b'{"data":"%s","type":"image","mimeType":"image/png"}' % PIXEL.encode()
    link = b'{"type":"resource_link","uri":"demo://a","name":"a","x-unknown":[1.0]}'
    server.emit(wire(request, image, text(FILLER * 2000), link))


def blocks(server: Server, request: Any, _: dict[str, Any]) -> None:
    """Two hundred text blocks, each small."""
    server.emit(wire(request, *[text(b"block %d " % n + FILLER * 3) for n in range(200)]))


def backwards(server: Server, request: Any, _: dict[str, Any]) -> None:
    """A long result whose id comes last."""
    identity = json.dumps(request).encode()
    body = text(FILLER * 2000)
    server.emit(b'{"result":{"content":[%s]},"id":%s,"jsonrpc":"2.0"}\n' % (body, identity))


def pieces(server: Server, request: Any, _: dict[str, Any]) -> None:
    """A reply written in pieces that cut a UTF-8 character."""
    line = wire(request, text("käse ".encode() * 20))
    for at in range(0, len(line), 7):
        server.emit(line[at : at + 7])
        time.sleep(0.002)


def tree(server: Server, request: Any, params: dict[str, Any]) -> None:
    """Structured content whose schema refers to itself."""
    count = params.get("arguments", {}).get("count", 2)
    children = [{"name": f"child {n}", "children": [{"name": "leaf"}]} for n in range(count)]
    value = {"root": {"name": "top", "children": children}}
    content = [{"type": "text", "text": json.dumps(value)}]
    server.send({"id": request, "result": {"content": content, "structuredContent": value}})


def tree_only(server: Server, request: Any, _: dict[str, Any]) -> None:
    """Long structured content with no content block at all."""
    children = [{"name": f"child {n}"} for n in range(5000)]
    value = {"root": {"name": "top", "children": children}}
    server.send({"id": request, "result": {"content": [], "structuredContent": value}})


def unterminated(server: Server, request: Any, _: dict[str, Any]) -> None:
    """A reply without its newline, then a clean exit."""
    server.emit(wire(request, text(b"last words"))[:-1])
    os._exit(0)


TOOLS: dict[str, Callable[..., None]] = {
    tool.__name__: tool
    for tool in (
        surrogate, noise, cut_off, huge, die, hang_up, never, slow, ask, failed, picture, blocks,
        backwards, pieces, tree, tree_only, unterminated,
    )
}  # fmt: skip


def main() -> None:
    """Serves one session."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--stubborn", action="store_true")
    arguments = parser.parse_args()
    with arguments.log.open("ab") as log:
        Server(log).serve()
        if arguments.stubborn:
            time.sleep(3600)


if __name__ == "__main__":
    main()
