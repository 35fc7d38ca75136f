"""Formula text to surface syntax: Python's ``ast``, checked node by node against a strict subset, never evaluated.

Anything outside the subset is a finding that names the node. All findings of a text are reported at once: a
statement that cannot be read is left out and reading goes on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, cast, overload

from generator.formula.functions import CONSTANTS, FUNCTIONS, REDUCTIONS
from generator.formula.ir import (
    Assign,
    Attr,
    Binary,
    BinOp,
    Bound,
    Call,
    Cast,
    CmpOp,
    Compare,
    DType,
    Expr,
    For,
    Gather,
    Index,
    Load,
    Logic,
    Neg,
    Not,
    Num,
    Pack,
    Product,
    RedOp,
    Reduce,
    Segment,
    Span,
    Stmt,
    Where,
)
from generator.spec.errors import TextError
from generator.spec.integer import IntExpr, sym
from generator.spec.names import did_you_mean
from generator.spec.packs import pack_names
from generator.spec.sizes import describe, from_ast, place

__all__ = ["DTYPES", "UNSTATED", "FormulaError", "Parsed", "parse"]

DTYPES: Final = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool")
UNSTATED: Final = "..."
_BINARY: Final[dict[type[ast.operator], BinOp]] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
}
_COMPARE: Final[dict[type[ast.cmpop], CmpOp]] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
_HINTS: Final[dict[type[ast.AST], str]] = {
    ast.IfExp: "where(condition, a, b)",
    ast.If: "where(condition, a, b) on the right side",
    ast.While: "for r in range(...)",
    ast.AugAssign: "a[t] = a[t] + ...",
    ast.AnnAssign: "a[t] = ...",
    ast.NamedExpr: "a statement of its own",
    ast.FunctionDef: "statements and for loops only",
    ast.Import: "statements and for loops only",
    ast.ImportFrom: "statements and for loops only",
    ast.Pass: "a statement",
    ast.Return: "an assignment to an output",
    ast.Expr: "tensor[indices] = expression",
    ast.BitAnd: "'and'",
    ast.BitOr: "'or'",
    ast.Invert: "'not'",
    ast.MatMult: "sum[k](a[i, k] * b[k, j])",
}
_SUBSET: Final = "numbers, names, tensor[indices], + - * / ** // %, comparisons, and/or/not, functions, where, cast, sum[k](...)"
_MAX_DEPTH: Final = 200


class FormulaError(Exception):
    """A text that is not a formula: every fault found, in text order."""

    def __init__(self, findings: list[TextError]) -> None:
        self.findings = findings
        super().__init__("; ".join(f"{f.line}:{f.column}: {f.what} {f.value}".rstrip() for f in findings))


@dataclass(frozen=True)
class Parsed:
    """What could be read of a text, and what could not."""

    body: tuple[Stmt, ...]
    findings: tuple[TextError, ...]


Locate = Callable[[int, int], Span]


@overload
def parse(text: str, *, relaxed: Literal[False] = False, locate: Locate = Span) -> tuple[Stmt, ...]: ...
@overload
def parse(text: str, *, relaxed: Literal[True], locate: Locate = Span) -> Parsed: ...
def parse(text: str, *, relaxed: bool = False, locate: Locate = Span) -> tuple[Stmt, ...] | Parsed:
    """Read ``text``. ``locate`` maps a 1-based line and column of the text to the span to record (findings keep the text's own).

    Strict: returns the statements, raises :class:`FormulaError` with all faults. Relaxed (published formulas): returns
    what could be read together with the findings, and never raises; a reduction that does not say over which axes is kept without axes,
    and the bounds of a loop over ``range(...)``, which gives neither range nor direction, are the symbol ``UNSTATED``.
    """
    parsed = _Parser(text, locate, relaxed).run()
    if relaxed:
        return parsed
    if parsed.findings:
        raise FormulaError(list(parsed.findings))
    return parsed.body


class _Parser:
    def __init__(self, text: str, locate: Locate, relaxed: bool = False) -> None:
        self.relaxed = relaxed
        self.lines = text.split("\n")
        self.locate = locate
        self.findings: list[TextError] = []
        self.depth = 0

    # places and faults ------------------------------------------------------------------------------------------
    def span(self, node: ast.AST) -> Span:
        return self.locate(*place(node, self.lines))

    def fault(self, node: ast.AST, what: str, value: str = "", right: str = "") -> TextError:
        line, column = place(node, self.lines)
        return TextError(what, value, right, line=line, column=column)

    def refuse(self, node: ast.AST, right: str = _SUBSET) -> TextError:
        return self.fault(node, f"{describe(node)} is not part of the formula language", self.source(node), _HINTS.get(type(node), right))

    def source(self, node: ast.AST) -> str:
        line, column = place(node, self.lines)
        end = getattr(node, "end_lineno", line)
        if end != line:
            return f"'{self.lines[line - 1][column - 1 :].strip()} ...'"
        stop = len(self.lines[line - 1].encode()[: getattr(node, "end_col_offset", 0)].decode(errors="ignore"))
        return f"'{self.lines[line - 1][column - 1 : stop]}'"

    # statements --------------------------------------------------------------------------------------------------
    def run(self) -> Parsed:
        module = self.module()
        body = self.block(module.body)
        if not body and not self.findings:
            self.findings.append(TextError("the formula has no statement", "", "tensor[indices] = expression"))
        self.findings.sort(key=lambda f: (f.line, f.column))
        return Parsed(body, tuple(self.findings))

    def module(self) -> ast.Module:
        """Python's syntax; a line that is none is reported, replaced by ``pass`` and reading starts again."""
        lines = list(self.lines)
        for _ in range(20):
            try:
                return ast.parse("\n".join(lines))
            except SyntaxError as error:
                line = min(max(error.lineno or 1, 1), len(lines))
                at = error.offset or 1
                if error.msg.startswith("expected an indented block"):
                    line = max(line - 1, 1)
                if lines[line - 1].strip() == "pass" or not lines[line - 1].strip():
                    break
                self.findings.append(
                    TextError(
                        "the formula is not valid syntax",
                        f"'{lines[line - 1].strip()}' ({error.msg})",
                        "tensor[indices] = expression",
                        line=line,
                        column=at,
                    )
                )
                indent = len(lines[line - 1]) - len(lines[line - 1].lstrip())
                lines[line - 1] = " " * indent + "pass"
            except (ValueError, RecursionError, MemoryError) as error:
                self.findings.append(TextError("the formula cannot be read", str(error), "shorter statements without control characters"))
                break
        return ast.Module([], [])

    def block(self, nodes: list[ast.stmt]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for node in nodes:
            if isinstance(node, ast.Pass) and self.findings:
                continue  # stands for a line already reported
            try:
                out.append(self.statement(node))
            except TextError as error:
                self.findings.append(error)
        return tuple(out)

    def statement(self, node: ast.stmt) -> Stmt:
        if isinstance(node, ast.For):
            return self.loop(node)
        if not isinstance(node, ast.Assign):
            raise self.refuse(node, "tensor[indices] = expression, or for r in range(...)")
        if len(node.targets) != 1:
            raise self.fault(
                node.targets[1], "a chained assignment is not part of the formula language", self.source(node), "one '=' a statement"
            )
        tensor, indices, spots, axes = self.target(node.targets[0])
        return Assign(tensor, indices, self.expr(node.value), axes, span=self.span(node), spots=spots)

    def target(self, node: ast.expr) -> tuple[str, tuple[Index, ...], tuple[Span, ...], tuple[Bound, ...]]:
        if isinstance(node, ast.Name):
            return node.id, (), (), ()
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            raise self.refuse(node, "tensor[indices] on the left side")
        parts: list[ast.expr] = []
        axes: list[Bound] = []
        for part in self.elements(node.slice):
            if isinstance(part, ast.Slice):
                bound = self.bound(part)
                axes.append(bound)
                parts.append(cast("ast.expr", part.lower))
            else:
                parts.append(part)
        return node.value.id, tuple(self.index(p) for p in parts), tuple(self.span(p) for p in parts), tuple(axes)

    def loop(self, node: ast.For) -> For:
        if node.orelse:
            raise self.fault(node.orelse[0], "a loop's else is not part of the formula language", "", "statements after the loop")
        if not isinstance(node.target, ast.Name):
            raise self.fault(node.target, "a loop has one variable", self.source(node.target), "for r in range(n):")
        call = node.iter
        if not (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "range"
            and 1 <= len(call.args) <= 3
            and not call.keywords
        ):
            raise self.fault(
                call, "a loop runs over a range", self.source(call), "range(stop), range(start, stop) or range(start, stop, step)"
            )
        if self.relaxed and len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and call.args[0].value is ...:
            right = "range(start, stop, step)"
            self.findings.append(self.fault(call, "the loop gives neither range nor direction", self.source(call), right))
            return For(node.target.id, sym(UNSTATED), sym(UNSTATED), 1, self.block(node.body), span=self.span(node))
        args = [self.integer(a) for a in call.args]
        start, stop = (IntExpr(()), args[0]) if len(args) == 1 else (args[0], args[1])
        step = args[2].value if len(args) == 3 else 1
        if not step:
            raise self.fault(call.args[2], "a loop's step is a non-zero constant", self.source(call.args[2]), "1, -1, 2, ...")
        body = self.block(node.body)
        return For(node.target.id, start, stop, step, body, span=self.span(node))

    # indices -----------------------------------------------------------------------------------------------------
    def integer(self, node: ast.expr) -> IntExpr:
        def leaf(part: ast.expr) -> IntExpr | None:
            return sym(part.id) if isinstance(part, ast.Name) else None

        return from_ast(node, leaf, self.fault)

    def index(self, node: ast.expr) -> Index:
        if isinstance(node, ast.Starred):
            return Pack(self.pack(node), span=self.span(node))
        if isinstance(node, ast.Tuple):
            return Product(tuple(self.index(p) for p in node.elts), span=self.span(node))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in ("min", "max"):
            if node.keywords:
                raise self.refuse(node.keywords[0], "segment(i, j)")
            return Segment(node.func.id, tuple(self.index(p) for p in node.args), span=self.span(node))
        if isinstance(node, ast.Subscript):
            return Gather(self.load(node), span=self.span(node))
        if isinstance(node, ast.Slice):
            raise self.fault(node, "a slice is not an index", self.source(node), "an axis name; reductions bind axes: sum[k](...)")
        return self.integer(node)

    def pack(self, node: ast.Starred) -> str:
        """The text of a pack without its star: ``b``, or of a broadcast pack ``b & x`` or ``b - x``."""
        said = ast.unparse(node.value)
        if not pack_names(said):
            raise self.fault(node, "this is no pack of axes", self.source(node), "*b, or of a broadcast pack *b & x or *b - x")
        return said

    def elements(self, node: ast.expr) -> list[ast.expr]:
        """The subscripts of ``a[...]``: ``a[i, d]`` has two, ``a[(i, d)]`` one product."""
        if not isinstance(node, ast.Tuple):
            return [node]
        said = self.source(node)[1:-1]
        depth, closes = 0, -1
        for at, char in enumerate(said):
            depth += (char == "(") - (char == ")")
            if depth == 0:
                closes = at
                break
        return [node] if said.startswith("(") and closes == len(said) - 1 else list(node.elts)

    def load(self, node: ast.Subscript) -> Load:
        if not isinstance(node.value, ast.Name):
            raise self.refuse(node.value, "tensor[indices]")
        parts = self.elements(node.slice)
        return Load(node.value.id, tuple(self.index(p) for p in parts), span=self.span(node), spots=tuple(self.span(p) for p in parts))

    def bound(self, node: ast.expr) -> Bound:
        if isinstance(node, ast.Name):
            return Bound(node.id)
        if isinstance(node, ast.Starred):
            return Bound("*" + self.pack(node))
        if isinstance(node, ast.Slice) and isinstance(node.lower, ast.Name) and node.upper is not None and node.step is None:
            return Bound(node.lower.id, self.integer(node.upper))
        raise self.fault(node, "an axis is a name, with its extent where no tensor gives it", self.source(node), "k or k: K")

    # expressions -------------------------------------------------------------------------------------------------
    def expr(self, node: ast.expr) -> Expr:
        self.depth += 1
        try:
            if self.depth > _MAX_DEPTH:
                raise self.fault(node, "the expression is nested too deeply", f"{_MAX_DEPTH} levels", "intermediate tensors")
            return self.dispatch(node)
        finally:
            self.depth -= 1

    def dispatch(self, node: ast.expr) -> Expr:
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return Num(value, self.source(node).strip("'"), span=self.span(node))
            case ast.Name(id=name):
                return Num(CONSTANTS[name], name, span=self.span(node)) if name in CONSTANTS else Attr(name, span=self.span(node))
            case ast.Subscript():
                return self.load(node)
            case ast.BinOp():
                op = _BINARY.get(type(node.op))
                if op is None:
                    raise self.operator(node, node.op, "+ - * / ** // %")
                return Binary(op, self.expr(node.left), self.expr(node.right), span=self.span(node))
            case ast.UnaryOp():
                return self.unary(node)
            case ast.BoolOp():
                return self.logic(node)
            case ast.Compare():
                return self.comparison(node)
            case ast.Call():
                return self.call(node)
            case _:
                raise self.refuse(node)

    def operator(self, node: ast.expr, op: ast.AST, right: str) -> TextError:
        what = f"the operator {type(op).__name__} is not part of the formula language"
        return self.fault(node, what, self.source(node), _HINTS.get(type(op), right))

    def unary(self, node: ast.UnaryOp) -> Expr:
        if isinstance(node.op, ast.USub):
            return Neg(self.expr(node.operand), span=self.span(node))
        if isinstance(node.op, ast.Not):
            return Not(self.expr(node.operand), span=self.span(node))
        raise self.operator(node, node.op, "- or not")

    def logic(self, node: ast.BoolOp) -> Expr:
        word: Literal["and", "or"] = "and" if isinstance(node.op, ast.And) else "or"
        out = self.expr(node.values[0])
        for value in node.values[1:]:
            out = Logic(word, out, self.expr(value), span=self.span(node))
        return out

    def comparison(self, node: ast.Compare) -> Expr:
        span = self.span(node)
        out: Expr | None = None
        left = self.expr(node.left)
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            word = _COMPARE.get(type(op))
            if word is None:
                raise self.fault(
                    node, f"the comparison '{type(op).__name__}' is not part of the formula language", self.source(node), "< <= > >= == !="
                )
            right = self.expr(right_node)
            link = Compare(word, left, right, span=span)
            out = link if out is None else Logic("and", out, link, span=span)
            left = right
        assert out is not None
        return out

    def call(self, node: ast.Call) -> Expr:
        if isinstance(node.func, ast.Subscript) and isinstance(node.func.value, ast.Name):
            return self.reduction(node, node.func, node.func.value.id)
        if not isinstance(node.func, ast.Name):
            raise self.refuse(node.func, "a function's name")
        name, span = node.func.id, self.span(node)
        if node.keywords:
            raise self.fault(
                node.keywords[0],
                "a keyword argument is not part of the formula language",
                self.source(node.keywords[0]),
                f"{name}(...) with plain arguments",
            )
        if name == "cast":
            return self.cast(node)
        if name == "where":
            self.arity(node, name, 3)
            cond, a, b = (self.expr(x) for x in node.args)
            return Where(cond, a, b, span=span)
        if name in REDUCTIONS:
            right = f"{name}[k](...)" + (f", or {name}imum(a, b) of two values" if name in ("max", "min") else "")
            error = self.fault(node, f"'{name}' does not say over which axes", self.source(node), right)
            if not self.relaxed or len(node.args) != 1:
                raise error
            self.findings.append(error)
            return Reduce(cast("RedOp", name), (), self.expr(node.args[0]), span=span)
        if name not in FUNCTIONS:
            raise self.fault(
                node, "no function has this name", f"'{name}'", did_you_mean(name, [*FUNCTIONS, "where", "cast", *REDUCTIONS], "functions")
            )
        self.arity(node, name, FUNCTIONS[name].arity)
        return Call(name, tuple(self.expr(x) for x in node.args), span=span)

    def arity(self, node: ast.Call, name: str, count: int) -> None:
        if len(node.args) != count:
            raise self.fault(
                node,
                f"'{name}' takes {count} argument{'s' * (count != 1)}",
                f"{len(node.args)} given",
                f"{name}({', '.join('abc'[:count])})",
            )

    def cast(self, node: ast.Call) -> Cast:
        self.arity(node, "cast", 2)
        which = node.args[1]
        if not isinstance(which, ast.Name) or which.id not in DTYPES:
            given = which.id if isinstance(which, ast.Name) else self.source(which)
            raise self.fault(which, "cast needs a dtype", f"'{given}'", did_you_mean(given, DTYPES, "dtypes"))
        return Cast(cast("DType", which.id), self.expr(node.args[0]), span=self.span(node))

    def reduction(self, node: ast.Call, func: ast.Subscript, name: str) -> Reduce:
        if name not in REDUCTIONS:
            raise self.fault(func, "no reduction has this name", f"'{name}'", did_you_mean(name, REDUCTIONS, "reductions"))
        if len(node.args) != 1:
            raise self.fault(node, f"'{name}' reduces one expression", f"{len(node.args)} given", f"{name}[k](expression)")
        divisor: Expr | None = None
        for keyword in node.keywords:
            if keyword.arg != "divisor" or name != "mean":
                raise self.fault(
                    keyword, "a keyword argument is not part of the formula language", self.source(keyword), "mean[k: K](..., divisor=d)"
                )
            divisor = self.expr(keyword.value)
        axes = tuple(self.bound(a) for a in self.elements(func.slice))
        names = [a.name for a in axes]
        for at, axis in enumerate(names):
            if axis in names[:at]:
                raise self.fault(self.elements(func.slice)[at], "the axis is bound twice by one reduction", f"'{axis}'", "each axis once")
        return Reduce(cast("RedOp", name), axes, self.expr(node.args[0]), divisor, span=self.span(node))
