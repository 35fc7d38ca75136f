"""Degrees of the rational functions that a program computes, for the bound on a false pass at a random point."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["Degrees"]

Degree = tuple[int, int]  # of numerator and denominator, in inputs and in values of functions


class Degrees:
    """An arithmetic (see ``machine``) whose numbers are degrees: of a sum the common denominator's, and so on."""

    name = "degrees"
    pi: Degree = (0, 0)

    def const(self, value: int | Fraction) -> Degree:
        return (0, 0)

    def point(self, value: object) -> Degree:
        return (1, 0)

    def infinite(self, sign: int) -> Degree:
        return (0, 0)

    def known(self, x: Degree) -> float:
        return 1.0

    def total(self, x: Degree) -> int:
        """Numerator and denominator together; the derivative's is at most twice that."""
        return 2 * (x[0] + x[1])

    def add(self, a: Degree, b: Degree) -> Degree:
        if a[1] == 0 or b[1] == 0:
            low = max(a[1], b[1])
            return max(a[0] + low - a[1], b[0] + low - b[1]), low
        return max(a[0] + b[1], b[0] + a[1]), a[1] + b[1]

    sub = add
    larger = add

    def neg(self, a: Degree) -> Degree:
        return a

    def mul(self, a: Degree, b: Degree) -> Degree:
        return a[0] + b[0], a[1] + b[1]

    def div(self, a: Degree, b: Degree) -> Degree:
        return a[0] + b[1], a[1] + b[0]

    def power(self, a: Degree, n: int) -> Degree:
        return (n * a[0], n * a[1]) if n >= 0 else (-n * a[1], -n * a[0])

    def pow(self, a: Degree, b: Degree) -> Degree:
        return a[0] + 1, a[1] + 1

    def less(self, a: Degree, b: Degree) -> bool:
        return False

    def equal(self, a: Degree, b: Degree) -> bool:
        return False

    def call(self, fn: str, args: list[Degree]) -> Degree:
        return max(x[0] for x in args) + 1, max(x[1] for x in args) + 1
