"""`Spillgate`: stores outputs that are too large, and looks into them."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

from ._errors import SpillgateError
from ._pages import Matches, Outline, Page, Passages, Results
from ._process import Process, Transport

log = logging.getLogger("spillgate")

Content = TypeVar("Content", str, bytes)
Part = TypeVar("Part")

# All look-up tools that the program can list. Which of them it lists depends on the configuration.
LOOK_UP_TOOLS = frozenset(
    [
        "spillgate_read",
        "spillgate_grep",
        "spillgate_query",
        "spillgate_search",
        "get_continuation",
        "tool_output",
    ]
)

# Maximum number of outputs that a search without a handle searches.
SEARCHED = 40


@dataclass(frozen=True)
class Put:
    """What became of an output.

    `text` is what a model should see: None if the output fits, otherwise a message. `handle` names
    the stored output; None if it fits or was not stored. `reason` says why it does not pass
    (docs/command-line.md lists the reasons), and `error` why it was not stored.
    """

    text: str | None
    handle: str | None
    reason: str | None
    sha256: str | None
    bytes: int | None
    tokens: int | None
    error: str | None

    @property
    def fits(self) -> bool:
        """Whether the output passes unchanged."""
        return self.text is None


@dataclass(frozen=True)
class Tool:
    """A look-up tool for a model. `input_schema` is a JSON schema of the arguments."""

    name: str
    description: str
    input_schema: dict[str, Any]
    call: Callable[[dict[str, Any]], str]

    async def acall(self, arguments: dict[str, Any]) -> str:
        """Like `call`, without blocking the event loop."""
        return await asyncio.to_thread(self.call, arguments)


class Spillgate:
    """Stores outputs that are too large for a model, and looks into them.

    `store` is a directory, `config` a configuration file; without them the program uses its own
    defaults. `max_tokens`, `max_bytes` and `profile` override the rules of the configuration.
    The outputs of the tools in `exclude` always pass unchanged. `on_error` says what `offload` and
    the agents' modules do with an error of Spillgate: `"warn"` logs a warning, the first time, and
    lets the output pass; `"raise"` raises it. `program` is the path of the program, `timeout` the
    seconds that a request may take.

    An object stands for one session: a search without a handle searches what it has stored. It may
    be used by several threads. The methods whose names begin with `a` are for `asyncio`.
    """

    def __init__(
        self,
        *,
        store: str | os.PathLike[str] | None = None,
        config: str | os.PathLike[str] | None = None,
        max_tokens: int | None = None,
        max_bytes: int | None = None,
        profile: str | None = None,
        exclude: Collection[str] = (),
        on_error: Literal["warn", "raise"] = "warn",
        program: str | os.PathLike[str] | None = None,
        timeout: float = 60.0,
    ) -> None:
        if on_error not in ("warn", "raise"):
            raise ValueError(f"on_error must be 'warn' or 'raise', not {on_error!r}")
        self.process = Process(
            program=program,
            common=dict(
                store=os.fspath(store) if store is not None else None,
                config=os.fspath(config) if config is not None else None,
            ),
            limits=dict(max_tokens=max_tokens, max_bytes=max_bytes, profile=profile),
            timeout=timeout,
        )
        self._transport: Transport = self.process
        self._exclude = frozenset([exclude] if isinstance(exclude, str) else exclude)
        self._on_error = on_error
        self._session: deque[str] = deque(maxlen=SEARCHED)
        self._tools: list[Tool] | None = None
        self._has_warned = False

    def put(
        self, content: str | bytes, *, tool: str = "tool", arguments: Any = None, failed: bool = False
    ) -> Put:
        """Stores an output if it is too large. Raises `SpillgateError` if that is not possible.

        `tool` names the tool that made the output, in messages and for the rules of the
        configuration. `arguments` are those of its call, and `failed` says that the output is the
        error of a call.
        """
        raw = content if isinstance(content, bytes) else content.encode(errors="surrogatepass")
        call = arguments if arguments is None or isinstance(arguments, str) else _json(arguments)
        found = self._transport.put(raw, tool, call, failed)
        handle, reason, error = found["handle"], found.get("reason"), found.get("error")
        if handle is not None:
            self._session.append(handle)
        return Put(
            text=found["text"] if handle is not None or error is not None else None,
            handle=handle,
            reason=reason,
            sha256=found.get("sha256"),
            bytes=found.get("bytes"),
            tokens=found.get("tokens"),
            error=error and str(error.get("message")),
        )

    async def aput(
        self, content: str | bytes, *, tool: str = "tool", arguments: Any = None, failed: bool = False
    ) -> Put:
        """Like `put`, without blocking the event loop."""
        return await asyncio.to_thread(self.put, content, tool=tool, arguments=arguments, failed=failed)

    def offload(
        self, content: Content, *, tool: str = "tool", arguments: Any = None, failed: bool = False
    ) -> Content | str:
        """What a model should see of an output: the output itself, or a preview.

        Output that fits is returned unchanged. An error of Spillgate is treated as `on_error` says.
        """
        if not self.covers(tool):
            return content
        try:
            found = self.put(content, tool=tool, arguments=arguments, failed=failed)
            # An output whose secrets keep it from being stored must not be shown either.
            if found.error is not None and found.reason != "secrets":
                raise SpillgateError(f"the output was not stored: {found.error}", kind="store")
        except SpillgateError as error:
            self.report(error)
            return content
        return content if found.text is None else found.text

    async def aoffload(
        self, content: Content, *, tool: str = "tool", arguments: Any = None, failed: bool = False
    ) -> Content | str:
        """Like `offload`, without blocking the event loop."""
        return await asyncio.to_thread(
            self.offload, content, tool=tool, arguments=arguments, failed=failed
        )

    def offload_parts(
        self,
        parts: Sequence[Part],
        text_of: Callable[[Part], str | None],
        to_part: Callable[[str], Part],
        *,
        tool: str,
        arguments: Any = None,
        failed: bool = False,
    ) -> Sequence[Part]:
        """Offloads the texts among the parts of an output, joined with line ends.

        If they do not fit, one part with the preview takes their place, before all other parts.
        """
        texts = [text for text in map(text_of, parts) if text is not None]
        if not texts:
            return parts
        whole = "\n".join(texts)
        shown = self.offload(whole, tool=tool, arguments=arguments, failed=failed)
        if shown == whole:
            return parts
        return [to_part(shown), *(part for part in parts if text_of(part) is None)]

    def covers(self, tool: str) -> bool:
        """Whether outputs of a tool are offloaded at all; those of the look-up tools never are."""
        is_ours = tool.rsplit("__", 1)[-1] in LOOK_UP_TOOLS
        return not is_ours and tool not in self._exclude

    def report(self, error: SpillgateError) -> None:
        """Raises an error of Spillgate, or logs it, as `on_error` says."""
        if self._on_error == "raise":
            raise error
        level = logging.DEBUG if self._has_warned else logging.WARNING
        self._has_warned = True
        log.log(level, "spillgate: a tool's output passes unchanged: %s", error)

    def tools(self) -> list[Tool]:
        """The look-up tools, with the texts of the gateway's tools.

        Which tools there are depends on the configuration. The list is empty after an error that
        was only logged.
        """
        if self._tools is None:
            try:
                self._tools = [self._tool(found) for found in self._transport.definitions()]
            except SpillgateError as error:
                self.report(error)
                return []
        return self._tools

    def _tool(self, found: dict[str, Any]) -> Tool:
        name = str(found["name"])

        def call(arguments: dict[str, Any]) -> str:
            try:
                return self._transport.call(name, _json(arguments), list(self._session))
            except SpillgateError as error:
                if self._on_error == "raise":
                    raise
                return f"error: {error}"

        return Tool(name, str(found["description"]), cast(dict[str, Any], found["inputSchema"]), call)

    def artifact(self, handle: str) -> Artifact:
        """A stored output, by its handle or by `last`."""
        return Artifact(handle, self._transport)


@dataclass(frozen=True)
class Artifact:
    """A stored output. The methods raise `SpillgateError`, for example for an unknown handle."""

    handle: str
    _transport: Transport

    def read(
        self,
        *,
        start: int | None = None,
        lines: int | None = None,
        tail: bool = False,
        bytes: str | None = None,
        path: str | None = None,
        max_tokens: int | None = None,
    ) -> Page:
        """Lines of the readable text, or its bytes `"A..B"`; `path` reads a string of a JSON document."""
        options = dict(
            start=start, lines=lines, tail=tail, bytes=bytes, path=path, max_tokens=max_tokens
        )
        return cast(Page, self._transport.look("read", [self.handle], options))

    def grep(
        self,
        pattern: str,
        *,
        before: int = 0,
        after: int = 0,
        ignore_case: bool = False,
        start: int | None = None,
        max_matches: int | None = None,
        path: str | None = None,
        max_tokens: int | None = None,
    ) -> Matches:
        """The lines that match a regular expression (Rust's syntax), from line `start` on."""
        options = dict(
            before_context=before,
            after_context=after,
            ignore_case=ignore_case,
            start=start,
            max_matches=max_matches,
            path=path,
            max_tokens=max_tokens,
        )
        return cast(Matches, self._transport.look("grep", [self.handle, pattern], options))

    def query(
        self,
        filter: str,
        *,
        raw_output: bool = False,
        slurp: bool = False,
        start: int | None = None,
        byte: int | None = None,
        max_tokens: int | None = None,
    ) -> Results:
        """The results of a jq filter over JSON, JSON lines, a table or lines of text."""
        options = dict(
            raw_output=raw_output, slurp=slurp, start=start, byte=byte, max_tokens=max_tokens
        )
        return cast(Results, self._transport.look("query", [self.handle, filter], options))

    def search(self, words: str, *, max_tokens: int | None = None) -> Passages:
        """The passages that best match words or a question."""
        options = dict(max_tokens=max_tokens)
        return cast(Passages, self._transport.look("search", [self.handle, words], options))

    def outline(self, *, max_tokens: int | None = None) -> Outline:
        """The shape of the content."""
        return cast(Outline, self._transport.look("outline", [self.handle], dict(max_tokens=max_tokens)))

    def raw(self) -> bytes:
        """All bytes, as they came in."""
        return self._transport.raw(self.handle)

    async def aread(self, **options: Any) -> Page:
        """Like `read`, without blocking the event loop."""
        return await asyncio.to_thread(self.read, **options)

    async def agrep(self, pattern: str, **options: Any) -> Matches:
        """Like `grep`, without blocking the event loop."""
        return await asyncio.to_thread(self.grep, pattern, **options)

    async def aquery(self, filter: str, **options: Any) -> Results:
        """Like `query`, without blocking the event loop."""
        return await asyncio.to_thread(self.query, filter, **options)

    async def asearch(self, words: str, **options: Any) -> Passages:
        """Like `search`, without blocking the event loop."""
        return await asyncio.to_thread(self.search, words, **options)

    async def aoutline(self, **options: Any) -> Outline:
        """Like `outline`, without blocking the event loop."""
        return await asyncio.to_thread(self.outline, **options)

    async def araw(self) -> bytes:
        """Like `raw`, without blocking the event loop."""
        return await asyncio.to_thread(self.raw)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
