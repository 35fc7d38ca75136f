"""The return-code table of a document: every condition that the first phase checks, in its order, with its code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from generator.emit.docs_words import WORDS, Lang
from generator.emit.prototype import ctype
from generator.emit.shapes import combinations
from generator.formula.checked import CheckedSpec
from generator.spec.model import OpSpec, Param, Status

__all__ = ["Code", "Names", "codes"]

_NUMBERS: Final[dict[str, int]] = {
    "PARAM_NULLPTR": 161001,
    "PARAM_INVALID": 161002,
    "RUNTIME_ERROR": 361001,
    "INNER_NULLPTR": 561103,
}
_NAME: Final = r"\*?[A-Za-z_]\w*"


@dataclass(frozen=True)
class Code:
    """One line of the table."""

    name: str
    number: int
    condition: str


class Names:
    """A spec's symbols as its document spells them: attributes and tensors by their names in the aclnn call."""

    def __init__(self, spec: OpSpec) -> None:
        self.spec = spec
        self.aclnn = {p.symbol: p.aclnn for p in spec.params}
        self.attributes = {p.symbol for p in spec.params if p.io == "attr"}

    def text(self, expression: str) -> str:
        """A size or a condition of the spec, with the document's names."""
        counted = re.sub(r"\b(numel|dtype)\((\w+)\)", lambda m: f"{m[1]}({self.aclnn.get(m[2], m[2])})", expression)
        return re.sub(r"(?<!\()\b[A-Za-z_]\w*\b", lambda m: self.aclnn[m[0]] if m[0] in self.attributes else m[0], counted)

    def shapes(self, p: Param) -> list[str]:
        """Every accepted shape of a tensor parameter."""
        if p.flat is not None:
            return [self.text(p.flat.size)]
        every: list[list[str | list[str]]] = [list(p.shape or []), *p.ranks]
        return [", ".join(self._extent(d) for d in shape) for shape in every]

    def _extent(self, d: str | list[str]) -> str:
        if isinstance(d, list):
            return ", ".join(d)
        return "..." if d.startswith("*") else self.text(d)

    def dtypes(self, p: Param) -> list[str]:
        """The dtypes of a tensor parameter, as documents name them."""
        found = dict.fromkeys(c.get(p.dtype or "", p.dtype or "float32") for c in combinations(self.spec))
        return [said(d) for d in found]


def said(dtype: str) -> str:
    """A dtype as documents name it."""
    return {"float32": "FLOAT", "float64": "DOUBLE"}.get(dtype, dtype.upper())


def codes(checked: CheckedSpec, lang: Lang) -> tuple[Code, ...]:
    """The table in one language."""
    return tuple(_Codes(checked, lang).every())


class _Codes:
    def __init__(self, checked: CheckedSpec, lang: Lang) -> None:
        self.checked, self.spec, self.lang = checked, checked.spec, lang
        self.names = Names(checked.spec)
        self.tensors = [p for p in self.spec.params if p.io != "attr"]

    def line(self, status: Status | str, key: str, **places: str) -> Code:
        text = WORDS[key][self.lang]
        return Code(f"ACLNN_ERR_{status}", _NUMBERS[status], text.format(**places) if places else text)

    def listed(self, params: Iterable[Param]) -> str:
        return WORDS["and"][self.lang].join(p.aclnn for p in params)

    def every(self) -> Iterator[Code]:
        spec = self.spec
        required = [p for p in spec.params if ctype(p).endswith("*") and not p.optional]
        if required:
            yield self.line("PARAM_NULLPTR", "null", names=self._any(required))
        for p in spec.params:
            if p.optional_when:
                yield self.line("PARAM_NULLPTR", "null_when", name=p.aclnn, when=self.names.text(p.optional_when))
        for g in spec.groups:
            yield self.line(g.code, "group_code", names=self.listed(p for p in spec.params if p.symbol in g.members))
        if spec.policies.empty == "refuse":
            refused = [p for p in self.tensors if not p.optional or p.io == "in"]
            yield self.line("PARAM_INVALID", "empty_refused", names=self._any(refused))
        yield from self._dtypes()
        yield self.line("PARAM_INVALID", "rank", names=self._any(self.tensors))
        if spec.policies.noncontiguous == "refuse":
            yield self.line("PARAM_INVALID", "strided_refused", names=self._any(self.tensors))
        yield from self._conditions()
        yield from self._agreements()
        yield self.line("PARAM_INVALID", "format", names=self._any(self.tensors))
        yield self.line("RUNTIME_ERROR", "product")
        yield self.line("INNER_NULLPTR", "inner")

    def _any(self, params: Iterable[Param]) -> str:
        names = [p.aclnn for p in params]
        if self.lang == "zh" or len(names) < 2:
            return WORDS["and"][self.lang].join(names)
        return ", ".join(names[:-1]) + " or " + names[-1]

    def _dtypes(self) -> Iterator[Code]:
        variables = list(dict.fromkeys(k for c in combinations(self.spec) for k in c))
        if not variables:
            yield self.line("PARAM_INVALID", "dtype_one", names=self._any(self.tensors))
            return
        groups = {v: self.listed(p for p in self.tensors if p.dtype == v) for v in variables}
        listed = WORDS["stop"][self.lang].join(
            WORDS["comma"][self.lang].join(f"{groups[v]} {said(c[v])}" for v in variables) for c in combinations(self.spec)
        )
        yield self.line("PARAM_INVALID", "dtype", names=self._any(self.tensors), list=listed)

    def _conditions(self) -> Iterator[Code]:
        for p in self.spec.params:
            if p.where:
                yield self.line("PARAM_INVALID", "holds", that=self.names.text(p.where))
        for d in self.spec.dims.values():
            if d.where:
                yield self.line("PARAM_INVALID", "holds", that=self.names.text(d.where))
        for c in self.spec.constraints:
            yield self.line(c.code, "holds", that=self.names.text(c.that))

    def _agreements(self) -> Iterator[Code]:
        """Dims that several shapes share, several forms of shape, and element counts of flat buffers."""
        ranked = [p for p in self.tensors if p.ranks]
        if len(ranked) > 1:
            yield self.line("PARAM_INVALID", "form", names=self.listed(ranked))
        words: dict[str, int] = {}
        for p in self.tensors:
            shapes: list[list[str | list[str]]] = [list(p.shape or []), *p.ranks]
            every = [w for shape in shapes for d in shape for e in (d if isinstance(d, list) else [d]) for w in re.findall(_NAME, e)]
            twice = {str(d) for d in p.shape or [] if (p.shape or []).count(d) > 1}
            for w in dict.fromkeys(every):
                words[w] = words.get(w, 0) + (2 if w in twice else 1)
        shared = [("..." if w.startswith("*") else w) for w, n in words.items() if n > 1 and w not in self.names.attributes]
        if shared:
            yield self.line("PARAM_INVALID", "agree", dims=WORDS["and"][self.lang].join(dict.fromkeys(shared)))
        for p in self.tensors:
            if p.flat is not None:
                yield self.line("PARAM_INVALID", "count", name=p.aclnn, size=f"`{self.names.text(p.flat.size)}`")
