"""The corpus on disk: right gradients, rewrites of them, mutants, traps and open texts, and the programs they stand for.

A case of a corpus file is a case of an audit file (dims, tensors, ``forward:``, ``gradient:``) with more keys: ``rewrites:``
are other right forms; ``mutants:`` are wrong ones, each ``kind: [old, new]``, an edit of every place in ``gradient`` where
``old`` stands, or ``kind: text``; ``sizes:`` lists values to try for dims and int attributes. ``dx`` is the gradient of ``x``
and ``dy`` the cotangent of ``y`` unless ``gradients:`` or ``cotangents:`` say otherwise. ``like:`` takes everything that is not
given from another case, and ``edit: [old, new]`` edits its gradient.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML

from generator.formula import ir
from generator.formula.broadcasts import broadcasts_of
from generator.formula.parse import parse
from generator.formula.ranges import conditions_of
from generator.formula.resolve import resolve
from generator.spec.conditions import Condition, free
from generator.spec.load import scan
from generator.spec.model import OpSpec

__all__ = ["FOLDER", "Case", "Mutant", "Text", "audit_file", "cases", "conditions", "forward_of", "gradient_of", "program_of", "texts"]

FOLDER: Final = Path(__file__).parent / "corpus"
_OWN: Final = ("rewrites", "mutants", "sizes", "trap", "right", "like", "edit")


@dataclass(frozen=True)
class Mutant:
    kind: str
    text: str


@dataclass(frozen=True, eq=False)
class Case:
    """One forward and what is said of its gradient. ``data`` is the case as an audit file has it; ``trap`` names where
    a wrong formula is right (``right:``) and where it is not (``wrong:``), each a mapping of values to set."""

    name: str
    file: str
    data: Mapping[str, Any]
    rewrites: tuple[str, ...] = ()
    mutants: tuple[Mutant, ...] = ()
    sizes: Mapping[str, list[int]] = field(default_factory=dict)
    trap: Mapping[str, Any] = field(default_factory=dict)
    right: Any = None  # open texts: the right reading's words

    @property
    def gradient(self) -> str:
        return str(self.data["gradient"])


@dataclass(frozen=True)
class Text:
    """One gradient text of a case: ``role`` is right, rewrite, mutant, trap or open."""

    case: Case
    role: str
    label: str
    gradient: str

    @property
    def name(self) -> str:
        return f"{self.case.name}/{self.label}"


@cache
def _read(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


@cache
def cases(*files: str) -> tuple[Case, ...]:
    """Every case of the named corpus files (without ``.yaml``), in order; all files when none is named."""
    found = [_case(_whole(raw), p.stem) for p in sorted(FOLDER.glob("*.yaml")) if not files or p.stem in files for raw in _read(p)["cases"]]
    names = [c.name for c in found]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise ValueError(f"two cases have one name: {', '.join(twice)}")
    return tuple(found)


@cache
def _by_name() -> Mapping[str, Mapping[str, Any]]:
    return {raw["name"]: raw for p in sorted(FOLDER.glob("*.yaml")) for raw in _read(p)["cases"]}


def _whole(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """``raw`` with what it takes from the case it is ``like``."""
    if "like" not in raw:
        return raw
    base = {k: v for k, v in _by_name()[raw["like"]].items() if k not in ("rewrites", "mutants")}
    out = {**base, **raw}
    if "edit" in raw:
        out["gradient"] = _edited(str(out["gradient"]), raw["edit"], raw["name"])
    if "gradients" in out:
        assigned, _ = _names(str(out["gradient"]))
        out["gradients"] = {n: x for n, x in out["gradients"].items() if n in assigned}
    return out


def _case(raw: Mapping[str, Any], file: str) -> Case:
    data = {k: v for k, v in raw.items() if k not in _OWN}
    text = str(data["gradient"])
    assigned, read = _names(text)
    assigned_forward, _ = _names(str(data["forward"]))
    tensors = data["tensors"]
    data["dims"] = {k: v or {} for k, v in data.get("dims", {}).items()}
    data["attrs"] = {k: {"type": v} if isinstance(v, str) else v for k, v in data.get("attrs", {}).items()}
    ours = {f"d{t}": t for t in tensors}
    data.setdefault("gradients", {n: t for n, t in ours.items() if n in assigned and t not in assigned_forward})
    data.setdefault("cotangents", {n: t for n, t in ours.items() if n in read and n not in assigned and t in assigned_forward})
    mutants = tuple(Mutant(k, _edited(text, v, raw["name"])) for m in raw.get("mutants", ()) for k, v in m.items())
    return Case(
        str(raw["name"]),
        file,
        data,
        tuple(raw.get("rewrites", ())),
        mutants,
        raw.get("sizes", {}),
        raw.get("trap", {}),
        raw.get("right"),
    )


def _edited(text: str, edit: str | list[str], name: str) -> str:
    if isinstance(edit, str):
        return edit
    old, new = edit
    if old not in text:
        raise ValueError(f"{name}: {old!r} does not stand in the gradient")
    return text.replace(old, new)


def _names(text: str) -> tuple[set[str], set[str]]:
    """The names a formula assigns, and all names and tensors it reads."""
    assigned: set[str] = set()
    read: set[str] = set()

    def walk(node: Any) -> None:
        if isinstance(node, ir.Assign):
            assigned.add(node.tensor)
        elif isinstance(node, ir.Load):
            read.add(node.tensor)
        elif isinstance(node, ir.Attr):
            read.add(node.name)
        if isinstance(node, tuple):
            for part in node:
                walk(part)
        elif hasattr(node, "__dataclass_fields__") and type(node).__module__ == ir.__name__:
            for f in node.__dataclass_fields__:
                walk(getattr(node, f))

    walk(parse(text, relaxed=True).body)
    return assigned, read


def texts(case: Case) -> Iterator[Text]:
    """Every gradient text of ``case``."""
    if case.right is not None:
        yield Text(case, "open", "open", case.gradient)
        return
    yield Text(case, "trap" if case.trap else "right", "trap" if case.trap else "right", case.gradient)
    for at, text in enumerate(case.rewrites):
        yield Text(case, "rewrite", f"rewrite{at + 1}", text)
    for at, mutant in enumerate(case.mutants):
        yield Text(case, "mutant", f"mutant{at + 1} {mutant.kind}", mutant.text)


def audit_file(text: Text, data: Mapping[str, Any] | None = None) -> str:
    """The text of an audit file with the case of ``text``; ``data`` stands for the case's own."""
    case = {**(data or text.case.data), "gradient": text.gradient}
    return json.dumps({"cases": [case]}, indent=1, ensure_ascii=False)


# programs ------------------------------------------------------------------------------------------------------------


def _shape(declared: Any) -> dict[str, Any]:
    return {"shape": declared} if isinstance(declared, list) else {k: v for k, v in declared.items() if k in ("shape", "dtype")}


def _broadcast(case: Case) -> dict[str, list[str]]:
    """For each broadcast pack the forward's inputs that have it."""
    assigned, _ = _names(str(case.data["forward"]))
    inputs = {n: _shape(d)["shape"] for n, d in case.data["tensors"].items() if n not in assigned}
    return {b: [n for n, shape in inputs.items() if f"*{b}" in shape] for b in case.data.get("broadcast", ())}


def _like(case: Case, name: str) -> Any:
    """The declaration of a gradient of ``name``: it has that input's axes of a broadcast pack."""
    declared = case.data["tensors"][name]
    own = {f"*{b}": f"*{b} & {name}" for b, inputs in _broadcast(case).items() if name in inputs}
    return declared if not own else [own.get(t, t) for t in _shape(declared)["shape"]]


def _extents(case: Case, t: ir.Tensor) -> list[str]:
    """The shape of an intermediate; packs of broadcast axes by the inputs that have them."""
    known = broadcasts_of(OpSpec.model_validate(_spec(case, "y = 0", {})))
    exact = {f"numel_{p}": f"*{b.exactly(p)}" for b in known for p in b.groups}
    out: list[str] = []
    for packed, run in groupby(t.shape, lambda e: str(e) in exact):
        out += [f"*{text}" for b in known for text in b.texts([str(e)[6:] for e in run])] if packed else [str(e) for e in run]
    return out


def _spec(case: Case, formula: str, tensors: Mapping[str, tuple[str, Any]]) -> dict[str, Any]:
    """A spec of ``formula`` with ``tensors`` (name -> io, declaration), only to be resolved."""
    about = {"en": "-", "zh": "-"}
    params: list[dict[str, Any]] = []
    for name, attr in case.data["attrs"].items():
        kept = {k: v for k, v in attr.items() if k in ("type", "where")}
        params.append({"symbol": name, "name": name, "aclnn": name, "io": "attr", "about": about, **kept})
    for name, (io, declared) in tensors.items():
        shape = {"dtype": "float32", **_shape(declared)}
        params.append({"symbol": name, "name": name, "aclnn": name, "io": io, "about": about, **shape})
    return {
        "name": "Case",
        "family": "corpus",
        "summary": about,
        "dims": case.data["dims"],
        "segments": case.data.get("segments", {}),
        "broadcast": _broadcast(case),
        "constraints": [{"that": c} for c in case.data.get("constraints", [])],
        "params": params,
        "formula": formula,
    }


def _resolved(spec: Mapping[str, Any], label: str) -> ir.Program:
    source = scan(json.dumps(spec), label)
    if source.spec is None:
        raise ValueError(f"{label}: {'; '.join(str(p) for p in source.problems)}")
    done = resolve(source, source.spec)
    if done.program is None:
        raise ValueError(f"{label}: {'; '.join(f'{p.what} {p.value}: {p.right}' for p in done.problems)}\n{spec['formula']}")
    return done.program


@cache
def forward_of(case: Case) -> ir.Program:
    """The forward of ``case``, resolved."""
    assigned, _ = _names(str(case.data["forward"]))
    params = {n: ("out" if n in assigned else "in", d) for n, d in case.data["tensors"].items()}
    return _resolved(_spec(case, str(case.data["forward"]), params), f"{case.name}, forward")


@cache
def _gradient(case: Case, text: str) -> ir.Program:
    declared, forward = case.data["tensors"], forward_of(case)
    written, read = _names(text)
    saved = {**{n: n for n in forward.tensors}, **case.data.get("saved", {})}
    ours: dict[str, tuple[str, Any]] = {n: ("in", declared[f]) for n, f in case.data["cotangents"].items() if n in read}
    for mine, theirs in saved.items():
        if mine in read - written and mine not in ours:
            ours[mine] = ("in", declared.get(theirs) or _extents(case, forward.tensors[theirs]))
    ours |= {n: ("out", _like(case, x)) for n, x in case.data["gradients"].items()}
    return _resolved(_spec(case, text, ours), f"{case.name}, gradient")


def gradient_of(text: Text) -> ir.Program:
    """The gradient of ``text``, resolved; ValueError says what is wrong with it."""
    return _gradient(text.case, text.gradient)


def program_of(text: Text) -> tuple[ir.Program, ir.Program]:
    """The forward and the gradient of ``text``, resolved."""
    return forward_of(text.case), gradient_of(text)


def conditions(case: Case) -> list[Condition]:
    """The conditions on sizes and integer attributes of ``case``."""
    spec = OpSpec.model_validate(_spec(case, "y = 0", {}))
    floats = {n for n, a in case.data["attrs"].items() if a["type"] != "int"}
    return [c for c in conditions_of(spec) if not free(c) & floats]
