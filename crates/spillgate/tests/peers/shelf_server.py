"""An MCP server with a few well-behaved tools, large and small. Standard library only.

`shelf_server.py [--form FORM]`: with a form, `rows` is advertised and answered the way a gateway
could have done it (see `FORMS`): that is how clients are asked what they take, gateway or not.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

NEEDLE = "ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7"
NEEDLE_LINE = 501
NOTE = {"text": "Käse\tund „Brot“ \u2028 🎬", "size": 1.5}

KB = {"type": "object", "properties": {"kb": {"type": "integer"}}, "required": ["kb"]}
COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}

ROWS = {
    "type": "object",
    "properties": {
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "integer"}, "state": {"type": "string"}},
                "required": ["id", "state"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["rows"],
    "additionalProperties": False,
}
NOTED = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "size": {"type": "number"}},
    "required": ["text", "size"],
}

# What a gateway shows instead of a large result.
SHOWN = "[preview] rows returned 300,000 bytes; stored whole as session-0/1"
ENVELOPE = {
    "type": "object",
    "properties": {"spillgate": {"type": "string"}},
    "required": ["spillgate"],
    "additionalProperties": False,
}
INSTEAD = {"spillgate": SHOWN}
FIRST = {"rows": [{"id": 0, "state": "ok"}]}
BOTH = {
    "type": "object",
    "properties": {**ROWS["properties"], **ENVELOPE["properties"]},
    "anyOf": [{"required": ["rows"]}, {"required": ["spillgate"]}],
    "additionalProperties": False,
}


# Form: the advertised output schema, and the structured content; None means that there is none.
FORMS: dict[str, tuple[Any, Any]] = {
    "widened": ({"type": "object", "anyOf": [ROWS, ENVELOPE]}, INSTEAD),
    "widened-untyped": ({"anyOf": [ROWS, ENVELOPE]}, INSTEAD),
    "widened-one-of": ({"type": "object", "oneOf": [ROWS, ENVELOPE]}, INSTEAD),
    "widened-properties": (BOTH, INSTEAD),
    "open": ({"type": "object"}, INSTEAD),
    "empty": ({}, INSTEAD),
    "array": ({"type": "array", "items": {}}, [SHOWN]),
    "stripped": (None, None),
    "stripped-envelope": (None, INSTEAD),
    "omitted": (ROWS, None),
    "omitted-error": (ROWS, None),
    "cut": (ROWS, FIRST),
    "broken": (ROWS, INSTEAD),
}


def journal(kb: int) -> dict[str, Any]:
    """A log of `kb` KiB."""
    lines: list[str] = []
    size = 0
    while size < kb * 1024:
        number = len(lines) + 1
        what = f"INFO worker-{number % 17} processed batch id={number * 7919 % 100003} ok"
        lines.append(f"{number:07d} {NEEDLE if number == NEEDLE_LINE else what}")
        size += len(lines[-1]) + 1
    return {"content": [{"type": "text", "text": "\n".join(lines)}]}


def rows(count: int) -> dict[str, Any]:
    """Rows as structured content and as the same JSON in text."""
    states = ("ok", "idle", "failed")
    value = {"rows": [{"id": n, "state": states[n % 3]} for n in range(count)]}
    return structured(value)


def structured(value: Any) -> dict[str, Any]:
    """A result with the same JSON in text."""
    return {
        "content": [{"type": "text", "text": json.dumps(value)}],
        "structuredContent": value,
    }


def shaped(form: str) -> dict[str, Any]:
    """The result of `rows` in this form."""
    _, content = FORMS[form]
    result: dict[str, Any] = {"content": [{"type": "text", "text": SHOWN}]}
    if content is not None:
        result["structuredContent"] = content
    if form == "omitted-error":
        result["isError"] = True
    if form == "cut":
        result["_meta"] = {"spillgate/handle": "session-0/1"}
    return result


def tools(form: str | None) -> list[dict[str, Any]]:
    """The list of tools."""
    output = FORMS[form][0] if form else ROWS
    listed = [
        {"name": "journal", "description": "kb KiB of log", "inputSchema": KB},
        {"name": "rows", "description": "count rows", "inputSchema": COUNT},
        {"name": "note", "description": "a note", "inputSchema": {"type": "object"}},
    ]
    if output is not None:
        listed[1]["outputSchema"] = output
    listed[2]["outputSchema"] = NOTED
    return [tool | {"annotations": {"readOnlyHint": True}} for tool in listed]


def call(form: str | None, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Runs a tool."""
    calls: dict[str, Callable[[], dict[str, Any]]] = {
        "journal": lambda: journal(arguments["kb"]),
        "rows": lambda: shaped(form) if form else rows(arguments["count"]),
        "note": lambda: structured(NOTE),
    }
    return calls[name]()


def answer(form: str | None, message: dict[str, Any]) -> dict[str, Any] | None:
    """The reply to a message; None for a notification."""
    params = message.get("params") or {}
    match message.get("method"):
        case "initialize":
            result: dict[str, Any] = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "shelf", "version": "1"},
            }
        case "tools/list":
            result = {"tools": tools(form)}
        case "tools/call":
            result = call(form, params["name"], params.get("arguments") or {})
        case "ping":
            result = {}
        case _ if "id" in message:
            error = {"code": -32601, "message": "no such method"}
            return {"jsonrpc": "2.0", "id": message["id"], "error": error}
        case _:
            return None
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def main() -> None:
    """Serves one session."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--form", choices=FORMS)
    form = parser.parse_args().form
    for line in sys.stdin:
        if reply := answer(form, json.loads(line)):
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
