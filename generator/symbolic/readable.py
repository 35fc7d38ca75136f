"""Keys of polynomials, as proofs name what they leave open or assume, in the names of the text that is audited."""

from __future__ import annotations

import re
from typing import Final

from generator.formula.ir import Assign, For, Program, Stmt
from generator.spec.integer import IntExpr

__all__ = ["readable"]

_LETTERS: Final = "ijklmnpqrstuvw"


def readable(key: str, program: Program, output: str) -> str:
    """The polynomial of ``key`` as a formula: ``x[i] - w[i]`` for ``1*x[@0]+-1*w[@0]``. Axes of ``output`` have the names that its
    statement in ``program`` gives them; those of sums are the next letters."""
    taken = {*re.findall(r"[A-Za-z_]\w*", key), *program.tensors, *program.dims, *program.int_attrs}
    mine = _axes(program.body, output)
    names = {f"@{d}": n for d, n in enumerate(mine)}
    free = (c for c in _LETTERS if c not in taken and c not in mine)
    for symbol in dict.fromkeys(re.findall(r"[@$]\d+(?:\.\d+)?", key)):
        if symbol not in names:
            names[symbol] = next(free, symbol)
    said = re.sub(r"[@$]\d+(?:\.\d+)?", lambda m: names[m[0]], key)
    said = re.sub(r"\bfwd_(?=\w+\[)", "", said)  # an intermediate of the forward
    out = ""
    for term in _terms(said.replace("^", "**")):
        number, _, rest = term.partition("*")
        sign, size = ("-", number[1:]) if number.startswith("-") else ("+", number)
        factor = rest if rest and size == "1" else f"{size}*{rest}" if rest else size
        out += f" {sign} {factor}" if out else factor if sign == "+" else f"-{factor}"
    return out


def _terms(text: str) -> list[str]:
    """The parts of a sum, split outside of brackets."""
    out, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "+" and depth == 0:
            out.append(text[start:at])
            start = at + 1
    return [*out, text[start:]]


def _axes(body: tuple[Stmt, ...], output: str) -> list[str]:
    """The axes on the left side of the first statement that makes ``output``."""
    for s in body:
        if isinstance(s, For):
            found = _axes(s.body, output)
            if found:
                return found
        elif isinstance(s, Assign) and s.tensor == output:
            return [i.symbol if isinstance(i, IntExpr) and i.symbol is not None else f"i{d}" for d, i in enumerate(s.indices)]
    return []
