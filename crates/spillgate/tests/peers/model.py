"""A scripted language model on 127.0.0.1: it plays a list of tool calls, then a final answer.

It speaks Anthropic's Messages, OpenAI's Responses and Gemini's generateContent (for agents), and
OpenAI's chat completions (for `tool_output`). It keeps no state: the number of tool results in a request selects the next step.
Every request is recorded, so that tests see what a model would have been shown.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# Placeholder in a step's arguments for the handle that the model was shown last.
HANDLE = "<handle>"

HANDLES = re.compile(r"session-[0-9a-f-]{36}/[0-9a-f-]{36}|(?<=stored whole as )[a-z]{14}\b")

# The wrapper of an answer that `tool_output` asks for.
NONCE = re.compile(r"<ai-agent-([0-9a-f]+)-FINAL")

USAGE = {"input_tokens": 10, "output_tokens": 5}


@dataclass(frozen=True)
class Call:
    """A step of a script: calls the tool whose name ends with `tool`, with these arguments."""

    tool: str
    arguments: dict[str, Any]

    def filled(self, results: list[str]) -> dict[str, Any]:
        """The arguments, with the handle that the latest result shows."""
        found = HANDLES.findall("\n".join(results))
        handle = found[-1] if found else "none was shown"
        return {k: handle if v == HANDLE else v for k, v in self.arguments.items()}


@dataclass(frozen=True)
class Offered:
    """A tool in a request: its name, and its namespace if it has one."""

    name: str
    space: str | None
    definition: dict[str, Any]


@dataclass
class Model:
    """The endpoint. A context manager: it serves from entry to exit."""

    script: list[Call]
    answer: str = "done as told"
    # Bodies of the requests of agents, in the order of their arrival.
    requests: list[dict[str, Any]] = field(default_factory=list)
    # Bodies of the requests of `tool_output`.
    extractions: list[dict[str, Any]] = field(default_factory=list)
    # Requests for paths that this server does not support.
    refused: list[str] = field(default_factory=list)

    def __enter__(self) -> Model:
        model = self

        class Bound(Handler):
            """The handler of this model."""

            script = model

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.server.server_port}"

    def shown(self) -> list[str]:
        """The tool results, as texts, in the request with most of them."""
        return max(map(results, self.requests), key=len, default=[])

    def tools(self) -> list[str]:
        """The names of all tools that were ever offered, sorted."""
        return sorted({tool.name for body in self.requests for tool in offered(body)})

    def next_step(self, body: dict[str, Any]) -> tuple[Offered, dict[str, Any]] | None:
        """The tool to call now; None if the script is over or the tool is not offered."""
        so_far = results(body)
        if len(so_far) >= len(self.script):
            return None
        step = self.script[len(so_far)]
        tool = next((tool for tool in offered(body) if tool.name.endswith(step.tool)), None)
        return tool and (tool, step.filled(so_far))


def counted(body: dict[str, Any]) -> int:
    """Approximate tokens of a request's messages, by which agents decide what is too large."""
    return len(json.dumps(body.get("messages"))) // 4


def offered(body: dict[str, Any]) -> list[Offered]:
    """The tools of a request; Codex puts those of a server into a namespace."""
    found = []
    items = body.get("input") if isinstance(body.get("input"), list) else []
    # For some models Codex lists its tools among the messages.
    more = [tool for item in items if item.get("type") == "additional_tools" for tool in item["tools"]]
    for tool in [*(body.get("tools") or []), *more]:
        if "functionDeclarations" in tool:
            found += [Offered(one["name"], None, one) for one in tool["functionDeclarations"]]
            continue
        inner = tool["tools"] if tool.get("type") == "namespace" else [tool]
        space = tool["name"] if tool.get("type") == "namespace" else None
        found += [Offered(one.get("name", ""), space, one) for one in inner]
    return found


def results(body: dict[str, Any]) -> list[str]:
    """The texts of a request's tool results, in order."""
    found = []
    for message in body.get("messages") or []:
        blocks = message["content"] if isinstance(message["content"], list) else []
        found += [plain(b.get("content")) for b in blocks if b.get("type") == "tool_result"]
    items = body.get("input") if isinstance(body.get("input"), list) else []
    kinds = ("function_call_output", "custom_tool_call_output")
    found += [plain(i["output"]) for i in items or [] if i.get("type") in kinds]
    parts = [part for content in body.get("contents") or [] for part in content.get("parts") or []]
    answers = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    return found + [answer.get("output") or answer.get("error") or "" for answer in answers]


def plain(content: Any) -> str:
    """A tool result as text; a block other than text becomes its JSON."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else json.dumps(content)
    return "\n".join(block.get("text") or json.dumps(block) for block in content)


class Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    script: Model

    def log_message(self, *_: object) -> None:
        """Logs nothing: the verdict is the only output."""

    def do_HEAD(self) -> None:
        """Answers a client that checks whether we are up."""
        self.reply(b"", "text/plain")

    def do_GET(self) -> None:
        """Answers the list of models; no other path is supported."""
        self.json({"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []})

    def do_POST(self) -> None:
        """Answers a request to the model."""
        body = json.loads(self.body() or b"{}")
        match self.path.partition("?")[0].rsplit("/v1", 1)[-1]:
            case "/messages/count_tokens":
                self.json({"input_tokens": counted(body)})
            case "/messages":
                self.script.requests.append(body)
                self.play(body, anthropic(body, self.script))
            case "/responses":
                self.script.requests.append(body)
                self.play(body, responses(body, self.script))
            case "/chat/completions":
                self.script.extractions.append(body)
                self.json(extraction(body, self.script.answer))
            case path if path.endswith("enerateContent"):
                self.script.requests.append(body)
                self.gemini(body)
            case path if path.endswith(":countTokens"):
                self.json({"totalTokens": counted(body)})
            case _:
                self.script.refused.append(self.path)
                self.json({"error": {"message": "not spoken here"}}, status=404)

    def body(self) -> bytes:
        """The request's body, of known length or in chunks."""
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return parts

    def play(self, body: dict[str, Any], events: Iterator[dict[str, Any]]) -> None:
        """Answers with events, or with the message that the last of them holds."""
        events = list(events)
        if not body.get("stream"):
            return self.json(events[-1].get("response") or events[-1]["message"])
        lines = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events]
        return self.reply("".join(lines).encode(), "text/event-stream")

    def gemini(self, body: dict[str, Any]) -> None:
        """Answers a request for generated content."""
        step = self.script.next_step(body)
        part: dict[str, Any] = {"text": self.script.answer}
        if step:
            part = {"functionCall": {"name": step[0].name, "args": step[1]}}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        answer = {"candidates": [candidate], "usageMetadata": usage}
        if "streamGenerateContent" not in self.path:
            return self.json(answer)
        return self.reply(f"data: {json.dumps(answer)}\n\n".encode(), "text/event-stream")

    def json(self, value: Any, status: int = 200) -> None:
        """Answers with JSON."""
        self.reply(json.dumps(value).encode(), "application/json", status)

    def reply(self, body: bytes, kind: str, status: int = 200) -> None:
        """Answers."""
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def anthropic(body: dict[str, Any], model: Model) -> Iterator[dict[str, Any]]:
    """A turn in the events of Messages; the last one also holds the whole message."""
    step = model.next_step(body)
    identity = f"toolu_{len(results(body)):04d}"
    if step:
        tool, arguments = step
        block = {"type": "tool_use", "id": identity, "name": tool.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        whole = block | {"input": arguments}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": model.answer}
        whole = {"type": "text", "text": model.answer}
    reason = "tool_use" if step else "end_turn"
    ending = {"stop_reason": reason, "stop_sequence": None}
    message = {
        "id": f"msg_{len(model.requests):04d}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE,
    }
    yield {"type": "message_start", "message": message}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": ending, "usage": USAGE}
    yield {"type": "message_stop", "message": message | ending | {"content": [whole]}}


def responses(body: dict[str, Any], model: Model) -> Iterator[dict[str, Any]]:
    """A turn in the events of Responses; the last one holds the whole response."""
    step, number = model.next_step(body), len(results(body))
    if step:
        tool, arguments = step
        item = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": tool.name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        if tool.definition.get("type") == "custom":
            # Its input is plain text, not JSON.
            del item["arguments"]
            item |= {"type": "custom_tool_call", "input": arguments["input"]}
        if tool.space:
            item["namespace"] = tool.space
    else:
        text = {"type": "output_text", "text": model.answer, "annotations": []}
        item = {"type": "message", "id": "m_1", "role": "assistant", "content": [text]}
        item["status"] = "completed"
    response = {
        "id": f"resp_{len(model.requests)}",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": body.get("model"),
        "output": [item],
        "usage": USAGE
        | {
            "total_tokens": 15,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }
    begun = response | {"status": "in_progress", "output": []}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": response}


def extraction(body: dict[str, Any], answer: str) -> dict[str, Any]:
    """A chat completion that answers in the requested wrapper."""
    found = NONCE.search(json.dumps(body.get("messages")))
    nonce = found.group(1) if found else ""
    text = f'<ai-agent-{nonce}-FINAL format="text">{answer}</ai-agent-{nonce}-FINAL>'
    message = {"role": "assistant", "content": text}
    return {
        "id": "reply-1",
        "object": "chat.completion",
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }
