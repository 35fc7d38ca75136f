"""Which tensors a program must compute for the outputs wanted, and when each is read last."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from generator.formula import ir

__all__ = ["assigns", "last_reads", "loads", "needed"]


def assigns(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Assign]:
    """Every assignment, those inside loops included, in the order of the text."""
    for s in body:
        if isinstance(s, ir.For):
            yield from assigns(s.body)
        else:
            yield s


def loads(node: object) -> Iterator[ir.Load]:
    """Every load below a node, those inside indices included."""
    if isinstance(node, ir.Load):
        yield node
    if isinstance(node, tuple):
        for part in node:
            yield from loads(part)
    elif is_dataclass(node) and not isinstance(node, type) and type(node).__module__ == ir.__name__:
        for f in fields(node):
            yield from loads(getattr(node, f.name))


def needed(program: ir.Program, present: set[str]) -> set[str]:
    """The tensors on which a present output depends."""
    out = {t.name for t in program.outputs if t.name in present}
    reads: dict[str, set[str]] = {}
    for a in assigns(program.body):
        reads.setdefault(a.tensor, set()).update(x.tensor for x in loads(a.value))
    waiting = list(out)
    while waiting:
        for name in reads.get(waiting.pop(), set()) - out:
            out.add(name)
            waiting.append(name)
    return out


def last_reads(program: ir.Program) -> dict[int, set[str]]:
    """For each top-level statement, the tensors that no later one mentions."""
    last: dict[str, int] = {}
    for position, s in enumerate(program.body):
        for a in assigns((s,)):
            for name in (a.tensor, *(x.tensor for x in loads(a.value))):
                last[name] = position
    out: dict[int, set[str]] = {}
    for name, position in last.items():
        out.setdefault(position, set()).add(name)
    return out
