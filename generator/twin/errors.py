"""Errors of the twin, written for the person who must act."""

from __future__ import annotations


class TwinError(Exception):
    """The twin could not build or run something: no compiler, a source that does not compile, wrong arguments.

    ``detail`` holds the compiler's own output, when there is some.
    """

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail
