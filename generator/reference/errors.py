"""What can go wrong when a formula is evaluated, as typed errors that say where and which value."""

from __future__ import annotations

from generator.formula.ir import Span

__all__ = ["EvaluationError", "IndexOutOfRangeError", "MissingValueError", "ShapeError", "UnknownNameError", "UnsupportedError"]


class EvaluationError(Exception):
    """Base of all errors of the reference; ``span`` is where the formula stands, when it is known."""

    def __init__(self, what: str, span: Span | None = None) -> None:
        self.span = span
        super().__init__(f"{span.line}:{span.column}: {what}" if span is not None else what)


class MissingValueError(EvaluationError):
    """A dim, an attribute or an input that the formula reads was not given."""


class UnknownNameError(EvaluationError):
    """A name was given, or used, that the program does not have."""


class ShapeError(EvaluationError):
    """An input's shape or kind is not what the program declares."""


class IndexOutOfRangeError(EvaluationError):
    """An unguarded index left its tensor."""


class UnsupportedError(EvaluationError):
    """The program is not one that can be evaluated, such as one with surface nodes left in it."""
