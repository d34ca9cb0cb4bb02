"""The clients of the official SDKs and FastMCP's: large results are previews that fit the tool's
schema, and the stored results can be searched through the same client."""

from __future__ import annotations

import json
from typing import Any

import common
import shelf_server as shelf
from clients import CLIENTS, Face
from common import OUR_TOOLS, PREVIEW_BYTES_MAX, Setup, Verdict


def text_of(result: dict[str, Any]) -> str:
    """The text blocks of a result, joined; or the refusal."""
    texts = [block.get("text", "") for block in result.get("content", [])]
    return "\n".join(texts) or str(result.get("refused", ""))


async def small(face: Face, check: Any) -> None:
    """A result within the limit is unchanged."""
    note = await face.call("note", {})
    check("a small result", note.get("structuredContent") == shelf.NOTE, note)
    check("its twin", json.loads(text_of(note)) == shelf.NOTE, note)


async def offloaded(face: Face, check: Any, tool: str, arguments: dict[str, Any]) -> str:
    """A result over the limit is a preview; returns its handle."""
    result = await face.call(tool, arguments)
    text = text_of(result)
    parts = common.preview(text) or {}
    check(f"{tool}: a preview", parts.get("tool") == tool, text)
    whole = json.dumps(result, ensure_ascii=False).encode()
    check(f"{tool}: all of it is short", len(whole) < 2 * PREVIEW_BYTES_MAX, len(whole))
    return parts.get("handle", "none")


async def look_into(face: Face, check: Any, handle: str) -> None:
    """Our tools, on a stored log."""
    grep = await face.call("spillgate_grep", {"handle": handle, "pattern": r"code=E\d+"})
    check("grep finds the needle", shelf.NEEDLE in text_of(grep), grep)
    read = await face.call("spillgate_read", {"handle": handle, "start": 2222, "lines": 1})
    check("read gives the line", "0002222 INFO" in text_of(read), read)
    # Not listed here, but answered; without a model it is a search.
    words = {"handle": handle, "extract": "error code disk quota"}
    extract = await face.call("tool_output", words)
    check("tool_output finds the needle", shelf.NEEDLE in text_of(extract), extract)


async def scenario(setup: Setup, verdict: Verdict) -> None:
    """Runs the scenario with every client."""
    for name, opened in CLIENTS.items():

        def check(what: str, ok: bool, detail: Any = "", name: str = name) -> None:
            verdict.check(f"{name}: {what}", ok, detail)

        async with opened(setup.relayed(), setup.peers) as face:
            listed = [tool.get("name") for tool in await face.tools()]
            check("our tools last", listed == ["journal", "rows", "note", *OUR_TOOLS], listed)
            await small(face, check)
            await look_into(face, check, await offloaded(face, check, "journal", {"kb": 300}))
            handle = await offloaded(face, check, "rows", {"count": 6000})
            wanted = {"handle": handle, "filter": ".rows[4217]"}
            row = await face.call("spillgate_query", wanted)
            check("query gives the row", '"id":4217' in text_of(row).replace(" ", ""), row)


if __name__ == "__main__":
    common.run(scenario)
