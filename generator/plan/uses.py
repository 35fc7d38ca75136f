"""How the statements of a stage use values: names, loop variables, and what is only ever spread over lanes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from generator.formula.ir import Binary, Call, Expr, Load
from generator.formula.walk import children, loads, symbols, walk
from generator.plan.axes import flat
from generator.plan.normal import NFor, NStmt

__all__ = ["loop_variables", "names_in", "spread_only"]


def loop_variables(body: Iterable[NStmt]) -> set[str]:
    """Of all loops over carried tensors."""
    out: set[str] = set()
    for s in body:
        if isinstance(s, NFor):
            out |= {s.var} | loop_variables(s.body)
    return out


def names_in(body: Iterable[NStmt]) -> set[str]:
    """Tensors that are read or written."""
    return {s.target for s in flat(body)} | {ld.tensor for s in flat(body) for ld in loads(s.value)}


def spread_only(key: Load, values: Iterable[Expr], order: Sequence[str]) -> bool:
    """Every use is with an operand that moves along a later axis of a tile than the load does: its elements are spread one by
    one. ``order``: the axes of tiles."""
    own = [k for k, a in enumerate(order) if a in symbols(key)]

    def alone(e: Expr) -> bool:
        sides = _operands(e)
        for x, other in (sides, sides[::-1]) if sides is not None else ():
            if x == key and not any(k > own[-1] for k, a in enumerate(order) if a in symbols(other)):
                return False
        return sides is not None or key not in children(e)

    users = [v for v in values if key in loads(v)]
    return bool(own) and all(v != key and all(map(alone, walk(v))) for v in users)


def _operands(e: Expr) -> tuple[Expr, Expr] | None:
    """The two sides of an instruction that takes them element by element."""
    match e:
        case Binary(op="add" | "sub" | "mul" | "div", a=a, b=b) | Call(fn="maximum" | "minimum", args=(a, b)):
            return a, b
        case _:
            return None
