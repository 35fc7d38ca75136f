"""Integer expressions written as text: ``2*num_iters*n*8*T``, ``numel(norm) // (2*T*n*8)``, ``min(K, 8)``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection

from generator.spec.errors import TextError
from generator.spec.integer import IntExpr, const, floor_div, max_of, min_of, mod, numel, sym
from generator.spec.names import did_you_mean

__all__ = ["describe", "from_ast", "parse_expression", "parse_size", "place"]

_NODE_NAMES = {
    "Attribute": "an attribute access (a.b)",
    "Lambda": "a lambda",
    "ListComp": "a comprehension",
    "SetComp": "a comprehension",
    "DictComp": "a comprehension",
    "GeneratorExp": "a comprehension",
    "IfExp": "an if-expression",
    "JoinedStr": "a formatted string",
    "NamedExpr": "an assignment expression (:=)",
    "Starred": "a starred value (*b)",
    "Tuple": "a tuple",
    "List": "a list",
    "Dict": "a dict",
    "Set": "a set",
    "Slice": "a slice",
    "Subscript": "a subscript",
    "Call": "a call",
    "Await": "an await",
    "Yield": "a yield",
    "Compare": "a comparison",
    "BoolOp": "a boolean operation",
}


def describe(node: ast.AST) -> str:
    """The name of a syntax node in an author's words."""
    name = type(node).__name__
    if isinstance(node, ast.Constant):
        return f"the constant {node.value!r}"
    return _NODE_NAMES.get(name, f"the syntax '{name}'")


def place(node: ast.AST, lines: list[str]) -> tuple[int, int]:
    """1-based line and character column of a node (``ast`` counts UTF-8 bytes)."""
    line = getattr(node, "lineno", 1)
    offset = getattr(node, "col_offset", 0)
    text = lines[line - 1] if line <= len(lines) else ""
    return line, len(text.encode()[:offset].decode(errors="ignore")) + 1


def parse_expression(text: str) -> ast.expr:
    """The syntax tree of one expression; :class:`TextError` when it is none."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", 1) or 1
        column = getattr(error, "offset", 1) or 1
        said = getattr(error, "msg", str(error))
        raise TextError(
            "the expression cannot be read", f"'{text}' ({said})", "an expression such as 2*n + 1", line=line, column=column
        ) from error


def parse_size(text: str, names: Collection[str] | None = None, tensors: Collection[str] | None = None) -> IntExpr:
    """The integer expression ``text``; ``names`` are the symbols and ``tensors`` the element counts it may use (None: any)."""
    lines = text.strip().split("\n")

    def fault(node: ast.AST, what: str, value: str, right: str) -> TextError:
        line, column = place(node, lines)
        return TextError(what, value, right, line=line, column=column)

    def leaf(node: ast.expr) -> IntExpr | None:
        if isinstance(node, ast.Name):
            if names is not None and node.id not in names:
                raise fault(
                    node, "the name is not defined here", f"'{node.id}'", did_you_mean(node.id, names, "sizes and integer attributes")
                )
            return sym(node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "numel":
            arg = node.args[0] if len(node.args) == 1 and not node.keywords else None
            if not isinstance(arg, ast.Name):
                raise fault(node, "numel takes one tensor", f"'{text}'", "numel(x)")
            if tensors is not None and arg.id not in tensors:
                raise fault(arg, "no tensor has this name", f"'{arg.id}'", did_you_mean(arg.id, tensors, "tensors"))
            return numel(arg.id)
        return None

    return from_ast(parse_expression(text), leaf, fault)


def from_ast(
    node: ast.expr,
    leaf: Callable[[ast.expr], IntExpr | None],
    fault: Callable[[ast.AST, str, str, str], TextError],
) -> IntExpr:
    """Read ``+ - * // %``, ``min``, ``max`` and integers; ``leaf`` reads names and what else a context allows."""
    special = leaf(node)
    if special is not None:
        return special
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return const(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -from_ast(node.operand, leaf, fault)
    if isinstance(node, ast.BinOp):
        return _binary(node, leaf, fault)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
        if len(node.args) < 2 or node.keywords:
            raise fault(node, f"{node.func.id} of sizes takes two or more values", "", f"{node.func.id}(a, b)")
        parts = [from_ast(a, leaf, fault) for a in node.args]
        out = parts[0]
        for part in parts[1:]:
            out = min_of(out, part) if node.func.id == "min" else max_of(out, part)
        return out
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        raise fault(node, "a size is an integer", repr(node.value), "an integer")
    raise fault(node, f"{describe(node)} is not part of an integer expression", "", "integers, names, + - * // %, min, max")


def _binary(node: ast.BinOp, leaf: Callable[[ast.expr], IntExpr | None], fault: Callable[[ast.AST, str, str, str], TextError]) -> IntExpr:
    if isinstance(node.op, ast.Div):
        raise fault(node, "'/' does not give an integer", "", "'//', the division that rounds down")
    a, b = from_ast(node.left, leaf, fault), from_ast(node.right, leaf, fault)
    match node.op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case ast.FloorDiv() | ast.Mod():
            if b.value == 0:
                raise fault(node.right, "division by zero", "0", "a divisor other than 0")
            return floor_div(a, b) if isinstance(node.op, ast.FloorDiv) else mod(a, b)
        case ast.Pow():
            if b.value is not None and 0 <= b.value <= 8:
                out = const(1)
                for _ in range(b.value):
                    out = out * a
                return out
    raise fault(node, f"the operator {type(node.op).__name__} is not part of an integer expression", "", "+ - * // % and ** by 0..8")
