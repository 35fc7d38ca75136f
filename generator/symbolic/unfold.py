"""Programs made comparable: what a gradient takes as saved from its forward is computed by the forward's own statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from generator.formula import ir
from generator.spec.integer import IntExpr
from generator.symbolic.model import Claim

__all__ = ["resized", "unfold", "unfolded"]


def unfold(
    claim: Claim,
    derived: ir.Program,
    saved: Mapping[str, str],
    cotangents: Mapping[str, str],
    outputs: tuple[str, str] | None = None,
    *,
    opaque: bool = False,
) -> tuple[ir.Program, ir.Program]:
    """The derived and the claimed gradient as programs of the forward's inputs and the upstream gradients alone.

    ``saved`` and ``cotangents`` are of ``derived``, as in a claim: its inputs' names to the forward tensors they hold, or
    whose gradient they are; of ``outputs`` (of the derived, of the claimed) only what they need is kept. In both results
    the inputs are those of the forward by name and ``cot_<output>``, outputs keep their names, and the forward's other
    tensors are ``fwd_<name>``. When ``opaque``, what is saved stays an input: what is equal then is equal for any values of
    it, so for those of the forward too."""
    return (
        unfolded(claim.forward, derived, saved, cotangents, outputs[0] if outputs else None, opaque=opaque),
        unfolded(claim.forward, claim.gradient, claim.saved, claim.cotangents, outputs[1] if outputs else None, opaque=opaque),
    )


def unfolded(
    forward: ir.Program,
    gradient: ir.Program,
    saved: Mapping[str, str],
    cotangents: Mapping[str, str],
    output: str | None = None,
    *,
    opaque: bool = False,
) -> ir.Program:
    """``gradient`` after those statements of ``forward`` that compute what it reads of it (none when ``opaque``); only what
    ``output`` needs, when it is given."""
    gradient = _sized(forward, gradient, {**saved, **cotangents})
    inputs = {t.name for t in forward.inputs}
    theirs = {n: n if n in inputs else f"fwd_{n}" for n in forward.tensors}
    ours = {}
    for t in gradient.tensors.values():
        if t.role == "input":
            ours[t.name] = f"cot_{cotangents[t.name]}" if t.name in cotangents else theirs.get(saved.get(t.name, t.name), t.name)
        else:
            ours[t.name] = t.name if t.role == "output" else f"own_{t.name}"
    body = tuple(_renamed(s, ours) for s in gradient.body)
    before = tuple(_renamed(s, theirs) for s in forward.body)
    kept = _needed(body if opaque else (*before, *body), {t.name for t in gradient.outputs if output in (None, t.name)})
    tensors: dict[str, ir.Tensor] = {}
    for t in forward.tensors.values():
        role: Any = "input" if t.role == "input" or opaque else "local"
        tensors[theirs[t.name]] = replace(t, name=theirs[t.name], role=role, flat=None)
    for t in gradient.tensors.values():
        new = ours[t.name]
        if new not in tensors:
            tensors[new] = replace(t, name=new, flat=None)
    return ir.Program(
        kept,
        tensors,
        tuple(dict.fromkeys((*gradient.dims, *forward.dims))),
        tuple(dict.fromkeys((*gradient.int_attrs, *forward.int_attrs))),
        tuple(dict.fromkeys((*gradient.float_attrs, *forward.float_attrs))),
        tuple(dict.fromkeys((*gradient.bool_attrs, *forward.bool_attrs))),
    )


def _sized(forward: ir.Program, gradient: ir.Program, held: Mapping[str, str]) -> ir.Program:
    """The gradient's own names of sizes replaced by what the forward's shapes say they are."""
    env: dict[str, IntExpr] = {}
    theirs = {*forward.dims, *forward.int_attrs}
    for t in gradient.inputs:
        other = forward.tensors.get(held.get(t.name, t.name))
        if other is not None and len(other.shape) == len(t.shape):
            for mine, right in zip(t.shape, other.shape, strict=True):
                if mine.symbol is not None and mine.symbol not in theirs:
                    env.setdefault(mine.symbol, right)
    return resized(gradient, env) if env else gradient


def resized(program: ir.Program, env: Mapping[str, IntExpr]) -> ir.Program:
    """A program with dims replaced."""

    def put(x: Any) -> Any:
        return x.substitute(env) if isinstance(x, IntExpr) else x

    tensors = {n: replace(t, shape=tuple(map(put, t.shape)), flat=None) for n, t in program.tensors.items()}
    dims = tuple(d for d in program.dims if d not in env)
    return replace(program, body=_mapped(program.body, put), tensors=tensors, dims=dims)


def _renamed(node: Any, names: Mapping[str, str]) -> Any:
    """A statement with tensors renamed."""
    return _mapped(node, lambda x: replace(x, tensor=names[x.tensor]) if isinstance(x, (ir.Load, ir.Assign)) else x)


def _mapped(node: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(node, IntExpr):
        return change(node)
    if isinstance(node, tuple):
        return tuple(_mapped(x, change) for x in node)
    if is_dataclass(node) and not isinstance(node, type) and type(node).__module__ == ir.__name__:
        new = {f.name: _mapped(getattr(node, f.name), change) for f in fields(node) if f.name not in ("span", "spots")}
        return change(replace(node, **new))
    return node


def _needed(body: Sequence[ir.Stmt], wanted: set[str]) -> tuple[ir.Stmt, ...]:
    """The statements that compute the wanted tensors, in order. A tensor that is read anywhere is wanted everywhere."""
    reads: dict[str, set[str]] = {}
    for s in body:
        _reads(s, reads)
    live = set(wanted)
    work = list(wanted)
    while work:
        for n in reads.get(work.pop(), ()):
            if n not in live:
                live.add(n)
                work.append(n)
    return tuple(x for s in body for x in _kept(s, live))


def _kept(s: ir.Stmt, live: set[str]) -> list[ir.Stmt]:
    if isinstance(s, ir.For):
        inner = tuple(x for b in s.body for x in _kept(b, live))
        return [replace(s, body=inner)] if inner else []
    return [s] if s.tensor in live else []


def _reads(s: ir.Stmt, into: dict[str, set[str]]) -> None:
    if isinstance(s, ir.For):
        for b in s.body:
            _reads(b, into)
        return
    found = into.setdefault(s.tensor, set())

    def note(x: Any) -> Any:
        if isinstance(x, ir.Load):
            found.add(x.tensor)
        return x

    _mapped((s.value, s.indices), note)
