"""The gradient of a formula, as a formula: reverse mode on resolved programs.

The stages, each a module: ``versions`` (single assignment), ``adjoint`` (the reverse sweep, by ``rules`` and ``inverse``),
``recover`` (where the forward's values come from), ``simplify`` (short, as a person writes it), ``finish`` (guards, names).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from generator.formula.checked import CheckedSpec
from generator.formula.infer import children
from generator.formula.ir import Assign, Bound, Compare, Expr, Load, Program, Reduce, Stmt, Tensor
from generator.formula.prove import Facts
from generator.formula.ranges import facts_of
from generator.formula.symbols import Symbols
from generator.formula.validate import validate
from generator.spec.integer import IntExpr
from generator.symbolic.adjoint import Sweep, active
from generator.symbolic.build import Fresh, loads
from generator.symbolic.finish import guarded, prettify
from generator.symbolic.patterns import patterns
from generator.symbolic.recover import Recovery
from generator.symbolic.rules import Contribution
from generator.symbolic.simplify import Known, simplify
from generator.symbolic.versions import Def, Single, assigned, carried, single

__all__ = ["DeriveError", "Derived", "derive", "plain_facts", "spec_facts"]


class DeriveError(Exception):
    """A derivation that was asked for something the forward does not have."""


@dataclass(frozen=True)
class Derived:
    """``program`` computes the gradients: ``gradients`` maps each forward input to the output that holds its gradient,
    ``saved`` the forward's tensors that are read to the inputs that hold them, ``remembered`` names the tapes of loops that
    run again. ``notes`` say which conventions at ties and kinks were used, what is computed again and what is remembered."""

    program: Program
    gradients: Mapping[str, str]
    saved: Mapping[str, str]
    remembered: tuple[str, ...]
    notes: tuple[str, ...]


def plain_facts(program: Program) -> Facts:
    """What holds of any program: sizes are not negative, and those that alone are extents of tensors are at least 1."""
    size: tuple[int, int | None] = (0, None)
    attr: tuple[int, int | None] = (-(2**63), None)
    sizes = {**dict.fromkeys(program.dims, size), **dict.fromkeys(program.int_attrs, attr)}
    for t in program.tensors.values():
        for e in t.shape:
            if e.symbol in sizes:
                sizes[e.symbol or ""] = (1 if t.role != "local" else 0, None)
    return Facts(sizes, (), tuple(dict.fromkeys(e for t in program.tensors.values() for e in t.shape if len(e.terms) > 1)))


def spec_facts(checked: CheckedSpec) -> Facts:
    """What a spec says of its sizes."""
    p = checked.program
    outer = {n: t for n, t in p.tensors.items() if t.role != "local"}
    return facts_of(checked.spec, Symbols(dims=list(p.dims), int_attrs=list(p.int_attrs), tensors=outer, derived=list(checked.derived)))


def derive(
    forward: Program,
    wrt: Sequence[str],
    cotangents: Mapping[str, str],
    saved: Mapping[str, str] | None = None,
    *,
    names: Mapping[str, str] | None = None,
    facts: Facts | None = None,
    boundary: Mapping[str, str] | None = None,
    short: bool = True,
    forms: bool = True,
) -> Derived:
    """The gradients of ``sum over outputs of <cotangent, output>`` with respect to the inputs ``wrt``.

    ``cotangents`` maps forward outputs to the names of their upstream gradients, ``saved`` forward tensors to the names of
    inputs of the gradient that hold them (forward inputs are there by their own names), ``names`` an input to the name of
    its gradient (``grad_<input>`` otherwise). ``facts`` are what the spec says of sizes; ``boundary`` the conventions at ties
    and kinks. ``short=False`` leaves out simplification; ``forms=False`` stores each gradient by one statement,
    not one for each way its input is indexed. Raises :class:`DeriveError`."""
    _check(forward, wrt, cotangents, saved or {})
    try:
        return _derive(forward, wrt, cotangents, saved or {}, names or {}, facts, boundary or {}, short, forms)
    except RecursionError as error:
        raise DeriveError("the formula is nested too deeply to be differentiated; name its parts in statements of their own") from error


def _derive(
    forward: Program,
    wrt: Sequence[str],
    cotangents: Mapping[str, str],
    saved: Mapping[str, str],
    names: Mapping[str, str],
    facts: Facts | None,
    boundary: Mapping[str, str],
    short: bool,
    forms: bool,
) -> Derived:
    known = facts or plain_facts(forward)
    fresh = Fresh()
    given = dict(saved)
    outputs = {x: names.get(x, f"grad_{x}") for x in wrt}
    taken = {*forward.tensors, *forward.dims, *forward.int_attrs, *forward.float_attrs, *forward.bool_attrs}
    taken |= {*cotangents.values(), *given.values(), *outputs.values()}
    form = single(forward, known, fresh, set(taken))
    taken |= set(form.tensors)
    live = active(form.nodes, form.tensors, wrt, [form.final.get(y, y) for y in cotangents])
    tensors = {**form.tensors, **{g: replace(form.tensors[y], name=g, role="input", fill=None) for y, g in cotangents.items()}}
    sweep = Sweep(tensors, live, fresh, known, taken, _axis_names(forward), boundary, forms)
    sweep.bases = _bases(form, forward)
    sweep.sources = {n.stmt.tensor: n.stmt.value for n in form.nodes if isinstance(n, Def) and isinstance(n.stmt.value, Load)}
    for y, g in cotangents.items():
        end = form.final.get(y, y)
        if end in live:
            sweep.contributions[end] = [sweep.plain(g, y)]
    nodes = sweep.block(form.nodes)
    for x in wrt:
        nodes += _store(sweep, x, outputs[x])
    available = {**{t.name: t.name for t in forward.inputs}, **given}
    made = {**sweep.made}
    recovery = Recovery(form, available, fresh, taken, made, sweep.named)
    body = recovery.run(nodes)
    everything = _tensors(forward, form, made, cotangents, given, outputs)
    if short:
        body = simplify(body, everything, _definitions(form, recovery), fresh, taken, known)
    body = list(prettify(body, frozenset({*taken} - set(_axis_like(forward)))))
    program = _program(forward, guarded(body, everything, known), everything, outputs)
    used = {x.tensor for s, _ in assigned(program.body) for x in loads(s.value)}
    tapes = tuple(t for t in recovery.tapes.values() if t in used)
    return Derived(
        validate(program),
        outputs,
        {f: name for f, name in {**{t.name: t.name for t in forward.inputs}, **given}.items() if name in used},
        tapes,
        (*_conventions(program, sweep.flow.used, boundary), *_again(program, form, forward), *(recovery.notes[t] for t in tapes)),
    )


def _conventions(program: Program, used: Iterable[str], boundary: Mapping[str, str]) -> list[str]:
    """The conventions at ties and kinks that the program still depends on."""
    values = [e for s, _ in assigned(program.body) for e in _walk(s.value)]
    ties = any(isinstance(e, Reduce) and e.op in ("argmax", "argmin") for e in values) or any(isinstance(e, Compare) for e in values)
    return [f"at ties and kinks of {op}: '{boundary.get(op, _default(op))}'" for op in sorted(used) if ties]


def _again(program: Program, form: Single, forward: Program) -> list[str]:
    """What of the forward is computed again."""
    bases = _bases(form, forward)
    names = {bases[s.tensor]: None for s, _ in assigned(program.body) if s.tensor in form.tensors and s.tensor in bases}
    return [f"computed again: {', '.join(names)}"] if names else []


def _default(op: str) -> str:
    return "0" if op in ("relu", "abs") else "first"


def _check(forward: Program, wrt: Sequence[str], cotangents: Mapping[str, str], saved: Mapping[str, str]) -> None:
    for x in wrt:
        t = forward.tensors.get(x)
        if t is None or t.role != "input":
            raise DeriveError(f"'{x}' is no input of the forward; inputs are {', '.join(i.name for i in forward.inputs)}")
        if t.kind != "float":
            raise DeriveError(f"'{x}' holds {t.kind} values: it has no gradient")
    for y in cotangents:
        t = forward.tensors.get(y)
        if t is None or t.role != "output":
            raise DeriveError(f"'{y}' is no output of the forward; outputs are {', '.join(o.name for o in forward.outputs)}")
    many = carried(forward)
    for s in saved:
        if s not in forward.tensors or s in many:
            raise DeriveError(f"'{s}' is no tensor of the forward that can be saved (a carried one has many values)")


def _store(sweep: Sweep, x: str, name: str) -> list[Assign]:
    """The gradient of an input: one statement for each way it is indexed, or one for all."""
    cs: list[Contribution] = sweep.contributions.get(x, [])
    found = patterns(cs, sweep.tensors[x], sweep.named(x), sweep.fresh, sweep.facts) if sweep.forms else None
    return [sweep.store(name, p, cs) for p in found or [sweep.all_of(x)]]


def _bases(form: Single, forward: Program) -> dict[str, str]:
    """The program's tensor behind each version."""
    out: dict[str, str] = {}
    for name in form.tensors:
        stem = name
        while stem not in forward.tensors and "_" in stem:
            stem = stem.rpartition("_")[0]
        out[name] = stem if stem in forward.tensors else name
    return out


def _axis_names(forward: Program) -> dict[str, list[str]]:
    """What the forward calls the axes of each tensor's dims, where one name is enough for all of them."""
    out: dict[str, list[str]] = {}
    sizes = {*forward.dims, *forward.int_attrs}

    def note(tensor: str, indices: Sequence[object], bound: set[str]) -> None:
        found = [_axis_of(i, bound) for i in indices]
        if tensor not in out and None not in found and len(set(found)) == len(found):
            out[tensor] = [f or "" for f in found]

    for stmt, loops in assigned(forward.body):
        bound = {n for i in stmt.indices if isinstance(i, IntExpr) for n in i.free()} - sizes - set(loops)
        note(stmt.tensor, stmt.indices, bound)
        names = {a.name for a in _bound(stmt.value)} | bound
        for load in loads(stmt.value):
            note(load.tensor, load.indices, names)
    for t in forward.tensors.values():
        if t.flat is not None and t.name not in out:
            out[t.name] = list(t.flat.axes)
    return out


def _axis_of(i: object, bound: set[str]) -> str | None:
    """The axis an index is named after: the one it is, or the first in it."""
    if not isinstance(i, IntExpr):
        return None
    return i.symbol if i.symbol in bound else next((n for n in sorted(i.free() & bound, reverse=True)), None)


def _bound(e: Expr) -> Iterable[Bound]:
    yield from getattr(e, "axes", ())
    for child in children(e):
        yield from _bound(child)


def _axis_like(forward: Program) -> set[str]:
    """Names of axes in the forward: they may be used again though a tensor has one of them."""
    return {n for names in _axis_names(forward).values() for n in names} - {*forward.dims, *forward.int_attrs}


def _definitions(form: Single, recovery: Recovery) -> list[Known]:
    """How the forward defines what the gradient may read, as far as that is outside loops."""
    out: list[Known] = []
    for node in form.nodes:
        if isinstance(node, Def):
            stmt = node.stmt
            load = Load(stmt.tensor, stmt.indices)
            value = recovery.value(load, set())
            held = value if isinstance(value, Load) and value.tensor in recovery.available.values() else None
            out.append(Known(replace(stmt, value=recovery.read(stmt.value, set())), held))
    return out


def _tensors(
    forward: Program,
    form: Single,
    made: Mapping[str, Tensor],
    cotangents: Mapping[str, str],
    saved: Mapping[str, str],
    outputs: Mapping[str, str],
) -> dict[str, Tensor]:
    """Every tensor the gradient might use, by name."""
    out: dict[str, Tensor] = {t.name: t for t in forward.inputs}
    for f, name in (*cotangents.items(), *saved.items()):
        out[name] = replace(forward.tensors[f], name=name, role="input", optional=False, inout=False, fill=None)
    for name, t in form.tensors.items():
        if name not in out:
            out[name] = replace(t, role="local", flat=None, dtype=None, fill=None, optional=False, inout=False)
    out |= made
    for x, name in outputs.items():
        out[name] = replace(forward.tensors[x], name=name, role="output", inout=False, fill=None)
    return out


def _program(forward: Program, body: tuple[Stmt, ...], tensors: Mapping[str, Tensor], outputs: Mapping[str, str]) -> Program:
    """The program with what it uses."""
    used: dict[str, None] = {}
    for stmt, _ in assigned(body):
        used[stmt.tensor] = None
        for load in loads(stmt.value):
            used[load.tensor] = None
    ordered = {n: t for n, t in tensors.items() if n in used and t.role == "input"}
    ordered |= {name: tensors[name] for name in outputs.values()}
    ordered |= {n: tensors[n] for n in used if n not in ordered}
    return Program(body, ordered, forward.dims, forward.int_attrs, forward.float_attrs, forward.bool_attrs)


def _walk(e: Expr) -> Iterable[Expr]:
    yield e
    for child in children(e):
        yield from _walk(child)
