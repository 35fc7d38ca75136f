"""When two expressions are the same: keys that ignore the names of bound axes and the order of factors and terms."""

from __future__ import annotations

from collections.abc import Mapping

from generator.formula.infer import children
from generator.formula.ir import Attr, Binary, Call, Cast, Compare, Expr, Gather, IntVal, Load, Logic, Neg, Num, Reduce
from generator.spec.integer import IntExpr, sym

__all__ = ["cost", "key", "tame"]

# finite wherever their arguments are
_TAME = frozenset(
    {"sigmoid", "tanh", "sin", "cos", "atan", "erf", "erfc", "abs", "sign", "floor", "ceil", "round", "trunc", "maximum", "minimum"}
    | {"relu", "softplus", "logsigmoid", "silu", "gelu", "gelu_tanh", "square"}
)


def key(e: Expr) -> str:
    """Equal keys are equal expressions, up to names of bound axes, commutativity and associativity."""
    return _key(e, {}, 0)


def _key(e: Expr, names: Mapping[str, IntExpr], depth: int) -> str:
    match e:
        case Num(value=value):
            return repr(float(value))
        case Attr(name=name):
            return name
        case IntVal(value=value):
            return f"int({_integer(value, names)})"
        case Load():
            return _load(e, names, depth)
        case Binary(op=op) if op in ("add", "sub"):
            return f"sum({' '.join(sorted(_terms(e, '+', names, depth)))})"
        case Binary(op=op) if op in ("mul", "div"):
            return f"product({' '.join(sorted(_factors(e, '*', names, depth)))})"
        case Neg(x=x):
            return f"sum({' '.join(sorted(_terms(x, '-', names, depth)))})"
        case Reduce():
            return _reduce(e, names, depth)
    said = type(e).__name__ + (str(getattr(e, "op", "")) or str(getattr(e, "fn", "")))
    if isinstance(e, Call):
        said = e.fn
    elif isinstance(e, Cast):
        said = f"cast {e.dtype}"
    elif isinstance(e, Compare | Logic):
        said = e.op
    return f"{said}({', '.join(_key(c, names, depth) for c in children(e))})"


def _load(e: Load, names: Mapping[str, IntExpr], depth: int) -> str:
    at = [
        _integer(i, names) if isinstance(i, IntExpr) else _load(i.load, names, depth) for i in e.indices if isinstance(i, IntExpr | Gather)
    ]
    return f"{e.tensor}[{', '.join(at)}]" + (f"~{e.guarded}:{e.outside}" if e.guarded else "")


def _integer(i: IntExpr, names: Mapping[str, IntExpr]) -> str:
    name = i.symbol
    if name is not None:
        return (names.get(name, i)).key()
    return i.substitute(names).key() if names and i.free() & names.keys() else i.key()


def _terms(e: Expr, sign: str, names: Mapping[str, IntExpr], depth: int) -> list[str]:
    other = "-" if sign == "+" else "+"
    if isinstance(e, Binary) and e.op in ("add", "sub"):
        return _terms(e.a, sign, names, depth) + _terms(e.b, sign if e.op == "add" else other, names, depth)
    if isinstance(e, Neg):
        return _terms(e.x, other, names, depth)
    return [sign + _key(e, names, depth)]


def _factors(e: Expr, sign: str, names: Mapping[str, IntExpr], depth: int) -> list[str]:
    other = "/" if sign == "*" else "*"
    if isinstance(e, Binary) and e.op in ("mul", "div"):
        return _factors(e.a, sign, names, depth) + _factors(e.b, sign if e.op == "mul" else other, names, depth)
    return [sign + _key(e, names, depth)]


def _reduce(e: Reduce, names: Mapping[str, IntExpr], depth: int) -> str:
    place = _signatures(e.body, {a.name for a in e.axes}) if len(e.axes) > 1 else {}
    ordered = sorted(e.axes, key=lambda a: (place.get(a.name, ""), a.extent.key() if a.extent is not None else ""))
    numbered = {a.name: sym(f"#{depth}.{k}") for k, a in enumerate(ordered)}
    body = _key(e.body, {**names, **numbered}, depth + 1)
    extents = ",".join(a.extent.key() if a.extent is not None else "" for a in ordered)
    divisor = "" if e.divisor is None else _key(e.divisor, names, depth)
    return f"{e.op}<{extents}>({body};{divisor})"


def _signatures(e: Expr, names: set[str]) -> dict[str, str]:
    """Where each of ``names`` indexes what: the same for expressions that differ in names and order only."""
    found: dict[str, list[str]] = {n: [] for n in names}

    def walk(x: Expr) -> None:
        if isinstance(x, Load):
            for d, i in enumerate(x.indices):
                if isinstance(i, IntExpr):
                    for n in i.free() & names:
                        found[n].append(f"{x.tensor}.{d}" if i.symbol == n else f"{x.tensor}.{d}*{len(i.terms)}")
                elif isinstance(i, Gather):
                    walk(i.load)
        elif isinstance(x, IntVal):
            for n in x.value.free() & names:
                found[n].append("int")
        for c in children(x):
            walk(c)

    walk(e)
    return {n: " ".join(sorted(s)) for n, s in found.items()}


def cost(e: Expr) -> int:
    """Arithmetic and elementary operations of one element, a reduction's body counted once."""
    own = 0 if isinstance(e, Num | Attr | IntVal | Load) else 1
    return own + sum(cost(c) for c in children(e))


def tame(e: Expr) -> bool:
    """Whether ``e`` is finite wherever what it loads is: it may be evaluated where a condition would not have it."""
    if isinstance(e, Binary) and e.op not in ("add", "sub", "mul"):
        exponent = e.b.value if isinstance(e.b, Num) else None
        if e.op != "pow" or not isinstance(exponent, int) or exponent < 0:
            return False
    if isinstance(e, Call) and e.fn not in _TAME:
        return False
    if isinstance(e, Reduce) and e.op not in ("sum", "mean", "prod"):
        return False
    return all(tame(c) for c in children(e))
