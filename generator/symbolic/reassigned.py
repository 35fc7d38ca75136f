"""Names that a text assigns more than once, made names that are assigned once, in the order of the text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from generator.formula.ir import Assign, For, Index, Load, Pack, Product, Stmt
from generator.spec.integer import IntExpr
from generator.symbolic.model import Finding
from generator.symbolic.surface import index_names, renamed, statements

__all__ = ["in_order"]

Body = tuple[Stmt, ...]


def in_order(body: Body, output: str) -> tuple[Body, list[Finding], Body | None]:
    """``body`` with one name for each version of a tensor that is assigned twice outside of loops; what was found; and, when later
    statements read such a name, the other reading in which they mean its first version."""
    said: list[Finding] = []
    other: Body | None = None
    for name in dict.fromkeys(s.tensor for s, _ in statements(body)):
        carried = any(s.tensor == name and loops and not _uses(s, loops) for s, loops in statements(body))
        if carried:
            if name == output:
                body = _stored(body, name)
            continue
        tops = [at for at, s in enumerate(body) if isinstance(s, Assign) and s.tensor == name and _plain(s)]
        if len(tops) < 2 or any(s.tensor == name for s, loops in statements(body) if loops):
            continue
        again = body[tops[1]]
        said.append(Finding(f"'{name}' is assigned {len(tops)} times", again.span, "overloaded name"))
        later = any(name in _reads(s) for s in body[tops[-1] + 1 :])
        new = _versions(body, name, tops)
        if later and other is None and not _continued(body, name, tops):
            first = f"{name}_1"
            cut = tops[-1]
            other = (*new[: cut + 1], *(renamed(s, name, first) for s in new[cut + 1 :]))
        elif other is not None:
            other = _versions(other, name, [at for at, s in enumerate(other) if isinstance(s, Assign) and s.tensor == name])
        body = new
    return body, said, other


def _versions(body: Body, name: str, tops: Sequence[int]) -> Body:
    out: list[Stmt] = []
    version = name if not tops else f"{name}_1"
    for at, stmt in enumerate(body):
        if at not in tops:
            out.append(stmt if at < tops[0] or version == name else renamed(stmt, name, version))
            continue
        k = tops.index(at) + 1
        target = name if k == len(tops) else f"{name}_{k}"
        assert isinstance(stmt, Assign)
        value = stmt.value if k == 1 else renamed(stmt.value, name, version)
        out.append(replace(stmt, tensor=target, value=value))
        version = target
    return tuple(out)


def _stored(body: Body, name: str) -> Body:
    """An output carried by a loop as a tensor of its own, stored at the end."""
    inner = f"{name}_carried"
    last = [s for s, _ in statements(body) if s.tensor == name][-1]

    def retarget(stmts: Sequence[Stmt]) -> Body:
        out: list[Stmt] = []
        for s in stmts:
            if isinstance(s, For):
                out.append(replace(s, body=retarget(s.body)))
            else:
                done = renamed(s, name, inner)
                out.append(replace(done, tensor=inner) if s.tensor == name else done)
        return tuple(out)

    return (*retarget(body), Assign(name, last.indices, Load(inner, last.indices)))


def _continued(body: Body, name: str, tops: Sequence[int]) -> bool:
    """Whether every later value of ``name`` is computed from the one before by way of other tensors: a result built up along the
    text, not a name with two meanings."""
    for first, last in itertools.pairwise(tops):
        needed = _reads(body[last]) - {name}
        for stmt in reversed(body[first + 1 : last]):
            if isinstance(stmt, Assign) and stmt.tensor in needed:
                needed |= _reads(stmt)
        if name not in needed:
            return False
    return True


def _plain(stmt: Assign) -> bool:
    """Whether every index is a name of its own: the whole tensor is written."""
    names = [n for i in stmt.indices for n in index_names(i)]
    return all(map(_whole, stmt.indices)) and len(names) == len(set(names))


def _whole(i: Index) -> bool:
    """An index that runs over a whole dim: an axis, a pack or a product of them, not one segment."""
    if isinstance(i, Product):
        return all(map(_whole, i.parts))
    return isinstance(i, Pack) or (isinstance(i, IntExpr) and i.is_symbol)


def _uses(stmt: Assign, loops: Sequence[str]) -> bool:
    return any(n in loops for i in stmt.indices for n in index_names(i))


def _reads(stmt: Stmt) -> set[str]:
    from generator.symbolic.slices import names_read

    return set(names_read(stmt.value)) if isinstance(stmt, Assign) else {n for s in stmt.body for n in _reads(s)}
