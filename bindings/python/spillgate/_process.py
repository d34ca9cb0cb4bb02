"""Runs the program `spillgate`: one process for each request, which takes a few milliseconds.

`Transport` is all that the rest of the library knows about the program.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ._errors import ProgramNotFound, SpillgateError

# The variable that names the program.
PROGRAM = "SPILLGATE_BIN"

# The variable that passes a call's arguments on. Unlike an argument, other users cannot read it.
ARGUMENTS = "SPILLGATE_CALL_ARGUMENTS"

# Maximum bytes of a call's arguments. A system passes on at most 128 KiB in a variable.
LARGEST_ARGUMENTS = 64 << 10

INSTALL = f"the wheels of `pip install spillgate` contain it; otherwise run `cargo install spillgate` or set {PROGRAM}"


class Transport(Protocol):
    """What the library asks of Spillgate. Each method raises `SpillgateError`."""

    def put(self, content: bytes, tool: str, arguments: str | None, failed: bool) -> dict[str, Any]:
        """Stores an output if it is too large; the result is that of `spillgate put --json`."""

    def look(self, command: str, words: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
        """Looks into an output with one of the commands; the words are its arguments."""

    def raw(self, handle: str) -> bytes:
        """All bytes of an output, as they came in."""

    def definitions(self) -> list[dict[str, Any]]:
        """The definitions of the look-up tools, as in MCP's `tools/list`."""

    def call(self, tool: str, arguments: str, session: Sequence[str]) -> str:
        """Calls a look-up tool; an error is a text, too. `session` lists handles to search."""


def find_program() -> str:
    """The path of the program: `SPILLGATE_BIN`, the one of this package, or one on the search path."""
    named = os.environ.get(PROGRAM)
    if named:
        found = shutil.which(named)
        if found is None:
            raise ProgramNotFound(f"{PROGRAM} is {named!r}, which is no program", hint=INSTALL)
        return found
    for place in _own_places():
        found = shutil.which("spillgate", path=place)
        if found is not None:
            return found
    found = shutil.which("spillgate")
    if found is None:
        raise ProgramNotFound("the program `spillgate` was not found", hint=INSTALL)
    return found


def _own_places() -> list[str]:
    """Where an installer may have put the program of this package's wheel."""
    # `pip install --target`
    places = [str(Path(__file__).parent.parent / "bin")]
    places.append(sysconfig.get_path("scripts"))
    # `pip install --user`
    places.append(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    return places


class Process:
    """Answers requests with a process each. `timeout` is in seconds."""

    def __init__(
        self,
        *,
        program: str | os.PathLike[str] | None,
        common: Mapping[str, object],
        limits: Mapping[str, object],
        timeout: float,
    ) -> None:
        self._program = os.fspath(program) if program is not None else None
        self._common = [flag for name, value in common.items() for flag in _flags(name, value)]
        self._limits = limits
        self._timeout = timeout

    def put(self, content: bytes, tool: str, arguments: str | None, failed: bool) -> dict[str, Any]:
        limits = [flag for name, value in self._limits.items() for flag in _flags(name, value)]
        words = ["put", "--json", "--if-large", "--lookups", f"--tool={tool}", *limits]
        more = {}
        told = (arguments or "").encode(errors="replace")
        # A variable that cannot be passed on would keep the process from starting.
        if arguments is not None and b"\0" not in told and len(told) <= LARGEST_ARGUMENTS:
            words.append(f"--arguments-env={ARGUMENTS}")
            more[ARGUMENTS] = told.decode()
        if failed:
            words.append("--failed")
        return self._json(words, content, more, needs="handle")

    def look(self, command: str, words: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
        flags = [flag for name, value in options.items() for flag in _flags(name, value)]
        return self._json([command, "--json", *flags, "--", *words])

    def raw(self, handle: str) -> bytes:
        done = self.run(["cat", "--raw", "--", handle])
        if done.returncode != 0:
            raise _told(done)
        return done.stdout

    def definitions(self) -> list[dict[str, Any]]:
        done = self.run(["tools", "--lookups", "--list", "--json"])
        if done.returncode != 0:
            raise _error_of(done)
        try:
            return [_checked(json.loads(line), "inputSchema") for line in done.stdout.splitlines()]
        except ValueError as error:
            raise SpillgateError("the program does not list its tools") from error

    def call(self, tool: str, arguments: str, session: Sequence[str]) -> str:
        words = ["tools", "--lookups", "--json", f"--call={tool}", "-"]
        if session:
            words.append(f"--session={','.join(session)}")
        return str(self._json(words, arguments.encode(errors="replace"), needs="text")["text"])

    def limits_env(self) -> dict[str, str]:
        """The limits as variables, for commands without options for them."""
        limits = self._limits.items()
        return {f"SPILLGATE_{name.upper()}": str(value) for name, value in limits if value is not None}

    def command(self, words: Sequence[str]) -> list[str]:
        """A command of the program."""
        return [self._program or find_program(), *self._common, *words]

    def run(
        self, words: Sequence[str], stdin: bytes = b"", more: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Runs one command to its end."""
        command = self.command(words)
        try:
            return subprocess.run(
                command,
                input=stdin,
                capture_output=True,
                timeout=self._timeout,
                env={**os.environ, **(more or {})},
                check=False,
            )
        except FileNotFoundError as error:
            raise ProgramNotFound(f"{command[0]}: no such program", hint=INSTALL) from error
        except subprocess.TimeoutExpired as error:
            raise SpillgateError(f"`spillgate {words[0]}` took longer than {self._timeout} s") from error
        except (OSError, ValueError) as error:
            raise SpillgateError(f"`spillgate {words[0]}` cannot run: {error}") from error

    def _json(
        self,
        words: Sequence[str],
        stdin: bytes = b"",
        more: Mapping[str, str] | None = None,
        needs: str | None = None,
    ) -> dict[str, Any]:
        done = self.run(words, stdin, more)
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            raise _told(done) from None
        # An output that could not be stored is an answer with an error.
        if not isinstance(answer, dict) or ("error" in answer and "text" not in answer):
            raise _error_of(done)
        return _checked(answer, needs)


def _checked(answer: Any, needs: str | None) -> dict[str, Any]:
    """The answer, if it is an object with this member: another version may print something else."""
    if not isinstance(answer, dict) or (needs is not None and needs not in answer):
        raise SpillgateError(f"the program's answer has no `{needs}`: it has another version")
    return answer


def _flags(name: str, value: Any) -> list[str]:
    """An option of a method as an option of the command."""
    flag = f"--{name.replace('_', '-')}"
    if value is None or value is False:
        return []
    return [flag] if value is True else [f"{flag}={value}"]


def _error_of(done: subprocess.CompletedProcess[bytes]) -> SpillgateError:
    """The error that the program printed as JSON."""
    try:
        error = json.loads(done.stdout)["error"]
        kind, fault, hint = (str(error.get(name) or "") for name in ("kind", "fault", "hint"))
        return SpillgateError(str(error["message"]), kind=kind, fault=fault, hint=hint)
    except (ValueError, KeyError, TypeError, AttributeError):
        return _told(done)


def _told(done: subprocess.CompletedProcess[bytes]) -> SpillgateError:
    """The error that the program printed as text."""
    text = done.stderr.decode(errors="replace").strip().removeprefix("error: ")
    return SpillgateError(text or f"`spillgate` ended with code {done.returncode}")
