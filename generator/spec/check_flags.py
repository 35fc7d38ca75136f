"""Checks of flags: graph attributes that say whether optional outputs are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generator.spec.names import did_you_mean

if TYPE_CHECKING:
    from generator.spec.checks import Checker
    from generator.spec.load import Loc
    from generator.spec.model import Flag

__all__ = ["check_flags"]

_LIMIT = 2**63


def check_flags(c: Checker) -> None:
    """Check every flag of the spec: its name in the graph, its outputs and its two values."""
    taken = {p.name: f"parameter {at + 1}" for at, p in reversed(list(enumerate(c.spec.params)))}
    owner: dict[str, str] = {}
    for at, flag in enumerate(c.spec.flags):
        loc: Loc = ("flags", at)
        c.name((*loc, "name"), flag.name, "the flag's name in the graph")
        if flag.name in taken:
            c.say((*loc, "name"), "the name is taken in the graph", f"'{flag.name}' is {taken[flag.name]}", "another name")
        taken.setdefault(flag.name, f"flag {at + 1}")
        _outputs(c, (*loc, "outputs"), flag, owner)
        _values(c, loc, flag)


def _outputs(c: Checker, loc: Loc, flag: Flag, owner: dict[str, str]) -> None:
    """The outputs exist, are optional, have one flag each and are there or not together."""
    outputs = {p.symbol: p for p in c.spec.params if p.io == "out"}
    if not flag.outputs:
        c.say(loc, "a flag speaks of one output or more", "[]", "outputs: [a]")
    for at, symbol in enumerate(flag.outputs):
        here: Loc = (*loc, at)
        if symbol not in outputs:
            c.say(here, "the flag names no output", f"'{symbol}'", did_you_mean(symbol, outputs, "outputs"))
        elif not outputs[symbol].optional:
            c.say(here, "the flag names an output that is always given", f"'{symbol}'", "optional: true in the parameter")
        elif outputs[symbol].optional_when is not None:
            right = "an output without 'optional_when': that condition says when it may be missing"
            c.say(here, "the flag names an output that is missing under a condition", f"'{symbol}'", right)
        elif symbol in owner:
            c.say(here, "an output has two flags", f"'{symbol}'", f"flag '{owner[symbol]}' only")
        owner.setdefault(symbol, flag.name)
    known = [s for s in flag.outputs if s in outputs]
    group = next((g.members for g in c.spec.groups if set(known) & set(g.members)), known[:1])
    tied = [m for m in group if m in outputs]
    if set(known) != set(tied):
        right = f"outputs: [{', '.join(tied)}], or a group of all of them"
        c.say(loc, "the flag's outputs are not those that are given together", f"[{', '.join(known)}]", right)


def _values(c: Checker, loc: Loc, flag: Flag) -> None:
    """Two different values of one type, which an attribute of the graph can hold."""
    if isinstance(flag.given, bool) != isinstance(flag.absent, bool):
        c.say((*loc, "given"), "a flag's two values are of one type", f"{flag.given} and {flag.absent}", "two integers, or true and false")
    elif flag.given == flag.absent:
        c.say((*loc, "given"), "a flag's two values are the same", str(flag.given), f"a value other than that of 'absent', {flag.absent}")
    for key, value in (("given", flag.given), ("absent", flag.absent)):
        if not -_LIMIT <= value < _LIMIT:
            c.say((*loc, key), "the value does not fit an attribute", str(value), "-2^63 to 2^63 - 1")
