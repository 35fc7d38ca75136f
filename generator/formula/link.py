"""What a gradient spec says of its forward operator, checked once both are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from generator.formula.checked import CheckedSpec
from generator.spec.errors import Problem, SpecError
from generator.spec.integer import IntExpr, Numel, sym
from generator.spec.load import Source, scan, text_of
from generator.spec.names import did_you_mean
from generator.spec.packs import broadcast_parts

__all__ = ["Relation", "bindings", "link", "relation"]


def bindings(spec: CheckedSpec, forward: CheckedSpec) -> dict[str, str]:
    """Our parameter -> the forward's parameter it is (the cotangent of), by ``binds`` or else by name. A gradient output
    ``grad_x`` and a cotangent ``grad_y`` are bound only by ``binds``, or when the forward has ``x`` or ``y``."""
    theirs = {p.symbol for p in forward.spec.params}
    out = dict(spec.spec.binds)
    for p in spec.spec.params:
        name = p.symbol
        if name in out:
            continue
        for candidate in (name, name.removeprefix("grad_")):
            if candidate in theirs:
                out[name] = candidate
                break
    return out


def link(spec: CheckedSpec, specs: Mapping[str, CheckedSpec]) -> CheckedSpec | None:
    """The forward of ``spec`` among ``specs`` (by operator name), or None when it has none.

    Raises:
        SpecError: the forward is unknown, or a binding names, shapes or types something the forward does not have.
    """
    name = spec.spec.forward
    if name is None:
        return None
    source = scan(text_of(spec.path), spec.path)
    if name not in specs:
        where = source.at("forward")
        raise SpecError(
            [source.problem(where, "no spec describes the forward operator", f"'{name}'", did_you_mean(name, specs, "operators"))]
        )
    forward = specs[name]
    checks = (_broadcasts, _names, _shapes, _tests)
    problems = [p for found in checks for p in found(source, spec, forward)]
    if problems:
        raise SpecError(problems)
    return forward


def _broadcasts(source: Source, spec: CheckedSpec, forward: CheckedSpec) -> list[Problem]:
    """What is broadcast is the same, by the same names: axes are told apart by the inputs that have them."""
    if {b.name: b.groups for b in spec.broadcasts} == {b.name: b.groups for b in forward.broadcasts}:
        return []
    where = source.key("broadcast") if spec.broadcasts else source.at("forward")
    said = ", ".join(f"*{b.name}" for b in spec.broadcasts) or "none"
    theirs = ", ".join(f"{b}: [{', '.join(parts)}]" for b, parts in broadcast_parts(forward.spec).items())
    right = f"broadcast: {{{theirs}}}" if theirs else "no 'broadcast:'"
    return [source.problem(where, f"'{forward.spec.name}' broadcasts other tensors", said, right)]


def _names(source: Source, spec: CheckedSpec, forward: CheckedSpec) -> list[Problem]:
    theirs = {p.symbol: p for p in forward.spec.params}
    out: list[Problem] = []
    for ours, other in spec.spec.binds.items():
        if other not in theirs:
            where = source.at("binds", ours)
            out.append(
                source.problem(
                    where, f"'{forward.spec.name}' has no such parameter", f"'{other}'", did_you_mean(other, theirs, "parameters")
                )
            )
    bound = bindings(spec, forward)
    for at, p in enumerate(spec.spec.params):
        if p.symbol in bound or p.aclnn_only:
            continue
        where = source.at("params", at, "symbol")
        known = did_you_mean(p.symbol, theirs, f"parameters of {forward.spec.name}")
        out.append(
            source.problem(
                where, "nothing says what this is of the forward operator", f"'{p.symbol}'", f"binds: {{{p.symbol}: ...}}; {known}"
            )
        )
    return out


def _shapes(source: Source, spec: CheckedSpec, forward: CheckedSpec) -> list[Problem]:
    out: list[Problem] = []
    for ours, other in bindings(spec, forward).items():
        a, b = spec.program.tensors.get(ours), forward.program.tensors.get(other)
        if a is None or b is None:
            continue
        at = next(i for i, p in enumerate(spec.spec.params) if p.symbol == ours)
        where = source.at("params", at, "flat" if a.flat is not None else "shape")
        if len(a.shape) != len(b.shape) or (a.flat is None) != (b.flat is None):
            said = f"{len(a.shape)} dims, {len(b.shape)} in '{other}' of '{forward.spec.name}'"
            out.append(source.problem(where, f"'{ours}' has another rank than what it is bound to", said, "one rank and layout"))
        elif (
            a.flat is not None
            and b.flat is not None
            and [a.flat.axes.index(x) for x in a.flat.order] != [b.flat.axes.index(x) for x in b.flat.order]
        ):
            said = f"{', '.join(a.flat.order)}; {', '.join(b.flat.order)} in '{forward.spec.name}'"
            out.append(
                source.problem(
                    where, f"'{ours}' has another order than what it is bound to", said, "one order: the buffer is passed on as it is"
                )
            )
        elif a.kind != b.kind:
            out.append(
                source.problem(where, f"'{ours}' holds {a.kind} values", f"'{other}' of '{forward.spec.name}' holds {b.kind}", "one kind")
            )
    return out


def _tests(source: Source, spec: CheckedSpec, forward: CheckedSpec) -> list[Problem]:
    outputs = [t.name for t in forward.program.outputs]
    return [
        source.problem(
            source.at("tests", "from_forward", ours),
            f"'{forward.spec.name}' has no such output",
            f"'{other}'",
            did_you_mean(other, outputs, "outputs"),
        )
        for ours, other in spec.spec.tests.from_forward.items()
        if other not in outputs
    ]


@dataclass(frozen=True)
class Relation:
    """What a gradient spec's tensors are of its forward's, by our symbol: ``gradients`` (output -> input it is the gradient of),
    ``cotangents`` (input -> output whose upstream gradient it is), ``passed`` (input -> forward input whose gradient it already is,
    by another way), ``saved`` (input -> output it holds), ``same`` (input -> input it is). ``sizes`` are the forward's dims and int
    attributes in terms of ours, as far as names and shapes tell."""

    gradients: Mapping[str, str]
    cotangents: Mapping[str, str]
    passed: Mapping[str, str]
    saved: Mapping[str, str]
    same: Mapping[str, str]
    sizes: Mapping[str, IntExpr]


def relation(spec: CheckedSpec, forward: CheckedSpec) -> Relation:
    """The roles of ``spec``'s tensors. An input bound to a forward output is saved when it has its name or the tests take it from
    the forward; one bound to a forward input is a gradient of it when its own name says so."""
    gradients: dict[str, str] = {}
    cotangents: dict[str, str] = {}
    passed: dict[str, str] = {}
    saved: dict[str, str] = {}
    same: dict[str, str] = {}
    for ours, theirs in bindings(spec, forward).items():
        a, b = spec.program.tensors.get(ours), forward.program.tensors.get(theirs)
        if a is None or b is None:
            continue
        if a.role == "output":
            gradients[ours] = theirs
        elif b.role == "output":
            held = ours == theirs or ours in spec.spec.tests.from_forward
            (saved if held else cotangents)[ours] = theirs
        else:
            upstream = ours != theirs and (ours.lower().startswith("grad") or ours.lower().endswith("grad"))
            (passed if upstream else same)[ours] = theirs
    return Relation(gradients, cotangents, passed, saved, same, _sizes(spec, forward))


def _sizes(spec: CheckedSpec, forward: CheckedSpec) -> dict[str, IntExpr]:
    mine = {*spec.program.dims, *spec.program.int_attrs}
    out = {n: sym(n) for n in (*forward.program.dims, *forward.program.int_attrs) if n in mine}
    for ours, theirs in bindings(spec, forward).items():
        a, b = spec.program.tensors.get(ours), forward.program.tensors.get(theirs)
        for e, f in zip(a.shape, b.shape, strict=False) if a is not None and b is not None else ():
            if f.symbol is not None:
                out.setdefault(f.symbol, e)
    for name, value in forward.derived:
        if name not in out and value.free() <= out.keys() and not any(isinstance(x, Numel) for x in value.atoms()):
            out[name] = value.substitute(out)
    return out
