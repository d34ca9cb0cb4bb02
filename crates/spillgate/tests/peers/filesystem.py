"""server-filesystem with a file of 5 MB, through the Python `mcp` package."""

from __future__ import annotations

import json
import re
import subprocess
import time
from typing import Any

from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import common
from common import OUR_TOOLS, PREVIEW_BYTES_MAX, WAIT, Sample, Setup, Verdict


def text_of(result: Any) -> str:
    """The text blocks of a tool result, joined."""
    return "\n".join(block.text for block in result.content if block.type == "text")


async def scenario(setup: Setup, verdict: Verdict) -> None:
    """The whole scenario."""
    file = common.sample(setup.work)
    command = setup.relayed()
    server = StdioServerParameters(command=command[0], args=command[1:])
    async with (
        stdio_client(server) as streams,
        ClientSession(*streams, read_timeout_seconds=WAIT) as session,
    ):
        await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        if setup.gateway is None:
            verdict.check("no tools of ours", not set(OUR_TOOLS) & set(tools), tools)
        else:
            verdict.equal("our tools are listed last", tools[-len(OUR_TOOLS) :], OUR_TOOLS)
        await read_small(session, file, verdict)
        handle = await read_whole(setup, session, file, verdict)
        if handle:
            await look_up(session, handle, file, verdict)
    if handle:
        cat(setup, handle, file, verdict)
    await both_generations(setup, server, file, verdict)


async def read_small(session: ClientSession, file: Sample, verdict: Verdict) -> None:
    """A result within the limit is unchanged, in both places."""
    result = await session.call_tool("read_text_file", {"path": str(file.path), "head": 3})
    wanted = "\n".join(file.lines[:3])
    verdict.equal("a small read is untouched", text_of(result).rstrip("\n"), wanted)
    structured = (result.structured_content or {}).get("content", "")
    verdict.equal("a small structured read is untouched", structured.rstrip("\n"), wanted)


async def read_whole(
    setup: Setup, session: ClientSession, file: Sample, verdict: Verdict
) -> str | None:
    """Reads the whole file: a preview in `content` and in `structuredContent`; returns the handle."""
    start = time.monotonic()
    # The client raises an error if structured content does not fit the tool's schema.
    result = await session.call_tool("read_text_file", {"path": str(file.path)})
    verdict.facts["seconds for 5 MB"] = round(time.monotonic() - start, 2)
    text = text_of(result)
    if setup.gateway is None:
        verdict.check("the file comes whole", text == file.text, lambda: text[:200])
        verdict.equal("and once more", result.structured_content, {"content": file.text})
        return None
    parts = common.preview(text)
    verdict.check("content is a preview", parts is not None, text)
    if parts is None:
        return None
    verdict.facts["preview"] = text
    verdict.equal("the preview names the tool", parts["tool"], "read_text_file")
    verdict.check("the preview is short", len(text.encode()) < PREVIEW_BYTES_MAX, len(text))
    verdict.equal("structuredContent is the same", result.structured_content, {"spillgate": text})
    verdict.check("no error flag", not result.is_error, result.is_error)
    return parts["handle"]


async def look_up(session: ClientSession, handle: str, file: Sample, verdict: Verdict) -> None:
    """Finds the needle and the pages around it with our two tools."""
    found = text_of(
        await session.call_tool("spillgate_grep", {"handle": handle, "pattern": r"NEEDLE-\w+"})
    )
    verdict.check("grep finds the needle", file.needle in found, found)
    verdict.check("grep tells its line", str(file.needle_line) in found, found)
    around = {"handle": handle, "start": file.needle_line - 3, "lines": 7}
    page = text_of(await session.call_tool("spillgate_read", around))
    verdict.check("read gives that line", file.needle in page, page)
    tail = {"handle": handle, "tail": True, "lines": 5}
    page = text_of(await session.call_tool("spillgate_read", tail))
    verdict.check("read gives the tail", all(line in page for line in file.lines[-3:]), page)
    # Models send numbers as strings, and zero for "no limit".
    odd = {"handle": handle, "start": str(file.needle_line), "lines": "3", "max_tokens": 0}
    page = text_of(await session.call_tool("spillgate_read", odd))
    verdict.check("read takes what models send", file.needle in page, page)
    await follow_pages(session, handle, file, verdict)
    missing = {"handle": "session-0/0", "start": 1}
    result = await session.call_tool("spillgate_read", missing)
    verdict.check("an unknown handle is a tool error", result.is_error, text_of(result))


async def follow_pages(session: ClientSession, handle: str, file: Sample, verdict: Verdict) -> None:
    """Follows `next:` from the first line on: no line is missing or repeated."""
    # The budget must end the page: a page with all requested lines has no `next:`.
    arguments: dict[str, Any] = {"handle": handle, "start": 1, "max_tokens": 1500}
    read: list[str] = []
    for _ in range(4):
        page = text_of(await session.call_tool("spillgate_read", arguments))
        numbers = [line[:6] for line in re.findall(r"\b\d{6} GET /items/\d{6} 200.*", page)]
        read += numbers
        following = re.search(r"^next: .*", page, re.MULTILINE)
        start = following and re.search(r"\bstart\W+(\d+)", following.group())
        if not start:
            break
        arguments["start"] = int(start.group(1))
    wanted = [line[:6] for line in file.lines[: len(read)]]
    verdict.check("pages give a next", len(read) >= 100, (len(read), page))
    verdict.equal("pages join without gap or repeat", read, wanted)


def cat(setup: Setup, handle: str, file: Sample, verdict: Verdict) -> None:
    """The command line prints what the server sent, after the gateway has ended."""
    command = [setup.gateway or "", "cat", handle, "--store", str(setup.store)]
    raw = subprocess.run([*command, "--raw"], capture_output=True, check=False)
    verdict.equal("cat --raw succeeds", (raw.returncode, raw.stderr), (0, b""))
    result = json.loads(raw.stdout or b"{}")
    content = result.get("content") or [{}]
    verdict.check("raw content is the file", content[0].get("text") == file.text)
    structured = result.get("structuredContent") or {}
    verdict.check("raw structuredContent is the file", structured.get("content") == file.text)
    view = subprocess.run(command, capture_output=True, check=False)
    verdict.check("the view holds the needle", file.needle.encode() in view.stdout, view.stderr)


async def both_generations(
    setup: Setup, server: StdioServerParameters, file: Sample, verdict: Verdict
) -> None:
    """The newer client, which first asks `server/discover`, gets the same."""
    async with Client(server) as client:
        result = await client.call_tool("read_text_file", {"path": str(file.path)})
        text = text_of(result)
        wanted = text == file.text if setup.gateway is None else bool(common.preview(text))
        verdict.check("the discovering client is served too", wanted, text)


common.run(scenario)
