"""Barriers between dependent vector instructions: where one needs another's result, and nowhere else.

Input: a tree without V barriers whose calls say what they read and write. Output: the same tree with
``Barrier("V")`` before every instruction that depends (RAW, WAR, WAW) on one issued since the last barrier. Loops
are analysed with the previous iteration's accesses; two accesses are disjoint across iterations when they index
some dim by the same expression and that expression moves with the loop variable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from generator.plan.tree import Access, Alloc, Barrier, Block, Call, DeQue, Get, If, Loop, Node
from generator.spec.integer import IntExpr

__all__ = ["insert_barriers"]


@dataclass(frozen=True, slots=True)
class _Pending:
    """An access since the last barrier; ``moved`` are loop variables that have changed value since."""

    access: Access
    writes: bool
    moved: frozenset[str] = frozenset()


_State = frozenset[_Pending]


def insert_barriers(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The tree with the V barriers it needs on an architecture that does not order the vector pipe itself."""
    done, _ = _block(nodes, frozenset())
    return done


def _disjoint(old: _Pending, new: Access) -> bool:
    a = old.access
    if a.tensor != new.tensor:
        return True
    if a.layout != new.layout or len(a.index) != len(new.index):
        return False
    return any(_differ(x, y, old.moved) for x, y in zip(a.index, new.index, strict=True))


def _differ(x: IntExpr | None, y: IntExpr | None, moved: frozenset[str]) -> bool:
    """True when index ``x`` (taken before ``moved`` variables changed) surely differs from index ``y``."""
    if x is None or y is None:
        return False
    shifting = (x.free() | y.free()) & moved
    if not shifting:
        return (x - y).value not in (None, 0)
    if x != y or len(shifting) != 1:
        return False
    (var,) = shifting
    return x.is_affine_in([var]) and x.coefficient(var).value not in (None, 0)


def _conflicts(state: _State, call: Call) -> bool:
    for p in state:
        if any(not _disjoint(p, w) for w in call.writes):
            return True
        if p.writes and any(not _disjoint(p, r) for r in call.reads):
            return True
    return False


def _after(state: _State, call: Call) -> _State:
    return state | {_Pending(r, False) for r in call.reads} | {_Pending(w, True) for w in call.writes}


def _forget(state: _State, tensor: str) -> _State:
    return frozenset(p for p in state if p.access.tensor != tensor)


def _block(nodes: tuple[Node, ...], state: _State) -> tuple[tuple[Node, ...], _State]:
    out: list[Node] = []
    for n in nodes:
        state = _node(n, state, out)
    return tuple(out), state


def _node(n: Node, state: _State, out: list[Node]) -> _State:
    match n:
        case Call(pipe="V"):
            if _conflicts(state, n):
                out.append(Barrier("V"))
                state = frozenset()
            out.append(n)
            return _after(state, n)
        case Barrier(pipe="V" | "ALL"):
            out.append(n)
            return frozenset()
        case Alloc(name=name) | DeQue(name=name):
            out.append(n)
            return _forget(state, name)
        case Get():
            out.append(n)
            return state
        case Loop():
            return _loop(n, state, out)
        case If():
            return _branch(n, state, out)
        case Block():
            body, state = _block(n.body, state)
            out.append(replace(n, body=body))
            return state
        case _:
            out.append(n)
            return state


def _reaches(nodes: tuple[Node, ...], state: _State) -> tuple[bool, bool]:
    """(some call conflicts with ``state``, a barrier surely ends the reach of ``state``)."""
    for n in nodes:
        if isinstance(n, Barrier):
            return False, True
        if isinstance(n, Alloc | DeQue):
            state = _forget(state, n.name)
        if isinstance(n, Call) and n.pipe == "V" and _conflicts(state, n):
            return True, False
        if isinstance(n, Loop | Block):
            hit, ended = _reaches(n.body, state)
            if hit or (ended and isinstance(n, Block)):
                return hit, ended
        if isinstance(n, If):
            hit, ended = _reaches(n.then, state)
            hit2, ended2 = _reaches(n.orelse, state)
            if hit or hit2:
                return True, False
            if ended and ended2:
                return False, True
    return False, False


def _loop(n: Loop, state: _State, out: list[Node]) -> _State:
    carried: _State = frozenset()
    while True:
        body, after = _block(n.body, carried)
        wrapped = frozenset(replace(p, moved=p.moved | {n.var}) for p in after)
        if wrapped <= carried:
            break
        carried = carried | wrapped
    if _reaches(body, state)[0]:
        out.append(Barrier("V"))
        state = frozenset()
    out.append(replace(n, body=body))
    return state | frozenset(_leave(p, n.var) for p in after)


def _leave(p: _Pending, var: str) -> _Pending:
    """Outside its loop an index that moved with ``var`` may have been anything."""
    index = tuple(None if i is not None and var in i.free() else i for i in p.access.index)
    return replace(p, access=replace(p.access, index=index), moved=p.moved - {var})


def _branch(n: If, state: _State, out: list[Node]) -> _State:
    then, s1 = _block(n.then, state)
    orelse, s2 = _block(n.orelse, state)
    out.append(replace(n, then=then, orelse=orelse))
    return s1 | s2
