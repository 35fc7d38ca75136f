"""A derived gradient as a spec: the forward's parameters that it reads, its cotangents, its outputs, and the formula."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from generator.formula.checked import CheckedSpec, check
from generator.formula.infer import children
from generator.formula.ir import Attr, Expr, IntVal, Load, Program, Reduce
from generator.formula.printer import text
from generator.formula.symbols import is_tensor
from generator.spec.errors import SpecError
from generator.spec.integer import IntExpr
from generator.spec.model import DTypeName, OpSpec, Param
from generator.spec.packs import broadcast_parts
from generator.symbolic.derive import Derived
from generator.symbolic.notation import Notation, as_written
from generator.symbolic.versions import assigned

__all__ = ["formula_of", "spec_text"]


def formula_of(program: Program, notation: Notation, *, extents: bool = False) -> str:
    """The program as formula text in an author's notation."""
    return text(as_written(program, notation, extents=extents), extents=extents)


def spec_text(forward: CheckedSpec, derived: Derived, cotangents: Mapping[str, str], path: str = "gradient.yaml") -> str:
    """The YAML text of a spec that computes ``derived``; it is checked as a spec at ``path``.

    Axes are written without their extents when these can be inferred. Raises :class:`SpecError` when the language has no
    complete spec for it (a size that no input's shape gives)."""
    notation = Notation.of(forward).shaped({g: x for x, g in derived.gradients.items()})
    last: SpecError | None = None
    for extents in (False, True):
        document = _Document(forward, derived, cotangents, formula_of(derived.program, notation, extents=extents)).build()
        said = _dump(document)
        try:
            check(said, path)
        except SpecError as error:
            last = error
            continue
        return said
    assert last is not None
    raise last


class _Document:
    def __init__(self, forward: CheckedSpec, derived: Derived, cotangents: Mapping[str, str], formula: str) -> None:
        self.checked = forward
        self.spec: OpSpec = forward.spec
        self.derived = derived
        self.program = derived.program
        self.cotangents = {y: g for y, g in cotangents.items() if g in derived.program.tensors}
        self.formula = formula

    def build(self) -> dict[str, Any]:
        spec = self.spec
        params = [p for _, p in self.params()]
        symbols = {p["symbol"] for p in params}
        sizes = self.sizes()
        out: dict[str, Any] = {
            "name": f"{spec.name}Backward",
            "family": spec.family,
            "summary": {
                "en": f"The gradient of {spec.name} with respect to {', '.join(self.derived.gradients)}.",
                "zh": f"{spec.name}对{'、'.join(self.derived.gradients)}的梯度。",
            },
            "forward": spec.name,
            "binds": self.binds(),
            "products": list(spec.products),
            "dims": {n: d.model_dump(exclude_none=True) for n, d in spec.dims.items() if n in sizes},
        }
        if spec.segments:
            out["segments"] = {k: {n: list(s) for n, s in v.items()} for k, v in spec.segments.items()}
        if self.checked.broadcasts:
            out["broadcast"] = {b: list(parts) for b, parts in broadcast_parts(spec).items()}
        out["params"] = params
        used = {p.get("dtype") for p in params}
        kinds = [{v: t for v, t in row.items() if v in used} for row in spec.dtypes]
        if any(kinds):
            out["dtypes"] = [row for at, row in enumerate(kinds) if row not in kinds[:at]]
        if spec.compute != "float32":
            out["compute"] = spec.compute
        out |= self.rules(symbols | sizes)
        out["formula"] = LiteralScalarString(self.formula)
        tests = self.tests(symbols | sizes)
        if tests:
            out["tests"] = tests
        return out

    def params(self) -> list[tuple[str, dict[str, Any]]]:
        """The parameters in order: cotangents, what is read of the forward, attributes, gradients."""
        by_symbol = {p.symbol: p for p in self.spec.params}
        attrs = self.attributes()
        out: list[tuple[str, dict[str, Any]]] = []
        for y, g in self.cotangents.items():
            out.append((g, self.like(by_symbol[y], g, "in", "gradient of the forward's output: ", "正向输出的梯度：")))
        for t in self.program.inputs:
            if t.name in self.cotangents.values():
                continue
            source = next(f for f, name in self.derived.saved.items() if name == t.name)
            p = by_symbol.get(source)
            if p is not None:
                out.append((t.name, self.like(p, t.name, "in", "", "")))
            else:
                out.append((t.name, self.intermediate(source, t.name)))
        out += self.shapes(by_symbol, {name for name, _ in out})
        out += [(p.symbol, _plain(p)) for p in self.spec.params if not is_tensor(p) and p.symbol in attrs]
        for x, g in self.derived.gradients.items():
            made = self.like(by_symbol[x], g, "out", "gradient of the forward's input: ", "正向输入的梯度：")
            if "shape" in made:
                own = {f"*{b.name}" for b in self.checked.broadcasts if x in b.own}
                made["shape"] = [f"{t} & {x}" if t in own else t for t in made["shape"]]
            out.append((g, made))
        return out

    def shapes(self, by_symbol: Mapping[str, Param], there: set[str]) -> list[tuple[str, dict[str, Any]]]:
        """Inputs of the forward that are not read, for sizes that no other input's shape gives."""
        out: list[tuple[str, dict[str, Any]]] = []
        known = {name for name, _ in self.checked.derived} | set(self.checked.program.int_attrs)
        known |= {n for t in self.program.inputs if t.flat is None for e in t.shape for n in [e.symbol] if n is not None}
        for t in self.checked.program.inputs:
            mine = {n for e in t.shape for n in [e.symbol] if n is not None} if t.flat is None else set()
            broadcast = any(t.name in parts for parts in broadcast_parts(self.spec).values())
            if t.name not in there and (broadcast or (mine - known and mine - known <= self.attributes() | set(self.spec.dims))):
                known |= mine
                out.append((t.name, self.like(by_symbol[t.name], t.name, "in", "", "")))
        return out

    def like(self, p: Param, symbol: str, io_: str, en: str, zh: str) -> dict[str, Any]:
        """A parameter shaped and typed like ``p``."""
        out = _plain(p)
        for gone in ("ctype", "aliases", "optional_when", "default"):
            out.pop(gone, None)
        out |= {"symbol": symbol, "io": io_, "about": {"en": en + p.about.en, "zh": zh + p.about.zh}}
        if en:
            out |= {"name": f"grad_{p.name}", "aclnn": "grad" + p.aclnn[:1].upper() + p.aclnn[1:]}
            out.pop("optional", None)
            out.pop("fill", None)
        elif p.io != "in":
            out.pop("optional", None)
            out.pop("fill", None)
        return out

    def intermediate(self, source: str, symbol: str) -> dict[str, Any]:
        """An intermediate of the forward that is saved."""
        t = self.checked.program.tensors[source]
        about = {"en": f"the forward's intermediate {source}", "zh": f"正向的中间结果{source}"}
        shape = [str(e) for e in t.shape]
        return {"symbol": symbol, "name": symbol, "aclnn": symbol, "io": "in", "shape": shape, "dtype": "float32", "about": about}

    def attributes(self) -> set[str]:
        """The attributes that the formula or the shapes of its parameters name."""
        found = self.names()
        for t in self.program.tensors.values():
            for e in (*t.shape, *((t.flat.size,) if t.flat is not None else ())):
                found |= e.free()
        return found

    def names(self) -> set[str]:
        out: set[str] = set()
        for stmt, _ in assigned(self.program.body):
            out |= {n for i in stmt.indices if isinstance(i, IntExpr) for n in i.free()}
            out |= {n for a in stmt.axes if a.extent is not None for n in a.extent.free()}
            out |= _names(stmt.value)
        for s in self.program.body:
            out |= _loop_names(s)
        return out

    def sizes(self) -> set[str]:
        """The dims in use, those in the values and conditions of others included."""
        found = self.attributes() | {n for s in self.spec.segments.values() for v in s.values() for t in v for n in _free(t)}
        out = {n for n in self.spec.dims if n in found}
        for p in self.spec.params:  # the shapes of all parameters that are kept, flat buffers included
            if p.symbol in self.derived.gradients or p.symbol in self.cotangents or p.symbol in self.derived.saved:
                out |= {n for n in self.spec.dims for t in (p.shape or []) if n in _words(t)}
        out |= {n for d in list(out) for n in self.spec.dims if n in _words(self.spec.dims[d].where or "")}
        for name, value in self.checked.derived:
            if name in out:
                out |= value.free() & set(self.spec.dims)
        return out

    def binds(self) -> dict[str, str]:
        out = {g: y for y, g in self.cotangents.items()}
        out |= {name: f for f, name in self.derived.saved.items() if name != f}
        out |= {g: x for x, g in self.derived.gradients.items()}
        return out

    def rules(self, known: set[str]) -> dict[str, Any]:
        """Groups, constraints and policies, as far as they speak of what is there."""
        out: dict[str, Any] = {}
        members = {p.symbol for p in self.spec.params if p.io == "in"}
        groups = [g.model_dump(exclude_defaults=True) for g in self.spec.groups if set(g.members) <= known & members]
        if groups:
            out["groups"] = groups
        constraints = [
            c.model_dump(exclude_defaults=True, exclude_none=True) for c in self.spec.constraints if _words(c.that) <= known | _OPERATORS
        ]
        if constraints:
            out["constraints"] = constraints
        out["policies"] = self.spec.policies.model_dump(exclude_defaults=True) | {
            "empty": self.spec.policies.empty,
            "deterministic": self.spec.policies.deterministic,
        }
        return out

    def tests(self, known: set[str]) -> dict[str, Any]:
        spec = self.spec.tests
        out: dict[str, Any] = {}
        for part in ("values", "attrs", "inputs"):
            kept = {k: list(v) for k, v in getattr(spec, part).items() if k in known}
            if kept:
                out[part] = kept
        outputs = {t.name for t in self.checked.program.outputs}
        saved = {name: f for f, name in self.derived.saved.items() if f in outputs}
        if saved:
            out["from_forward"] = saved
        return out


_OPERATORS = {"and", "or", "not", "in", "numel", "dtype", *get_args(DTypeName)}


def _words(condition: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", condition))


def _free(size: str) -> Iterable[str]:
    return _words(size) if size else ()


def _plain(p: Param) -> dict[str, Any]:
    """A parameter as YAML has it: what differs from the defaults, descriptions last."""
    out = p.model_dump(exclude_defaults=True, exclude_none=True)
    about = out.pop("about")
    return {**out, "about": about}


def _names(e: Expr) -> set[str]:
    match e:
        case Attr(name=name):
            return {name}
        case IntVal(value=value):
            return set(value.free())
        case Load(indices=indices):
            return {n for i in indices if isinstance(i, IntExpr) for n in i.free()}
        case Reduce(axes=axes):
            return {n for a in axes if a.extent is not None for n in a.extent.free()}.union(*map(_names, children(e)))
    return set().union(*map(_names, children(e)))


def _loop_names(stmt: object) -> set[str]:
    out: set[str] = set()
    for bound in (getattr(stmt, "start", None), getattr(stmt, "stop", None)):
        out |= set(bound.free()) if isinstance(bound, IntExpr) else set()
    for inner in getattr(stmt, "body", ()):
        out |= _loop_names(inner)
    return out


def _dump(document: dict[str, Any]) -> str:
    yaml = YAML()
    yaml.width = 140
    yaml.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    yaml.dump(document, out)
    return out.getvalue()
