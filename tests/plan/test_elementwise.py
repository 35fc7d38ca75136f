"""Repeat strides of broadcast instructions: rows read backwards or far apart are taken one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import pytest

from generator.plan import tree as t
from generator.spec.integer import IntExpr, const
from tests.plan.test_schedule import alternatives


def repeats(value: object, inside: tuple[t.Cond, ...] = ()) -> Iterator[tuple[t.Struct, tuple[t.Cond, ...]]]:
    """Every BinaryRepeatParams with the conditions it stands under."""
    if isinstance(value, t.If):
        yield from repeats(value.then, (*inside, *value.conds))
        yield from repeats(value.orelse, inside)
    elif isinstance(value, t.Struct):
        if value.type == "BinaryRepeatParams":
            yield value, inside
    elif isinstance(value, tuple):
        for v in value:
            yield from repeats(v, inside)
    elif is_dataclass(value):
        for f in fields(value):
            yield from repeats(getattr(value, f.name), inside)


@pytest.mark.parametrize("index", ["B - 1 - c", "c"])
def test_no_instruction_steps_backwards_and_long_steps_are_checked(index: str) -> None:
    made = alternatives(
        {"x": ("in", "A, B"), "w": ("in", "n"), "y": ("out", "A, n")},
        f"""
s[b, c, a] = minimum(x[a, c], w[b])
u[a, b, c: B] = sqrt(w[b]) + s[b, {index}, a]
v[b, c] = sum[a](s[b, B - 1 - c, a] * u[a, n - 1 - b, c])
y[a, b] = sum[c](v[n - 1 - b, c]) + w[b]
""",
    )
    found = [r for a in made.values() for s in a.stages for r in repeats(s.body)]
    assert found
    for params, under in found:
        for stride, _ in params.fields:
            assert isinstance(stride, IntExpr)
            assert stride.evaluate(dict.fromkeys(stride.free(), 64)) >= 0, stride
            if stride.value is None:
                assert any(c.op == "<=" and c.b == const(255 * 8) for c in under)
