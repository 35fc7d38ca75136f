"""Everything about a spec that its types do not say, the formula excepted: names, parameters, and what refers to what."""

from __future__ import annotations

from collections.abc import Callable

from generator.spec.check_params import check_params
from generator.spec.check_values import check_values
from generator.spec.errors import Problem
from generator.spec.load import Loc, Source
from generator.spec.model import OpSpec
from generator.spec.names import bad_identifier

__all__ = ["Checker", "check"]

_RESERVED = {
    "inf": "a constant of the formula language",
    "nan": "a constant of the formula language",
    "pi": "a constant of the formula language",
    "coreNum": "a name of the generated tiling",
    "inHf32": "a name of the generated tiling",
    "blockIdx": "a name of the generated kernel",
    "workspace": "a parameter of every generated kernel",
    "tiling": "a parameter of every generated kernel",
}


class Checker:
    """Collects the problems of one source; ``spec`` is its typed text."""

    def __init__(self, source: Source, spec: OpSpec) -> None:
        self.source = source
        self.spec = spec
        self.problems: list[Problem] = []

    def say(self, loc: Loc, what: str, value: str = "", right: str = "") -> None:
        """A problem with the value at ``loc``."""
        self.problems.append(self.source.problem(self.source.at(*loc), what, value, right))

    def say_key(self, loc: Loc, what: str, value: str = "", right: str = "") -> None:
        """A problem with the key at ``loc``."""
        self.problems.append(self.source.problem(self.source.key(*loc), what, value, right))

    def name(self, loc: Loc, name: str, role: str, *, key: bool = False) -> None:
        """``name`` must be an identifier that C++ and Python take and nothing else uses."""
        say: Callable[[Loc, str, str, str], None] = self.say_key if key else self.say
        why = bad_identifier(name)
        if why is not None:
            say(loc, f"{role} {why}", f"'{name}'", "another name")
        elif name in _RESERVED:
            say(loc, f"{role} is reserved", f"'{name}'", f"another name: this is {_RESERVED[name]}")
        elif name.startswith("numel_"):
            say(loc, f"{role} is reserved", f"'{name}'", "a name that does not start with numel_ (the sizes of packs)")


def check(source: Source) -> list[Problem]:
    """Every problem of ``source`` beyond those found when it was typed."""
    if source.spec is None:
        return []
    checker = Checker(source, source.spec)
    _names(checker)
    check_params(checker)
    check_values(checker)
    return checker.problems


def _names(c: Checker) -> None:
    """Identifiers are legal, and each is given once in its name space."""
    spec = c.spec
    c.name(("name",), spec.name, "the operator's name")
    c.name(("family",), spec.family, "the family's name")
    symbols: dict[str, str] = {}
    for dim in spec.dims:
        c.name(("dims", dim), dim, "the dim's name", key=True)
        symbols[dim] = "a dim"
    for axis, parts in spec.segments.items():
        c.name(("segments", axis), axis, "the segmented axis' name", key=True)
        if axis in symbols:
            c.say_key(("segments", axis), "the name is taken", f"'{axis}' is {symbols[axis]}", "another name")
        symbols[axis] = "a segmented axis"
        if not parts:
            c.say(("segments", axis), "a segmented axis has segments", f"'{axis}'", "{pre: [n], post: [n]}")
    _segment_names(c)
    for at, p in enumerate(spec.params):
        c.name(("params", at, "symbol"), p.symbol, "the formula's symbol")
        if p.symbol in symbols:
            c.say(("params", at, "symbol"), "the symbol is taken", f"'{p.symbol}' is {symbols[p.symbol]}", "another symbol")
        symbols.setdefault(p.symbol, f"parameter {at + 1}")
    for field, space, role in (("name", "graph", "the graph's name"), ("aclnn", "aclnn call", "the aclnn call's name")):
        first: dict[str, int] = {}
        for at, p in enumerate(spec.params):
            name = p.name if field == "name" else p.aclnn
            c.name(("params", at, field), name, role)
            shared = first.setdefault(name, at)
            if shared != at and not _in_place(c, at, shared):
                c.say(
                    ("params", at, field),
                    f"two parameters have one name in the {space}",
                    f"'{name}'",
                    f"another name (parameter {shared + 1} has it)",
                )


def _in_place(c: Checker, at: int, other: int) -> bool:
    """An output that overwrites an input may share its names."""
    a, b = c.spec.params[at], c.spec.params[other]
    return a.aliases == b.symbol or b.aliases == a.symbol


def _segment_names(c: Checker) -> None:
    owners: dict[str, str] = {}
    for axis, parts in c.spec.segments.items():
        for name in parts:
            c.name(("segments", axis, name), name, "the segment's name", key=True)
            if name in owners:
                c.say_key(("segments", axis, name), "the segment's name is taken", f"'{name}' belongs to '{owners[name]}'", "another name")
            owners[name] = axis
