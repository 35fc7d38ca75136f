"""The document of one operator: summary, parameters, constraints and formula in both languages."""

from __future__ import annotations

from dataclasses import dataclass

from generator.emit.names import snake
from generator.formula.checked import CheckedSpec
from generator.spec.model import Param

__all__ = ["Document", "Language", "document"]


@dataclass(frozen=True)
class Row:
    """One line of the parameter table."""

    name: str
    io: str
    ctype: str
    about: str
    dtypes: str
    shape: str


@dataclass(frozen=True)
class Language:
    """The document in one language."""

    title: str
    headings: dict[str, str]
    summary: str
    rows: tuple[Row, ...]
    constraints: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Document:
    """Both languages and what they share."""

    op: str
    snake: str
    products: tuple[str, ...]
    formula: str
    chinese: Language
    english: Language


_HEADINGS = {
    "zh": {"products": "产品支持", "summary": "功能说明", "formula": "计算公式", "parameters": "参数说明", "constraints": "约束说明",
           "columns": "参数名 | 输入/输出/属性 | 类型 | 描述 | 数据类型 | 维度"},
    "en": {"products": "Products", "summary": "Description", "formula": "Formula", "parameters": "Parameters",
           "constraints": "Constraints", "columns": "name | io | type | description | dtypes | shape"},
}  # fmt: skip
_IO = {
    "zh": {"in": "输入", "out": "输出", "inout": "输入输出", "attr": "属性"},
    "en": {"in": "input", "out": "output", "inout": "input and output", "attr": "attribute"},
}


def document(checked: CheckedSpec) -> Document:
    """Everything the template prints, with every text taken from the spec."""
    spec = checked.spec
    return Document(
        spec.name, snake(spec.name), tuple(spec.products), spec.formula.rstrip("\n"), _language(checked, "zh"), _language(checked, "en")
    )


def _language(checked: CheckedSpec, lang: str) -> Language:
    spec = checked.spec
    conditions = [f"`{d.where}`" for d in spec.dims.values() if d.where]
    conditions += [f"`{p.where}`" for p in spec.params if p.where]
    for c in spec.constraints:
        about = f": {getattr(c.about, lang)}" if c.about else ""
        conditions.append(f"`{c.that}`{about}")
    for name, dim in spec.dims.items():
        if dim.about:
            conditions.append(f"{name}: {getattr(dim.about, lang)}" + (f" (`{name} = {dim.value}`)" if dim.value else ""))
    rows = tuple(_row(checked, p, lang) for p in spec.params)
    notes = tuple(getattr(n, lang) for n in spec.notes)
    return Language(f"aclnn{spec.name}", _HEADINGS[lang], getattr(spec.summary, lang), rows, tuple(conditions), notes)


def _row(checked: CheckedSpec, p: Param, lang: str) -> Row:
    spec = checked.spec
    if p.io == "attr":
        default = "" if p.default is None else f" = {p.default}"
        return Row(p.aclnn, _IO[lang][p.io], p.ctype or p.type or "", _cell(getattr(p.about, lang)), f"{p.type}{default}", "-")
    dtypes = list(dict.fromkeys(str(c.get(p.dtype or "", p.dtype)) for c in spec.dtypes)) or [str(p.dtype)]
    if p.flat is not None:
        shape = f"[{p.flat.size}]"
    else:
        shapes: list[list[str | list[str]]] = [list(p.shape or []), *p.ranks]
        texts = (", ".join(d if isinstance(d, str) else ", ".join(d) for d in s) for s in shapes)
        shape = " / ".join(f"[{t}]" for t in texts)
    ctype = p.ctype or ("const aclTensor *" if p.io == "in" else "aclTensor *")
    optional = {"zh": "（可选）", "en": " (optional)"}[lang] if p.optional else ""
    return Row(p.aclnn, _IO[lang][p.io] + optional, ctype, _cell(getattr(p.about, lang)), ", ".join(dtypes), _cell(shape))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")
