"""From a KernelPlan to the host's tiling maths: ledgers, searches and fields, printed from the kernel's own expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from generator.emit.cpp import condition
from generator.emit.integers import integer
from generator.emit.kernels import Entry, KernelFiles
from generator.emit.names import camel
from generator.plan import tree
from generator.spec.integer import IntExpr, Sym, const, round_up

__all__ = ["HostChoice", "HostFiles", "HostFunction", "Search", "host_files", "ledger"]


@dataclass(frozen=True)
class Search:
    """One tile size of one stage, maximised by the host."""

    tile: str
    upper: str
    align: int
    balance: str  # "0" when the tile is not balanced over cores
    required: bool
    ledger: str  # name of the ledger function


@dataclass(frozen=True)
class Ledger:
    """The UB bytes of one stage: function name, title, one line per buffer."""

    name: str
    title: str
    lines: tuple[tuple[str, str], ...]  # (expression, what it holds)
    reserve_select: bool


@dataclass(frozen=True)
class HostFunction:
    """How one alternative is tried: a pure function of sizes and hardware."""

    name: str
    about: str
    applies: tuple[str, ...]
    ledgers: tuple[Ledger, ...]
    tiles: tuple[str, ...]
    searches: tuple[tuple[Search, bool], ...]  # (search, stage reserves Select's UB)
    fields: tuple[tuple[str, str], ...]
    block_dim: str
    workspace: str
    syncs: bool
    mixed: bool  # reads the number of cube cores


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
    """The host's view of ``plan``. Alternatives with the same maths share one function."""
    functions: dict[tuple[object, ...], HostFunction] = {}
    choices: list[HostChoice] = []
    entries = {(e.kernel, e.alternative): e for e in kernels.entries}
    names: dict[str, None] = dict.fromkeys((*plan.dims, *plan.int_fields, *kernels.int_fields))
    for k, kernel in enumerate(plan.kernels):
        tries = []
        for a, alternative in enumerate(kernel.alternatives):
            made = _function(alternative)
            key = (made.applies, made.ledgers, made.searches, made.fields, made.block_dim, made.workspace, made.syncs, made.mixed)
            if key not in functions:
                same = sum(f.about == alternative.name for f in functions.values())
                functions[key] = _renamed(made, f"Try{camel(alternative.name)}{same + 1 if same else ''}")
            tries.append((functions[key].name, _macro(entries[k, a])))
            names |= dict.fromkeys((*made.tiles, *(n for n, _ in made.fields)))
        bits = sum(1 << plan.optional.index(s) for s in kernel.present)
        choices.append(HostChoice(kernel.combination, bits, tuple(tries)))
    return HostFiles(tuple(names), tuple(functions.values()), tuple(choices))


def _macro(entry: Entry) -> str:
    return entry.macro


def _function(alternative: tree.Alternative) -> HostFunction:
    inline = inlined(alternative)

    def text(expr: IntExpr) -> str:
        return integer(expr, lambda n: n if n in ("coreNum", "cubeNum", "cubeStart") else f"s.{n}", lambda t: f"s.elements_{t}")

    def flat(expr: IntExpr) -> str:
        return text(expr.substitute(inline) if any(isinstance(x, Sym) and x.name in inline for x in expr.atoms()) else expr)

    ledgers, searches, tiles = [], [], []
    for index, stage in enumerate(alternative.stages):
        name = f"@{index}@"
        lines = tuple((flat(round_up(b.bytes, 32) * b.copies), _holds(b)) for b in stage.buffers)
        ledgers.append(Ledger(name, stage.title, lines, stage.reserve_select))
        for t in stage.tiles:
            balance = "0" if t.balance is None else flat(t.balance)
            searches.append((Search(t.name, flat(t.upper), t.align, balance, t.required, name), stage.reserve_select))
            tiles.append(t.name)
        if not stage.tiles:
            searches.append((Search("", "1", 1, "0", False, name), stage.reserve_select))
    return HostFunction(
        name="",
        about=alternative.name,
        applies=tuple(condition(c, flat) for c in alternative.applies),
        ledgers=tuple(ledgers),
        tiles=tuple(tiles),
        searches=tuple(searches),
        fields=tuple((n, text(e)) for n, e in alternative.fields),
        block_dim=text(alternative.block_dim),
        workspace=text(alternative.workspace),
        syncs=alternative.syncs,
        mixed=alternative.mixed,
    )


def _holds(b: tree.Buffer) -> str:
    copies = f", {b.copies} copies" if b.copies > 1 else ""
    return f"{b.name}{': ' + b.holds if b.holds else ''}{copies}"


def _renamed(f: HostFunction, name: str) -> HostFunction:
    def ledger_name(placeholder: str) -> str:
        index = int(placeholder.strip("@"))
        return f"{name.removeprefix('Try')}Ledger{index if len(f.ledgers) > 1 else ''}"

    ledgers = tuple(Ledger(ledger_name(x.name), x.title, x.lines, x.reserve_select) for x in f.ledgers)
    searches = tuple((Search(s.tile, s.upper, s.align, s.balance, s.required, ledger_name(s.ledger)), r) for s, r in f.searches)
    return replace(f, name=name, ledgers=ledgers, searches=searches)
