"""The documents of one operator, one per language: products, formulas, prototypes, parameter and return-code tables, limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from generator.emit.docs_codes import Code, Names, codes
from generator.emit.docs_words import IO, PRODUCTS, WORDS, Lang
from generator.emit.names import snake
from generator.emit.prototype import ctype, phases
from generator.emit.shapes import combinations
from generator.formula import ir
from generator.formula.checked import CheckedSpec
from generator.formula.latex import latex, name
from generator.formula.parse import parse
from generator.reference.liveness import assigns, loads
from generator.spec.integer import product, sym
from generator.spec.model import Param
from generator.spec.sizes import parse_size

__all__ = ["Document", "Row", "cell", "document"]

_ATTRIBUTES = {"float": "FLOAT", "double": "DOUBLE", "int64_t": "INT64", "int8_t": "INT8", "int32_t": "INT32", "bool": "BOOL"}
_DETERMINISM = {"always": "always", "optional": "when_asked", "never": "never"}
_DASH = "-"


@dataclass(frozen=True)
class Row:
    """One line of the parameter table."""

    name: str
    io: str
    about: str
    usage: str
    dtypes: str
    formats: str
    shape: str
    strided: str


@dataclass(frozen=True)
class Document:
    """The document in one language; ``words`` are the fixed texts of the template."""

    op: str
    snake: str
    words: dict[str, str]
    products: tuple[tuple[str, str], ...]
    summary: str
    notes: tuple[str, ...]
    formula: str
    remarks: tuple[str, ...]
    prototypes: tuple[str, str]
    rows: tuple[Row, ...]
    tail: tuple[tuple[str, str, str], ...]  # workspaceSize and executor of the first phase
    run: tuple[tuple[str, str, str], ...]
    sizes: tuple[str, ...]
    codes: tuple[Code, ...]
    determinism: str
    empty: str
    limits: tuple[str, ...]
    boundary: str


def document(checked: CheckedSpec, lang: Lang) -> Document:
    """The parts of the document in one language, every one computed from the spec."""
    return _Document(checked, lang).build()


class _Document:
    def __init__(self, checked: CheckedSpec, lang: Lang) -> None:
        self.checked, self.spec, self.lang = checked, checked.spec, lang
        self.api = f"aclnn{self.spec.name}"
        self.names = Names(self.spec)

    def say(self, key: str, **places: str) -> str:
        return WORDS[key][self.lang].format(**places) if places else WORDS[key][self.lang]

    def joined(self, parts: Iterable[str], by: str = "and") -> str:
        return self.say(by).join(parts)

    def build(self) -> Document:
        spec = self.spec
        first = f"{self.api}GetWorkspaceSize"
        policy = spec.policies.empty
        words = {k: v[self.lang] for k, v in WORDS.items() if "{" not in v[self.lang]}
        words["phases"] = self.say("phases", first=first, second=self.api)
        words["example_text"] = self.say("example_text", name=f"test_aclnn_{snake(spec.name)}.cpp")
        boundary = self.joined(f"{k}: {v}" for k, v in spec.policies.boundary.items())
        return Document(
            op=spec.name,
            snake=snake(spec.name),
            words=words,
            products=tuple((PRODUCTS[p][self.lang], self.say("yes" if p in spec.products else "no")) for p in PRODUCTS),
            summary=getattr(spec.summary, self.lang),
            notes=tuple(getattr(n, self.lang) for n in spec.notes),
            formula=latex(parse(spec.formula)),
            remarks=tuple(self._remarks()),
            prototypes=phases(spec),
            rows=tuple(self._row(p) for p in spec.params),
            tail=(("workspaceSize", IO["out"][self.lang], self.say("workspace_size_out")),
                  ("executor", IO["out"][self.lang], self.say("executor_out"))),
            run=tuple(
                (n, IO["in"][self.lang], text)
                for n, text in (("workspace", self.say("workspace")), ("workspaceSize", self.say("workspace_size", first=first)),
                                ("executor", self.say("executor")), ("stream", self.say("stream")))
            ),
            sizes=tuple(self._sizes()),
            codes=codes(self.checked, self.lang),
            determinism=self.say(_DETERMINISM[spec.policies.deterministic], api=self.api),
            empty=self.say(f"empty_{policy}"),
            limits=tuple(self._limits()),
            boundary=self.say("boundary", list=boundary) if boundary else "",
        )  # fmt: skip

    # formula --------------------------------------------------------------------------------------------------------
    def _remarks(self) -> Iterator[str]:
        """What a reader of the formula must know beside it."""
        spec, body = self.spec, parse(self.spec.formula)
        named = [(p.symbol, p.aclnn) for p in spec.params if p.symbol != p.aclnn and not p.aclnn_only]
        if named:
            yield self.say("symbols", list=self.joined((self.say("symbol", symbol=name(s), name=a) for s, a in named), "comma"))
        for axis, parts in spec.segments.items():
            listed = self.joined(f"$\\mathrm{{{part}}}$ ({' × '.join(sizes)})" for part, sizes in parts.items())
            yield self.say("segments", axis=axis, list=listed)
        surface = [i for a in assigns(body) for i in _indices(a)]
        if any(isinstance(i, ir.Product) for i in surface):
            yield self.say("merged")
        for pack in dict.fromkeys(i.name for i in surface if isinstance(i, ir.Pack)):
            yield self.say("packs", pack=pack)
        yield self.say("ranges")
        outside = {(n.tensor, n.outside or 0.0) for a in assigns(self.checked.program.body) for n in loads(a) if n.guarded}
        for tensor, value in sorted(outside):
            shown = {float("inf"): "+∞", float("-inf"): "-∞"}.get(value, f"{value:g}")
            yield self.say("outside", name=f"${name(tensor)}$", value=shown)
        by_level: dict[str, list[str]] = {}
        for symbol, verdict in spec.audited.items():
            by_level.setdefault(verdict, []).append(self.names.aclnn[symbol])
        for level, outputs in by_level.items():
            yield self.say("verdict", names=self.joined(outputs), forward=spec.forward or "", level=self.say(level))
        yield self.say("compute", dtype=spec.compute.upper().replace("FLOAT32", "FLOAT"))
        if spec.hf32 is not None:
            yield self.say("hf32", attr=self.names.aclnn[spec.hf32.attr], values=self.joined(map(str, spec.hf32.values), "or"))

    # parameters -----------------------------------------------------------------------------------------------------
    def _row(self, p: Param) -> Row:
        about, io = getattr(p.about, self.lang), IO[p.io][self.lang]
        usage = self.joined(self._usage(p), "stop") or _DASH
        if p.io == "attr":
            kind = ctype(p)
            dtype = _ATTRIBUTES.get(kind, kind.replace("const ", "").replace(" *", ""))
            return Row(p.aclnn, io, about, usage, dtype, _DASH, _DASH, _DASH)
        strided = self.say("yes" if self.spec.policies.noncontiguous == "accept" else "no")
        shape = self.joined((f"({t})" for t in self.names.shapes(p)), "or")
        return Row(p.aclnn, io, about, usage, self.joined(self.names.dtypes(p)), self.joined(p.formats), shape, strided)

    def _usage(self, p: Param) -> Iterator[str]:
        if p.optional_when:
            yield self.say("optional_when", when=self.names.text(p.optional_when))
        elif p.optional and p.io == "in":
            yield self.say("optional_in", value=f"{p.fill:g}") if p.fill is not None else self.say("optional")
        elif p.optional:
            yield self.say("optional_out")
        for g in self.spec.groups:
            if p.symbol in g.members:
                yield self.say("group", others=self.joined(self.names.aclnn[m] for m in g.members if m != p.symbol))
        if p.aliases is not None or p.io == "inout":
            yield self.say("alias")
        if p.flat is not None:
            flat = self.checked.program.tensors[p.symbol].flat
            place = sum((sym(a) * flat.stride(a) for a in flat.axes), start=parse_size("0")) if flat else ""
            yield self.say("flat", axes=", ".join(p.flat.axes), place=f"`{self.names.text(str(place))}`")
        first = next((q for q in self.spec.params if q.io != "attr" and q.dtype == p.dtype), p)
        if p.io != "attr" and len(combinations(self.spec)) > 1 and first is not p and len(self.names.dtypes(p)) > 1:
            yield self.say("same_dtype", other=first.aclnn)
        if p.where:
            yield self.say("range", where=self.names.text(p.where))
        if p.default is not None:
            yield self.say("default", value=str(p.default).lower() if isinstance(p.default, bool) else f"{p.default}")

    def _sizes(self) -> Iterator[str]:
        """What the names in the shapes mean."""
        spec = self.spec
        for dim, d in spec.dims.items():
            about = self.say("colon") + getattr(d.about, self.lang) if d.about else ""
            where = f"{self.say('comma')}`{self.names.text(d.where)}`" if d.where else ""
            value = f"{self.say('comma')}`{dim} = {self.names.text(d.value)}`" if d.value else ""
            yield f"{dim}{about}{value}{where}"
        for axis, parts in spec.segments.items():
            total = sum((product(parse_size(s) for s in sizes) for sizes in parts.values()), start=parse_size("0"))
            yield f"{axis} = `{self.names.text(str(total))}`"
        flattened = {
            (s, tuple(d)) for p in spec.params for rank in p.ranks for s, d in zip(p.shape or [], rank, strict=True) if isinstance(d, list)
        }
        for canonical, dims in sorted(flattened):
            yield self.say("product_of", dim=canonical, factors=" × ".join(dims))
        if any(s.startswith("*") for p in spec.params for s in p.shape or []):
            yield self.say("leading")

    def _limits(self) -> Iterator[str]:
        """The conditions on sizes and attributes, with what their authors say of them."""
        for c in self.spec.constraints:
            yield self._limit(c.that, getattr(c.about, self.lang) if c.about else "")
        for dim, d in self.spec.dims.items():
            if d.where:
                yield self._limit(d.where, getattr(d.about, self.lang) if d.about else dim)
        for p in self.spec.params:
            if p.where:
                yield self._limit(p.where, getattr(p.about, self.lang))

    def _limit(self, condition: str, about: str) -> str:
        return f"`{self.names.text(condition)}`" + (self.say("colon") + about if about else "")


def _indices(node: object) -> Iterator[object]:
    """Every index of a surface statement, those inside products and segments included."""
    if isinstance(node, ir.Assign | ir.Load):
        for i in node.indices:
            yield from _inner(i)
    if isinstance(node, ir.Assign):
        for load in loads(node.value):
            yield from _indices(load)


def _inner(index: object) -> Iterator[object]:
    yield index
    for part in getattr(index, "parts", ()):
        yield from _inner(part)


def cell(text: str) -> str:
    """A text inside a table of Markdown: bars and stars mean themselves, code spans stay as they are."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p.replace("|", "\\|") if p.startswith("`") else p.replace("|", "\\|").replace("*", "\\*") for p in parts)
