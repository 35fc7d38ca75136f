"""Claims of operator specs: a gradient spec's own formula, and the formulas documents publish for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from generator.formula.broadcasts import expanded_spec
from generator.formula.checked import CheckedSpec
from generator.formula.ir import Assign, Bound, Load, Program
from generator.formula.link import bindings
from generator.formula.ranges import conditions_of
from generator.spec.conditions import And, Compare, Condition, Member, Not, Or
from generator.spec.integer import IntExpr, sym
from generator.spec.load import scan, text_of
from generator.spec.model import Dim, Param, Published
from generator.symbolic.cases import partner
from generator.symbolic.model import Claim, Domain, Place
from generator.symbolic.notation import Notation
from generator.symbolic.setting import Setting, plain
from generator.symbolic.surface import substituted

__all__ = ["Roles", "own_claim", "published_setting", "roles"]


class Roles:
    """What a gradient spec's parameters are of its forward: ``gradients`` (output -> forward input), ``cotangents`` (input -> forward
    output), ``saved`` (input -> forward tensor); ``forward`` is the forward's program without flat buffers, in which an input that has
    an upstream gradient of its own is passed on as one more output."""

    def __init__(self, forward: Program) -> None:
        self.forward = forward
        self.gradients: dict[str, str] = {}
        self.cotangents: dict[str, str] = {}
        self.saved: dict[str, str] = {}


def roles(spec: CheckedSpec, forward: CheckedSpec) -> Roles:
    """The roles of ``spec``'s parameters."""
    out = Roles(plain(forward.program))
    bound = bindings(spec, forward)
    inputs = {t.name for t in out.forward.inputs}
    for name, of in bound.items():
        tensor = spec.program.tensors.get(name)
        if tensor is None or of not in out.forward.tensors:
            continue
        if tensor.role == "output":
            out.gradients[name] = of
        elif name != of and _upstream(name, of):
            if of in inputs:
                of = _passed(out, of)
            out.cotangents[name] = of
        else:
            out.saved[name] = of
    return out


def _upstream(name: str, of: str) -> bool:
    """Whether a name is that of an upstream gradient."""
    low = name.lower()
    return partner(name, [of]) is not None or low.startswith("grad") or low.endswith("grad")


def _passed(roles: Roles, name: str) -> str:
    """One more output of the forward that is its input ``name``: where an upstream gradient of the input itself enters."""
    new = f"{name}_passed"
    t = roles.forward.tensors[name]
    axes = tuple(Bound(f"{new}_{at}", extent) for at, extent in enumerate(t.shape))
    indices = tuple(sym(a.name) for a in axes)
    body = (*roles.forward.body, Assign(new, indices, Load(name, indices), axes))
    tensors = {**roles.forward.tensors, new: replace(t, name=new, role="output", optional=False, fill=None)}
    roles.forward = replace(roles.forward, body=body, tensors=tensors)
    return new


def own_claim(spec: CheckedSpec, forward: CheckedSpec) -> Claim:
    """The claim that ``spec``'s formula computes the gradients of ``forward``, sizes named as the forward names them."""
    part = roles(spec, forward)
    gradient = _unified(plain(spec.program), part)
    domain, fixed = _fixed(domain_of(spec, forward), gradient, part)
    part.forward = resized(part.forward, fixed)
    source = scan(text_of(spec.path), spec.path)
    where = source.at("formula")
    inputs = {t.name for t in gradient.inputs}
    saved = {n: of for n, of in part.saved.items() if n in inputs}
    return Claim(
        spec.spec.name,
        part.forward,
        gradient,
        part.gradients,
        part.cotangents,
        saved,
        domain,
        Place(str(spec.path), where.line, where.column),
        notation=_notation(forward, {**part.gradients, **part.cotangents, **saved}),
    )


def domain_of(spec: CheckedSpec, forward: CheckedSpec) -> Domain:
    """Where the gradient is to be right: wherever the forward is defined, and the gradient spec's own conditions hold."""
    conditions: list[Condition] = list(conditions_of(forward.spec))
    known = {*forward.program.dims, *forward.program.int_attrs}
    derived = tuple((n, e) for n, e in forward.derived if not _counts(e))
    for cond in conditions_of(spec.spec):
        if cond not in conditions:
            conditions.append(cond)
    ours = tuple((n, e) for n, e in spec.derived if n not in known and not _counts(e))
    ranges = {n: (low, high) for n, (low, high) in forward.spec.tests.inputs.items()}
    return Domain(tuple(conditions), (*derived, *ours), ranges, {}, {**forward.spec.policies.boundary, **spec.spec.policies.boundary})


def _counts(e: IntExpr) -> bool:
    return any(type(a).__name__ == "Numel" for a in e.atoms())


def _unified(gradient: Program, part: Roles) -> Program:
    """``gradient`` with its own names of sizes replaced by the forward's, found by comparing shapes."""
    names = _sizes(gradient, part)
    if not names:
        return gradient
    return resized(gradient, names)


def resized(program: Program, names: Mapping[str, IntExpr]) -> Program:
    """``program`` with dims replaced by expressions in others."""
    if not names:
        return program
    tensors = {n: replace(t, shape=tuple(e.substitute(names) for e in t.shape)) for n, t in program.tensors.items()}
    dims = tuple(d for d in program.dims if d not in names)
    return replace(program, body=substituted(program.body, dict(names)), tensors=tensors, dims=dims)


def _fixed(domain: Domain, gradient: Program, part: Roles) -> tuple[Domain, dict[str, IntExpr]]:
    """Dims of the forward that the gradient spec settles (it takes three of what may be two or three), and dims that follow."""
    ours = {*gradient.dims, *gradient.int_attrs}
    fixed: dict[str, IntExpr] = {}
    for mine, theirs in {**part.gradients, **part.cotangents, **part.saved}.items():
        if mine not in gradient.tensors:
            continue
        for a, b in zip(gradient.tensors[mine].shape, part.forward.tensors[theirs].shape, strict=False):
            name = b.symbol
            if name is not None and name in part.forward.dims and name not in ours and a.free() <= ours:
                fixed.setdefault(name, a)
    for name, value in domain.derived:
        if name not in ours and name not in fixed and value.free() & fixed.keys():
            fixed[name] = value.substitute(fixed)
    if not fixed:
        return domain, fixed
    derived = tuple((n, e.substitute(fixed)) for n, e in domain.derived if n not in fixed)
    return replace(domain, conditions=tuple(substituted_condition(c, fixed) for c in domain.conditions), derived=derived), fixed


def substituted_condition(c: Condition, names: Mapping[str, IntExpr]) -> Condition:
    """A condition with dims replaced."""
    match c:
        case Compare(op=op, a=a, b=b):
            return Compare(op, *(x.substitute(names) if isinstance(x, IntExpr) else x for x in (a, b)))
        case Member(a=a, values=values):
            return Member(a.substitute(names), values)
        case Not(x=x):
            return Not(substituted_condition(x, names))
        case And(parts=parts):
            return And(tuple(substituted_condition(p, names) for p in parts))
        case Or(parts=parts):
            return Or(tuple(substituted_condition(p, names) for p in parts))
    return c


def _sizes(gradient: Program, part: Roles) -> dict[str, IntExpr]:
    """The gradient spec's own names of sizes, as the forward's sizes."""
    names: dict[str, IntExpr] = {}
    known = {*part.forward.dims, *part.forward.int_attrs}
    for ours, theirs in {**part.gradients, **part.cotangents, **part.saved}.items():
        if ours not in gradient.tensors:
            continue
        for a, b in zip(gradient.tensors[ours].shape, part.forward.tensors[theirs].shape, strict=False):
            name = a.symbol
            if name is not None and name not in known and a != b:
                names.setdefault(name, b)
    return names


def published_setting(spec: CheckedSpec, forward: CheckedSpec, at: int) -> Setting:
    """The setting of the published formula ``at`` of ``spec``: it may use the parameters of both specs by name."""
    source = scan(text_of(spec.path), spec.path)
    published: Published = spec.spec.published[at]
    part = roles(spec, forward)
    domain, fixed = _fixed(domain_of(spec, forward), _unified(plain(spec.program), part), part)
    part.forward = resized(part.forward, fixed)
    base = forward.spec
    taken_names = {q.symbol for q in base.params}
    more: list[Param] = [p for p in spec.spec.params if p.io == "attr" and p.symbol not in taken_names]
    how = {s.hf32.attr for s in (base, spec.spec) if s.hf32 is not None}  # no formula names it
    sizes = {n: e for n, e in _sizes(plain(spec.program), part).items() if n not in taken_names}
    kept = [p for p in (*base.params, *more) if not p.aclnn_only and p.symbol not in how]
    dims = {n: d for n, d in base.dims.items() if n not in fixed}
    segments = dict(spec.spec.segments) if fixed else base.segments
    added = {n: Dim(value=str(e)) for n, e in sizes.items()}
    base = base.model_copy(update={"params": kept, "dims": {**dims, **added}, "segments": segments, "hf32": None})
    gradients = published.gradients or part.gradients
    cotangents = published.cotangents or part.cotangents
    taken = {*gradients, *cotangents}
    saved = {n: of for n, of in {**part.saved, **published.saved}.items() if n not in taken}
    for name, of in part.cotangents.items():
        if name not in taken and of not in cotangents.values():
            cotangents = {**cotangents, name: of}
    loc = ("published", at, "formula")
    domain = replace(domain, derived=(*domain.derived, *((n, e) for n, e in sizes.items() if n not in dict(domain.derived))))
    notation = _notation(forward, {**gradients, **cotangents, **saved})
    base = expanded_spec(base, forward.broadcasts)
    return Setting(source, loc, base, part.forward, gradients, cotangents, saved, domain, published.open, notation)


def _notation(forward: CheckedSpec, like: Mapping[str, str]) -> Notation:
    """Packs as the forward's spec writes them, for tensors shaped like the forward's."""
    return Notation({}, forward.packs, forward.broadcasts).shaped(like)
