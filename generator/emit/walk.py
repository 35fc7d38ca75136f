"""Walks over KernelPlan statements: names read, names declared, and what nobody reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass, replace

from generator.plan import tree
from generator.spec.integer import IntExpr

__all__ = ["locals_of", "reads", "used_names", "visit", "without_unused"]

Nodes = Iterable[tree.Node]


def reads(value: object) -> Iterator[str]:
    """Every integer symbol and local tensor name that ``value`` (a node, an argument, a tuple of them) mentions, in order."""
    if isinstance(value, IntExpr):
        yield from sorted(value.free())
    elif isinstance(value, tree.Local):
        yield value.name
        yield from reads(value.offset)
    elif isinstance(value, tree.FloatField):
        return
    elif isinstance(value, tree.Call):
        yield from reads(value.args)
    elif isinstance(value, tuple):
        for v in value:
            yield from reads(v)
    elif is_dataclass(value):
        if isinstance(value, tree.EnQue | tree.Free | tree.DeQue | tree.Set):
            yield value.name
        for f in fields(value):
            yield from reads(getattr(value, f.name))


def visit(value: object, see: Callable[[object], None]) -> None:
    """Show ``see`` every node, argument and string in ``value``, in order; of a call its arguments and its template alone."""
    if isinstance(value, tuple):
        for v in value:
            visit(v, see)
    elif isinstance(value, tree.Call):
        visit(value.args, see)
        visit(value.template, see)
    elif not isinstance(value, IntExpr):
        see(value)
        for f in getattr(value, "__dataclass_fields__", ()):
            visit(getattr(value, f), see)


def _declared(node: tree.Node) -> str | None:
    if isinstance(node, tree.Let | tree.Var | tree.GetValue | tree.Alloc | tree.Get | tree.DeQue):
        return node.name
    return node.var if isinstance(node, tree.Loop) else None


def locals_of(nodes: Nodes) -> frozenset[str]:
    """Names declared directly among ``nodes`` (not inside nested scopes)."""
    return frozenset(n.name for n in nodes if isinstance(n, tree.Let | tree.Var | tree.GetValue | tree.Alloc | tree.Get | tree.DeQue))


def used_names(nodes: Nodes) -> list[str]:
    """Names mentioned in ``nodes``, each once, in order of first mention. A name both declared inside and known outside
    counts as mentioned (a DeQue that assigns)."""
    return list(dict.fromkeys(reads(tuple(nodes))))


def without_unused(nodes: tuple[tree.Node, ...]) -> tuple[tree.Node, ...]:
    """The same statements without the constants and buffer views that nothing reads."""
    while True:
        mentioned = set(reads(nodes))
        slim = _strip(nodes, mentioned)
        if slim == nodes:
            return nodes
        nodes = slim


def _strip(nodes: tuple[tree.Node, ...], mentioned: set[str]) -> tuple[tree.Node, ...]:
    out: list[tree.Node] = []
    for n in nodes:
        if isinstance(n, tree.Let | tree.Get) and n.name not in mentioned:
            continue
        if isinstance(n, tree.Loop | tree.Block):
            n = replace(n, body=_strip(n.body, mentioned))
        elif isinstance(n, tree.If):
            n = replace(n, then=_strip(n.then, mentioned), orelse=_strip(n.orelse, mentioned))
        out.append(n)
    return tuple(out)
