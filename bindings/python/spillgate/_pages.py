"""The results of look-ups, as the program prints them (docs/command-line.md)."""

from __future__ import annotations

from typing import Any, TypedDict


class Page(TypedDict):
    """A part of the readable text. `next` has the arguments of the next page; None at the end."""

    text: str
    lines: list[int]
    total_lines: int
    bytes: str
    next: dict[str, Any] | None


class Match(TypedDict):
    """A line that matches. `byte` is where it begins in the readable text."""

    line: int
    text: str
    byte: int


class Matches(TypedDict):
    """Lines that match; `total` counts those of the whole text."""

    matches: list[Match]
    total: int
    next: dict[str, Any] | None


class Results(TypedDict):
    """Results of a jq filter: `text` has one per line. `total` is None if there are very many."""

    text: str
    results: int
    total: int | None
    next: dict[str, Any] | None
    notes: list[str]
    missing: dict[str, Any] | None


class Passage(TypedDict):
    """A passage that a search found."""

    lines: list[int]
    path: str | None
    text: str
    score: float


class Passages(TypedDict):
    """The best passages; `absent` lists identifiers of the question that occur nowhere."""

    passages: list[Passage]
    total: int
    absent: list[str]
    note: str | None
    tokens: int


class Outline(TypedDict):
    """The shape of the content: a text, and its lines."""

    kind: str
    lines: list[Any]
    text: str
