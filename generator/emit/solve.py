"""The host's tile search in Python, for ``explain`` and for tests: the same expressions, the same choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from generator.emit.host import inlined, ledger
from generator.plan import tree
from generator.plan.cost import START
from generator.spec.integer import IntExpr

__all__ = ["BY_ARCHITECTURE", "UB_220", "Solved", "StageUse", "chip_figures", "choose", "solve", "usable_ub"]

UB_220: Final = 196608  # bytes of unified buffer on architecture 220 (192 KiB)
_KEPT_220 = 256  # of which the runtime keeps these
_SELECT_220 = 8192  # and Select and its like these


@dataclass(frozen=True)
class StageUse:
    """One stage as the host fills it: tile sizes, and bytes of each buffer (all its copies)."""

    name: str
    tiles: Mapping[str, int]
    buffers: tuple[tuple[str, int, str], ...]  # name, bytes, what it holds
    used: int
    usable: int


@dataclass(frozen=True)
class Solved:
    """What the host would launch."""

    alternative: str
    index: int
    stages: tuple[StageUse, ...]
    fields: Mapping[str, int]
    block_dim: int
    workspace: int


def usable_ub(ub: int, select: bool) -> int:
    """Bytes buffers may fill when the platform reports ``ub`` bytes."""
    return ub if ub > UB_220 else ub - _KEPT_220 - (_SELECT_220 if select else 0)


BY_ARCHITECTURE: Final[Mapping[str, tuple[int, int, str]]] = {
    "l0cFloats": (32768, 65536, "results that L0C holds"),  # 128 KiB, 256 KiB (facts.md C.1)
    "macCycles": (2, 1, "of one repeat of MulAddDst"),  # facts.md E.1; E.2 has no figure for 3510, that of Mul is taken
}
"""What the choice asks of the architecture, by the name expressions have: on 220, on 3510, and in words."""


def chip_figures(ub: int) -> dict[str, int]:
    """The figures of the architecture, told by its ``ub`` bytes."""
    return {name: newer if ub > UB_220 else older for name, (older, newer, _) in BY_ARCHITECTURE.items()}


_HOLDS = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def choose(alternatives: Sequence[tree.Alternative], sizes: Mapping[str, int], cores: int, ub: int) -> tuple[Solved | None, list[str]]:
    """The first alternative that fits, and why each one before it does not. ``sizes`` are dims and int attributes."""
    reasons: list[str] = []
    for k, alternative in enumerate(alternatives):
        found = solve(alternative, sizes, cores, ub, k)
        if isinstance(found, Solved):
            return found, reasons
        reasons.append(f"{alternative.name}: {found}")
    return None, reasons


def solve(alternative: tree.Alternative, sizes: Mapping[str, int], cores: int, ub: int, index: int = 0) -> Solved | str:
    """Fit one alternative; the reason, in words, when it does not fit."""
    env = {**sizes, "coreNum": cores, "cubeNum": max(1, cores // 2), "cubeStart": START, **chip_figures(ub)}
    inline = inlined(alternative)
    try:
        for c in alternative.applies:
            if not _HOLDS[c.op](c.a.substitute(inline).evaluate(env), c.b.substitute(inline).evaluate(env)):
                return f"{c.a} {c.op} {c.b} does not hold"
        env |= {t.name: t.align for s in alternative.stages for t in s.tiles}
        for stage in alternative.stages:
            refused = _fit(stage, env, usable_ub(ub, stage.reserve_select), inline)
            if refused:
                return refused
        for name, expr in alternative.fields:
            env[name] = expr.evaluate(env)
        block_dim, workspace = max(1, alternative.block_dim.evaluate(env)), alternative.workspace.evaluate(env)
    except ZeroDivisionError:
        return "a divisor is zero at these sizes"
    uses = tuple(_use(s, env, usable_ub(ub, s.reserve_select), inline) for s in alternative.stages)
    return Solved(alternative.name, index, uses, {n: env[n] for n, _ in alternative.fields}, block_dim, workspace)


def _fit(stage: tree.Stage, env: dict[str, int], usable: int, inline: Mapping[str, IntExpr]) -> str:
    """Set the stage's tile sizes in ``env``; the reason when even the smallest, or a required tile, do not fit."""
    total = ledger(stage).substitute(inline)

    def fits(name: str, value: int) -> bool:
        env[name] = value
        return total.evaluate(env) <= usable

    if not stage.tiles and total.evaluate(env) > usable:
        return f"stage {stage.name} needs {total.evaluate(env)} bytes of UB, {usable} are usable"
    for t in stage.tiles:
        top = max(1, -(-t.upper.substitute(inline).evaluate(env) // t.align))
        balance = t.balance.substitute(inline).evaluate(env) if t.balance is not None else 0
        if not fits(t.name, t.align):
            return f"stage {stage.name} needs {total.evaluate(env)} bytes of UB with {t.name} = {t.align}, {usable} are usable"
        low, high = 1, top
        if balance > 0 and not t.required:
            high = min(high, -(-balance // t.align))
        while low < high:
            middle = low + (high - low + 1) // 2
            low, high = (middle, high) if fits(t.name, middle * t.align) else (low, middle - 1)
        length = -(-top // -(-top // low))  # as many tiles, of like length
        whole = t.whole.substitute(inline).evaluate(env) if t.whole is not None else 0
        if 0 < balance <= whole:
            per = whole // balance  # tiles that give each core one
            rounds = (whole - 1) // (low * t.align) // per + 1
            even = (whole - 1) // (rounds * per) // t.align + 1
            length = even if even * 10 <= length * 9 else length
        env[t.name] = length * t.align
        if t.required and low < top:
            return f"stage {stage.name} needs {t.name} = {top * t.align}, at most {low * t.align} fits"
    return ""


def _use(stage: tree.Stage, env: Mapping[str, int], usable: int, inline: Mapping[str, IntExpr]) -> StageUse:
    buffers = tuple((b.name, -(-b.bytes.substitute(inline).evaluate(env) // 32) * 32 * b.copies, b.holds) for b in stage.buffers)
    return StageUse(stage.name, {t.name: env[t.name] for t in stage.tiles}, buffers, sum(b for _, b, _ in buffers), usable)
