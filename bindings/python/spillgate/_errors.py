"""The errors of the library."""

from __future__ import annotations


class SpillgateError(Exception):
    """An error of Spillgate.

    `kind` is a short name such as `not_found`, `fault` is who caused the error (`caller`,
    `upstream` or `us`), and `hint` says what to do.
    """

    def __init__(self, message: str, *, kind: str = "failed", fault: str = "us", hint: str = "") -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.kind = kind
        self.fault = fault
        self.hint = hint


class ProgramNotFound(SpillgateError):
    """The program `spillgate` is not installed."""
