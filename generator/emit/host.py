"""From a KernelPlan to the host's tiling maths: ledgers, searches and fields, printed from the kernel's own expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from generator.emit.cpp import condition
from generator.emit.integers import integer
from generator.emit.kernels import Entry, KernelFiles
from generator.emit.names import camel
from generator.plan import tree
from generator.spec.integer import Func, IntExpr, Sym, const, round_up

__all__ = ["HostChoice", "HostFiles", "HostFunction", "Search", "host_files", "ledger"]

_CHIP: Final = ("coreNum", "cubeNum", "cubeStart", "l0cFloats", "macCycles")  # what the maths knows of the chip


@dataclass(frozen=True)
class Search:
    """One tile size of one stage, maximised by the host."""

    tile: str
    upper: str
    align: int
    required: bool
    balance: str  # "0" when the tile is not balanced over cores
    whole: str  # "0" when cores need not have as many tiles each


@dataclass(frozen=True)
class Ledger:
    """The UB bytes of a stage: function name, title, one line per buffer."""

    name: str
    title: str
    lines: tuple[tuple[str, str], ...]  # (expression, what it holds)


@dataclass(frozen=True)
class Fit:
    """How the tiles of a stage are found, shared by every alternative that has such a stage. ``chip``: names of the chip's figures
    that its expressions read."""

    name: str
    title: str
    searches: tuple[Search, ...]
    ledger: str
    reserve_select: bool
    chip: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """Tiling fields that always follow each other, shared by every alternative that has them."""

    name: str
    fields: tuple[tuple[str, str], ...]
    chip: tuple[str, ...]


@dataclass(frozen=True)
class HostFunction:
    """How one alternative is tried: a pure function of sizes and hardware."""

    name: str
    about: str
    applies: tuple[str, ...]
    fits: tuple[str, ...]
    runs: tuple[str, ...]
    block_dim: tuple[str, ...]  # of these the largest
    workspace: str
    syncs: bool
    chip: tuple[str, ...]


@dataclass(frozen=True)
class HostChoice:
    """The alternatives of one dtype combination and presence set, in order."""

    combination: int
    present: int  # bit k: optional parameter k of the plan is given
    tries: tuple[tuple[str, str], ...]  # (function, key macro)


@dataclass(frozen=True)
class HostFiles:
    """op_host/'s tiling maths, ready for the templates."""

    names: tuple[str, ...]  # members of Sizes: dims, attributes, tiles, fields
    ledgers: tuple[Ledger, ...]
    fits: tuple[Fit, ...]
    runs: tuple[Run, ...]
    functions: tuple[HostFunction, ...]
    choices: tuple[HostChoice, ...]


def ledger(stage: tree.Stage) -> IntExpr:
    """The UB bytes of one stage: the sum of its buffers, each copy rounded up to 32 bytes as InitBuffer does."""
    total = const(0)
    for b in stage.buffers:
        total = total + round_up(b.bytes, 32) * b.copies
    return total


def inlined(alternative: tree.Alternative) -> Mapping[str, IntExpr]:
    """The tiling fields of an alternative as expressions of dims, attributes, tile sizes and ``coreNum`` only."""
    done: dict[str, IntExpr] = {}
    for name, expr in alternative.fields:
        done[name] = expr.substitute(done)
    return done


def host_files(plan: tree.KernelPlan, kernels: KernelFiles) -> HostFiles:
    """The host's view of ``plan``. What several alternatives have in common (ledgers, searches, fields, all of it) is one function."""
    shared = _Shared([a for kernel in plan.kernels for a in kernel.alternatives])
    choices: list[HostChoice] = []
    entries = {(e.kernel, e.alternative): e for e in kernels.entries}
    names: dict[str, None] = dict.fromkeys((*plan.dims, *plan.int_fields, *kernels.int_fields))
    for k, kernel in enumerate(plan.kernels):
        tries = []
        for a, alternative in enumerate(kernel.alternatives):
            tries.append((shared.function(alternative), _macro(entries[k, a])))
            names |= dict.fromkeys((*(t.name for s in alternative.stages for t in s.tiles), *(n for n, _ in alternative.fields)))
        bits = sum(1 << plan.optional.index(s) for s in kernel.present)
        choices.append(HostChoice(kernel.combination, bits, tuple(tries)))
    functions = tuple(shared.functions.values())
    return HostFiles(tuple(names), tuple(shared.ledgers.values()), tuple(shared.fits.values()), shared.runs, functions, tuple(choices))


def _macro(entry: Entry) -> str:
    return entry.macro


class _Shared:
    """The functions of the tiling maths, each printed once; every dictionary's key is what a function says."""

    def __init__(self, alternatives: list[tree.Alternative]) -> None:
        self.ledgers: dict[object, Ledger] = {}
        self.fits: dict[object, Fit] = {}
        self.functions: dict[object, HostFunction] = {}
        self.taken: dict[str, int] = {}
        self.runs = tuple(self._run(r) for r in _runs([a.fields for a in alternatives]))
        self.run_of = {r.fields[0]: r for r in self.runs}

    def function(self, alternative: tree.Alternative) -> str:
        """The name of the function that tries ``alternative``."""
        inline = inlined(alternative)
        applies = tuple(condition(c, lambda e: _text(_flat(e, inline))) for c in alternative.applies)
        fits = tuple(self._fit(stage, inline) for stage in alternative.stages)
        fields = tuple((n, _text(e)) for n, e in alternative.fields)
        runs: list[str] = []
        while fields:
            run = self.run_of[fields[0]]
            runs.append(run.name)
            fields = fields[len(run.fields) :]
        block_dim, workspace = tuple(_text(e) for e in _largest_of(alternative.block_dim)), _text(alternative.workspace)
        key = (applies, fits, tuple(runs), block_dim, workspace, alternative.syncs)
        if key not in self.functions:
            used = [*block_dim, workspace, *applies]
            name = self._name(f"Try{camel(alternative.name)}")
            self.functions[key] = HostFunction(name, alternative.name, *key, _chip(used))
        return self.functions[key].name

    def _fit(self, stage: tree.Stage, inline: Mapping[str, IntExpr]) -> str:
        def text(expr: IntExpr) -> str:
            return _text(_flat(expr, inline))

        lines = tuple((text(round_up(b.bytes, 32) * b.copies), _holds(b)) for b in stage.buffers)
        if lines not in self.ledgers:
            self.ledgers[lines] = Ledger(self._name(f"{camel(stage.name)}Ledger"), stage.title, lines)
        searches = tuple(
            Search(t.name, text(t.upper), t.align, t.required, *("0" if e is None else text(e) for e in (t.balance, t.whole)))
            for t in stage.tiles
        )
        ledger = self.ledgers[lines].name
        key = (searches, ledger, stage.reserve_select)
        if key not in self.fits:
            used = [x for s in searches for x in (s.upper, s.balance, s.whole)]
            self.fits[key] = Fit(self._name(f"Fit{camel(stage.name)}"), stage.title, *key, _chip(used))
        return self.fits[key].name

    def _run(self, fields: tuple[tuple[str, IntExpr], ...]) -> Run:
        texts = tuple((n, _text(e)) for n, e in fields)
        return Run(self._name(f"Find{camel(fields[0][0])}"), texts, _chip([e for _, e in texts]))

    def _name(self, wanted: str) -> str:
        """``wanted``, with a number when another function has it."""
        self.taken[wanted] = self.taken.get(wanted, 0) + 1
        return wanted if self.taken[wanted] == 1 else self._name(f"{wanted}{self.taken[wanted]}")


def _runs(lists: Sequence[tuple[tuple[str, IntExpr], ...]]) -> list[tuple[tuple[str, IntExpr], ...]]:
    """The longest runs of which every list is made: neighbours in one list are neighbours in all that have either."""
    after: dict[object, set[object]] = {}
    before: dict[object, set[object]] = {}
    end = object()
    order: dict[tuple[str, IntExpr], None] = {}
    for fields in lists:
        order |= dict.fromkeys(fields)
        for a, b in zip((end, *fields), (*fields, end), strict=True):
            after.setdefault(a, set()).add(b)
            before.setdefault(b, set()).add(a)
    runs: list[list[tuple[str, IntExpr]]] = []
    at: dict[object, list[tuple[str, IntExpr]]] = {}
    for field in order:
        (previous, *more) = before[field]
        joined = previous is not end and not more and len(after[previous]) == 1
        if joined:
            at[field] = at[previous]
        else:
            at[field] = []
            runs.append(at[field])
        at[field].append(field)
    return [tuple(r) for r in runs]


def _text(expr: IntExpr) -> str:
    return integer(expr, lambda n: n if n in _CHIP else f"s.{n}", lambda t: f"s.elements_{t}")


def _largest_of(expr: IntExpr) -> Iterator[IntExpr]:
    """The expressions whose maximum ``expr`` is."""
    atom = expr.terms[0][0][0][0] if len(expr.terms) == 1 and expr.terms[0][1] == 1 and len(expr.terms[0][0]) == 1 else None
    if isinstance(atom, Func) and atom.op == "max" and expr.terms[0][0][0][1] == 1:
        yield from _largest_of(atom.a)
        yield from _largest_of(atom.b)
    else:
        yield expr


def _flat(expr: IntExpr, inline: Mapping[str, IntExpr]) -> IntExpr:
    """``expr`` without tiling fields, which are not known yet."""
    return expr.substitute(inline) if any(isinstance(x, Sym) and x.name in inline for x in expr.atoms()) else expr


def _chip(texts: Iterable[str]) -> tuple[str, ...]:
    """The chip's figures that these expressions read."""
    words = {w for text in texts for w in re.findall(r"\w+", text)}
    return tuple(n for n in _CHIP if n in words)


def _holds(b: tree.Buffer) -> str:
    copies = f", {b.copies} copies" if b.copies > 1 else ""
    return f"{b.name}{': ' + b.holds if b.holds else ''}{copies}"
