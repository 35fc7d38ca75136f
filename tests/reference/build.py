"""Programs for tests of the reference, resolved from formula text by declarations so simple that they cannot be wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from generator.formula import ir
from generator.formula.parse import parse
from generator.spec.integer import IntExpr
from generator.spec.sizes import parse_size


def program(
    text: str,
    axes: Mapping[str, str],
    *,
    attrs: tuple[str, ...] = (),
    ints: tuple[str, ...] = (),
    outside: Mapping[str, float] | None = None,
    kinds: Mapping[str, ir.Kind] | None = None,
    flat: Mapping[str, ir.FlatLayout] | None = None,
    optional: tuple[str, ...] = (),
    fill: Mapping[str, float] | None = None,
    **tensors: str,
) -> ir.Program:
    """``tensors`` gives each tensor's role and shape, as in ``x="in T,n"``; ``axes`` gives every axis its extent."""
    known = {name: parse_size(extent) for name, extent in axes.items()}
    declared = {}
    for name, declaration in tensors.items():
        role, _, shape = declaration.partition(" ")
        layout = (flat or {}).get(name)
        extents = layout.extents if layout else tuple(parse_size(s) for s in shape.split(",") if s)
        declared[name] = ir.Tensor(
            name,
            extents,
            {"in": "input", "out": "output", "local": "local"}[role],  # type: ignore[arg-type]
            (kinds or {}).get(name, "float"),
            optional=name in optional,
            flat=layout,
            fill=(fill or {}).get(name),
        )
    body = tuple(_statement(s, known, outside or {}, frozenset(ints)) for s in parse(text))
    symbols = set().union(*(e.free() for t in declared.values() for e in t.shape), *(e.free() for e in known.values()))
    return ir.Program(body, declared, tuple(sorted(symbols - set(ints))), ints, attrs)


def layout(axes: Mapping[str, str], order: str, size: str) -> ir.FlatLayout:
    return ir.FlatLayout(tuple(axes), tuple(parse_size(e) for e in axes.values()), tuple(order), parse_size(size))


def _statement(s: ir.Stmt, axes: Mapping[str, IntExpr], outside: Mapping[str, float], ints: frozenset[str]) -> ir.Stmt:
    if isinstance(s, ir.For):
        rest = {k: v for k, v in axes.items() if k != s.var}
        return replace(s, body=tuple(_statement(b, rest, outside, ints) for b in s.body))
    names = dict.fromkeys(n for i in s.indices if isinstance(i, IntExpr) for n in sorted(i.free()) if n in axes)
    return replace(s, value=_expr(s.value, axes, outside, ints), axes=tuple(ir.Bound(n, axes[n]) for n in names))


def _expr(e: Any, axes: Mapping[str, IntExpr], outside: Mapping[str, float], ints: frozenset[str]) -> Any:
    def go(x: Any) -> Any:
        return _expr(x, axes, outside, ints)

    match e:
        case ir.Attr(name):
            return ir.IntVal(parse_size(name)) if name in axes or name in ints else e
        case ir.Load(tensor, indices):
            inner = tuple(ir.Gather(go(i.load)) if isinstance(i, ir.Gather) else i for i in indices)
            guarded = tuple(range(len(inner))) if tensor in outside else ()
            return replace(e, indices=inner, guarded=guarded, outside=outside.get(tensor))
        case ir.Neg(x) | ir.Not(x) | ir.Cast(_, x):
            return replace(e, x=go(x))
        case ir.Binary(_, a, b) | ir.Compare(_, a, b) | ir.Logic(_, a, b):
            return replace(e, a=go(a), b=go(b))
        case ir.Where(cond, a, b):
            return replace(e, cond=go(cond), a=go(a), b=go(b))
        case ir.Call(_, args):
            return replace(e, args=tuple(go(a) for a in args))
        case ir.Reduce(_, bound, body, divisor):
            return replace(
                e,
                axes=tuple(ir.Bound(b.name, b.extent or axes[b.name]) for b in bound),
                body=go(body),
                divisor=None if divisor is None else go(divisor),
            )
    return e
