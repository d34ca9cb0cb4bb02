"""What clients, and a program in FastMCP's code mode, receive of a result of 5 MB.

The client sends nothing of its own: the gateway's option says that a program reads the results.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import common
import fastmcp
from clients import CLIENTS, Face
from common import Setup, Verdict
from fastmcp.client.transports import StdioTransport
from fastmcp.experimental.transforms.code_mode import CodeMode, MontySandboxProvider
from fastmcp.server import create_proxy
from sdks import text_of

# The rows of the result: 5 MB as text, and again as structured content.
ROWS = 165_000
FORMS = {
    "text only": ("journal", {"kb": 5000}),
    "text and structured content": ("rows", {"count": ROWS}),
}
# The program that a model would write: it needs one field of one row.
PROGRAM = f'result = await call_tool("rows", {{"count": {ROWS}}})\nreturn result["rows"][4217]["state"]'


def received(result: dict[str, Any]) -> str:
    """In words, what a client received."""
    text, structured = text_of(result), result.get("structuredContent")
    if "onnection closed" in text:
        return "too large for the client"
    of_text = "preview" if common.preview(text) else f"{len(text.encode())} bytes"
    if structured is None:
        return of_text
    rows = structured.get("rows")
    return f"{of_text}; structured content: {'preview' if rows is None else f'{len(rows)} rows'}"


async def in_code_mode(setup: Setup, mode: str) -> str:
    """What the program in FastMCP's code mode returns: the field, or its error."""
    command = setup.relayed("--results", mode)
    transport = StdioTransport(command=command[0], args=command[1:], keep_alive=False)
    server = create_proxy(transport, name="code")
    # 165,000 objects need more memory than the sandbox has by default.
    sandbox = MontySandboxProvider(limits={"max_memory": 2 << 30})
    server.add_transform(CodeMode(sandbox_provider=sandbox))
    async with fastmcp.Client(server, timeout=common.WAIT) as client:
        try:
            result = await client.call_tool("execute", {"code": PROGRAM})
            return text_of(result.__dict__ | {"content": [{"text": b.text} for b in result.content]})
        except Exception as error:  # The program failed.
            return f"{type(error).__name__}: {error}"


async def scenario(setup: Setup, verdict: Verdict) -> None:
    """Asks each client in each mode, then runs the program."""
    table: dict[str, dict[str, str]] = {}
    for name, opened in CLIENTS.items():
        for mode in ("preview", "structured", "whole"):
            async with opened(setup.relayed("--results", mode), setup.peers) as face:
                await face.tools()
                for form, (tool, arguments) in FORMS.items():
                    got = received(await face.call(tool, dict(arguments)))
                    table.setdefault(name, {})[f"{form}, {mode}"] = got
    verdict.facts["received"] = table
    for name, row in table.items():
        text, both = FORMS
        verdict.check(f"{name}: preview", row[f"{both}, preview"] == "preview; structured content: preview", row)
        whole = f"structured content: {ROWS} rows"
        verdict.check(f"{name}: structured", row[f"{both}, structured"] == f"preview; {whole}", row)
        # The SDKs for TypeScript close the connection if a message has over 10 MB, with or without
        # a gateway.
        verdict.check(f"{name}: whole", row[f"{both}, whole"].endswith((whole, "too large for the client")), row)
        verdict.check(f"{name}: text", row[f"{text}, structured"] == "preview", row)
    said = {mode: await in_code_mode(setup, mode) for mode in ("preview", "structured", "whole")}
    verdict.facts["the program returns"] = {mode: common.short(text)[:300] for mode, text in said.items()}
    verdict.check("code mode: a preview has no such field", "rows" in said["preview"], said["preview"])
    for mode in ("structured", "whole"):
        verdict.check(f"code mode: {mode}", said[mode].strip().strip('"') in ("ok", "failed"), said[mode])


if __name__ == "__main__":
    common.run(scenario)
