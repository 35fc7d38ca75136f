"""Audit files: forward formulas and the gradients somebody publishes for them, without the rest of an operator.

The models, and the reading of a file into cases with every position kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationError

from generator.spec.errors import Problem, SpecError, TextError
from generator.spec.load import Source, explained, text_of
from generator.spec.model import Dim, DTypeName, Model, SizeText
from generator.spec.nodes import Where, compose

__all__ = ["AuditAttr", "AuditCase", "AuditFile", "AuditSource", "AuditTensor", "is_audit", "read_audit", "scan_audit"]


def _tensor(value: object) -> object:
    """A bare shape stands for a float tensor of that shape."""
    return {"shape": value} if isinstance(value, list) else value


def _attr(value: object) -> object:
    """A bare type stands for an attribute without a condition."""
    return {"type": value} if isinstance(value, str) else value


def _nothing(value: object) -> object:
    """A name without a value (``T:``) stands for no condition."""
    return {} if value is None else value


class AuditTensor(Model):
    """A tensor of the forward formula: an output when the formula assigns it, else an input."""

    shape: list[SizeText]
    dtype: DTypeName = "float32"
    below: SizeText | None = None  # integer tensors: values in 0 .. below - 1
    fill: float | None = None  # outputs: value of elements the formula does not write


class AuditAttr(Model):
    """An attribute of the forward formula."""

    type: Literal["float", "int", "bool"] = "float"
    where: str | None = None  # its range, e.g. "eps > 0"


class AuditCase(Model):
    """One forward formula and one text with gradients of it."""

    name: str
    about: str = ""
    source: str = ""  # the document the gradient stands in
    dims: dict[str, Annotated[Dim, BeforeValidator(_nothing)]] = Field(default_factory=dict)
    segments: dict[str, dict[str, list[SizeText]]] = Field(default_factory=dict)  # K: {pre: [n], res: [n, n]}
    broadcast: list[str] | dict[str, list[str]] = Field(default_factory=list)  # packs with NumPy's rule: [b], or {b: [x, w]}
    attrs: dict[str, Annotated[AuditAttr, BeforeValidator(_attr)]] = Field(default_factory=dict)
    tensors: dict[str, Annotated[AuditTensor, BeforeValidator(_tensor)]]
    constraints: list[str] = Field(default_factory=list)  # conditions on dims and attributes
    inputs: dict[str, Annotated[list[float], Field(min_length=2, max_length=2)]] = Field(default_factory=dict)  # value ranges
    forward: str
    gradient: str
    gradients: dict[str, str] = Field(default_factory=dict)  # name in the gradient text -> forward input it is the gradient of
    cotangents: dict[str, str] = Field(default_factory=dict)  # upstream gradient's name -> forward output
    saved: dict[str, str] = Field(default_factory=dict)  # name in the gradient text -> forward tensor it holds, where they differ
    open: dict[str, list[str]] = Field(default_factory=dict)  # a name the document leaves open -> what it may mean
    boundary: dict[str, str] = Field(default_factory=dict)  # convention at kinks, e.g. {max: first, abs: "0"}


class AuditFile(Model):
    """Any number of cases."""

    about: str = ""
    cases: list[AuditCase] = Field(min_length=1)


@dataclass(frozen=True)
class AuditSource:
    """An audit file as written: ``source`` keeps the positions, ``file`` the typed cases."""

    source: Source
    file: AuditFile


def is_audit(text: str) -> bool:
    """Whether a YAML text is an audit file: it has ``cases:`` at the top level."""
    return any(line.startswith("cases:") for line in text.split("\n"))


def read_audit(path: str | Path) -> AuditSource:
    """Read an audit file; :class:`SpecError` lists every problem of its form. Formulas are not read yet."""
    return scan_audit(text_of(Path(path)), path)


def scan_audit(text: str, path: str | Path) -> AuditSource:
    """:func:`read_audit` of a text that is (or will be) at ``path``."""
    try:
        tree = compose(text)
    except TextError as error:
        raise SpecError([Problem(str(path), error.line, error.column, error.what, error.value, error.right)]) from error
    source = Source(Path(path), text, tree, None)
    problems = [source.problem(Where(e.line, e.column), e.what, e.value, e.right) for e in tree.problems]
    try:
        file = AuditFile.model_validate(tree.data)
    except ValidationError as error:
        raise SpecError([*problems, *explained(source, error, AuditFile)]) from error
    seen: dict[str, int] = {}
    for at, case in enumerate(file.cases):
        first = seen.setdefault(case.name, at)
        if first != at:
            where = source.at("cases", at, "name")
            problems.append(source.problem(where, "two cases have one name", f"'{case.name}'", f"another name (case {first + 1} has it)"))
    if problems:
        raise SpecError(problems)
    return AuditSource(source, file)
