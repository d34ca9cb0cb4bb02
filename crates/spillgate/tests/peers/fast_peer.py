"""A FastMCP server with a tool for each kind of return type, and FastMCP's client that calls them.

`fast_peer.py serve` serves on standard streams; `fast_peer.py ask COMMAND…` calls every tool of a
server, small and large, and prints the `data` that the client makes of each result. It runs with
FastMCP 3 and 4; the search path selects one.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from collections.abc import Callable
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from pydantic import BaseModel

SMALL, LARGE = 3, 3000


class Row(BaseModel):
    """An element."""

    id: int
    state: str


class Table(BaseModel):
    """A model with a list in it."""

    rows: list[Row]
    total: int


def row(n: int) -> Row:
    """The row of that number."""
    return Row(id=n, state=("ok", "idle", "failed")[n % 3])


def text(n: int) -> str:
    return "\n".join(f"line {i} of the text" for i in range(n))


def number(n: int) -> int:
    return n


def flag(n: int) -> bool:
    return n > SMALL


def numbers(n: int) -> list[int]:
    return list(range(n))


def rows(n: int) -> list[Row]:
    return [row(i) for i in range(n)]


def names(n: int) -> list[str]:
    return [f"name {i}" for i in range(n)]


def table(n: int) -> Table:
    return Table(rows=rows(n), total=n)


def mapping(n: int) -> dict[str, int]:
    return {f"key {i}": i for i in range(n)}


def anything(n: int) -> dict:
    return {"rows": [row(i).model_dump() for i in range(n)]}


def maybe(n: int) -> str | None:
    return text(n)


def nothing(n: int) -> None:
    return None


def untyped(n: int):  # noqa: ANN201
    return {"rows": [row(i).model_dump() for i in range(n)]}


def either(n: int) -> int | list[str]:
    return names(n)


def pair(n: int) -> tuple[int, str]:
    return (n, text(n))


TOOLS: list[Callable[[int], Any]] = [
    text, number, flag, numbers, rows, names, table, mapping, anything, maybe, nothing, untyped, either, pair,
]  # fmt: skip


def plain(data: Any) -> Any:
    """Typed data as JSON; classes made of two schemas are never the same."""
    if isinstance(data, BaseModel):
        return plain(data.model_dump())
    if dataclasses.is_dataclass(data) and not isinstance(data, type):
        return plain(dataclasses.asdict(data))
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    return data


async def ask(command: list[str]) -> dict[str, Any]:
    """The data of every tool, small and large, or what the client raised."""
    transport = StdioTransport(command=command[0], args=command[1:], keep_alive=False)
    told: dict[str, Any] = {}
    async with Client(transport, timeout=60) as client:
        for tool in TOOLS:
            for size in (SMALL, LARGE):
                try:
                    result = await client.call_tool(tool.__name__, {"n": size})
                    said = {"data": plain(result.data)}
                except Exception as error:  # A program would see the same exception.
                    said = {"raised": f"{type(error).__name__}: {error}"}
                told[f"{tool.__name__} {size}"] = said
    return told


def main() -> None:
    """Serves, or calls the tools of a server."""
    if sys.argv[1] == "serve":
        server = FastMCP("types")
        for tool in TOOLS:
            server.tool(tool)
        server.run(show_banner=False)
    else:
        sys.stdout.write(json.dumps(asyncio.run(ask(sys.argv[2:]))) + "\n")


if __name__ == "__main__":
    main()
