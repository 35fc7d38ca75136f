"""Audit cases to settings: an audit file's case, or a spec's published formula, with everything it may refer to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from generator.formula.broadcasts import expanded_spec
from generator.formula.ir import Assign, For, Program, Stmt
from generator.formula.parse import parse
from generator.spec.audit_file import AuditCase, AuditSource
from generator.spec.errors import Problem, SpecError
from generator.spec.integer import IntExpr
from generator.spec.load import Loc
from generator.spec.model import Constraint, Param
from generator.spec.names import bad_identifier, did_you_mean
from generator.spec.sizes import parse_size
from generator.symbolic.model import Domain
from generator.symbolic.notation import Notation
from generator.symbolic.setting import Setting, attribute, conditions, plain, rebased, resolve_forward, spec_of, tensor_param

__all__ = ["assigned", "partner", "setting_of"]

_FORMS = (r"d_?(\w+)", r"grad_?(\w+)", r"(\w+)_grad", r"g_(\w+)", r"(\w+)_bar")


def assigned(body: Iterable[Stmt]) -> list[str]:
    """The tensors that statements assign, in order, each once."""
    out: dict[str, None] = {}
    for stmt in body:
        if isinstance(stmt, For):
            out.update(dict.fromkeys(assigned(stmt.body)))
        elif isinstance(stmt, Assign):
            out[stmt.tensor] = None
    return list(out)


def partner(name: str, of: Iterable[str]) -> str | None:
    """The tensor among ``of`` that ``name`` is the gradient of, by the usual forms (dx, d_x, grad_x, x_grad)."""
    names = set(of)
    for form in _FORMS:
        found = re.fullmatch(form, name)
        if found is not None and found.group(1) in names:
            return found.group(1)
    return None


def setting_of(audit: AuditSource, at: int) -> Setting:
    """The setting of case ``at`` of an audit file; :class:`SpecError` says what is wrong with its forward or its tables."""
    case, here = audit.file.cases[at], ("cases", at)
    made = {s.tensor for s in _all(parse(case.forward, relaxed=True).body)}
    params, moves = _params(case, here, made)
    source = rebased(audit.source, moves)
    problems = _names(audit, here, case)
    spec = spec_of(case.name, case.forward, params, dims=case.dims, segments=case.segments, broadcast=case.broadcast)
    spec = spec.model_copy(update={"constraints": [Constraint(that=c) for c in case.constraints]})
    done = resolve_forward(source, spec)
    problems += done.problems
    stated, bad = conditions(spec)
    problems += [source.inside(loc, error) for loc, error in bad]
    if problems or done.program is None:
        raise SpecError(problems)
    forward = plain(done.program)
    domain = Domain(
        stated,
        done.derived,
        {n: (low, high) for n, (low, high) in case.inputs.items()},
        _below(case, forward),
        case.boundary,
    )
    gradients, cotangents = _tables(audit, here, case, forward)
    notation = Notation({}, done.packs, done.broadcasts).shaped({**gradients, **cotangents, **case.saved})
    base = expanded_spec(spec, done.broadcasts)
    return Setting(audit.source, (*here, "gradient"), base, forward, gradients, cotangents, case.saved, domain, case.open, notation)


def _params(case: AuditCase, here: Loc, made: set[str]) -> tuple[list[Param], dict[Loc, Loc]]:
    params = [attribute(name, a.type, a.where) for name, a in case.attrs.items()]
    moves: dict[Loc, Loc] = {(*here, key): (key,) for key in ("dims", "segments", "broadcast", "constraints")}
    moves = {(*here, "forward"): ("formula",), **moves}
    for at, name in enumerate(case.attrs):
        moves[(*here, "attrs", name)] = ("params", at)
    for name, t in case.tensors.items():
        moves[(*here, "tensors", name)] = ("params", len(params))
        params.append(tensor_param(name, "out" if name in made else "in", t.shape, t.dtype, t.fill))
    return params, moves


def _names(audit: AuditSource, here: Loc, case: AuditCase) -> list[Problem]:
    """Names are identifiers, and each is given once."""
    out: list[Problem] = []
    taken: dict[str, str] = {}
    for key, names in (("dims", case.dims), ("segments", case.segments), ("attrs", case.attrs), ("tensors", case.tensors)):
        for name in names:
            where = audit.source.key(*here, key, name)
            why = bad_identifier(name)
            if why is not None:
                out.append(audit.source.problem(where, f"the name {why}", f"'{name}'", "another name"))
            if name in taken:
                out.append(audit.source.problem(where, "the name is taken", f"'{name}' stands under {taken[name]}:", "another name"))
            taken[name] = key
    return out


def _below(case: AuditCase, forward: Program) -> dict[str, IntExpr]:
    names = [*forward.dims, *forward.int_attrs]
    return {n: parse_size(t.below, names, ()) for n, t in case.tensors.items() if t.below is not None}


def _tables(audit: AuditSource, here: Loc, case: AuditCase, forward: Program) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Which tensor of the text is the gradient of what: as declared, else by the usual forms of names."""
    inputs = [t.name for t in forward.inputs if t.kind == "float"]
    outputs = [t.name for t in forward.outputs]
    problems: list[Problem] = []
    for key, table, known in (
        ("gradients", case.gradients, inputs),
        ("cotangents", case.cotangents, outputs),
        ("saved", case.saved, list(forward.tensors)),
    ):
        for name, of in table.items():
            if of not in known:
                where = audit.source.at(*here, key, name)
                role = {"gradients": "float input", "cotangents": "output", "saved": "tensor"}[key]
                problems.append(
                    audit.source.problem(where, f"the forward has no such {role}", f"'{of}'", did_you_mean(of, known, role + "s"))
                )
    parsed = parse(case.gradient, relaxed=True)
    body = parsed.body
    made = list(dict.fromkeys([*assigned(body), *re.findall(r"(?m)^\s*([A-Za-z_]\w*)\s*(?:\[|=(?!=))", case.gradient)]))
    gradients = dict(case.gradients) or {n: p for n in made if (p := partner(n, inputs)) is not None}
    read = set(re.findall(r"[A-Za-z_]\w*", case.gradient)) - set(made)
    cotangents = dict(case.cotangents) or {n: p for n in sorted(read) if (p := partner(n, outputs)) is not None}
    if not cotangents and len(outputs) == 1:
        cotangents = dict.fromkeys(sorted(read & {"dout", "grad_output", "grad_out", "g"}), outputs[0])
    if not cotangents and gradients:  # the text reads none: it is named as its gradients are
        first, of = next(iter(gradients.items()))
        cotangents = {first.replace(of, o, 1) if of in first else f"d{o}": o for o in outputs}
    where = audit.source.at(*here, "gradient")
    if not gradients and parsed.findings:
        problems += [audit.source.inside((*here, "gradient"), f) for f in parsed.findings]
    elif not gradients:
        problems.append(audit.source.problem(where, "nothing says which tensor is a gradient", ", ".join(made), "gradients: {dx: x}"))
    problems += [
        audit.source.problem(where, "the gradient is never assigned", f"'{n}'", f"{n}[...] = ...")
        for n in gradients
        if body and n not in made
    ]
    if problems:
        raise SpecError(problems)
    return gradients, cotangents


def _all(body: Iterable[Stmt]) -> Iterable[Assign]:
    for stmt in body:
        if isinstance(stmt, For):
            yield from _all(stmt.body)
        else:
            yield stmt
