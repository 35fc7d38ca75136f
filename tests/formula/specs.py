"""Small specs for tests of the language: a formula between a few parameters, as YAML text."""

from __future__ import annotations

from generator.formula.checked import CheckedSpec, check
from generator.spec.errors import SpecError


def tensor(symbol: str, io: str, shape: str, dtype: str = "float32", extra: str = "") -> str:
    about = "{en: a tensor, zh: 张量}"
    lines = [
        f"  - symbol: {symbol}",
        f"    name: {symbol}",
        f"    aclnn: {symbol}",
        f"    io: {io}",
        f"    shape: {shape}",
        f"    dtype: {dtype}",
    ]
    return "\n".join([*lines, *(f"    {line}" for line in extra.split("; ") if line), f"    about: {about}"])


def attr(symbol: str, kind: str, where: str = "") -> str:
    lines = [f"  - symbol: {symbol}", f"    name: {symbol}", f"    aclnn: {symbol}", "    io: attr", f"    type: {kind}"]
    return "\n".join([*lines, *([f"    where: {where}"] if where else []), "    about: {en: an attribute, zh: 属性}"])


def spec(formula: str, params: list[str], dims: str = "T, N, D", sections: str = "") -> str:
    """A whole spec; ``dims`` lists names, each with an optional condition: ``"T, n: n in {4; 6}"`` (``;`` for a comma)."""
    rows = []
    for entry in dims.split(","):
        name, _, where = entry.strip().partition(":")
        rows.append(f"  {name}: {{" + (f'where: "{where.strip().replace(";", ",")}"' if where else "") + "}")
    body = "\n".join("  " + line for line in formula.strip("\n").split("\n"))
    return "\n".join(
        [
            "name: Case",
            "family: tests",
            "summary: {en: a case, zh: 用例}",
            "dims:",
            *rows,
            "params:",
            *params,
            *([sections] if sections else []),
            "formula: |",
            body,
            "",
        ]
    )


def checked(formula: str, params: list[str], dims: str = "T, N, D", sections: str = "") -> CheckedSpec:
    return check(spec(formula, params, dims, sections), "case.yaml")


def complaints(formula: str, params: list[str], dims: str = "T, N, D", sections: str = "") -> list[str]:
    """The problems of a spec, without their places; empty when it is right."""
    try:
        checked(formula, params, dims, sections)
    except SpecError as error:
        return [": ".join(filter(None, (p.what, p.value, p.right))) for p in error.problems]
    return []
