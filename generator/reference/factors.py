"""Sums of products whose factors are rounded first, as the cube takes float32 operands in HF32."""

from __future__ import annotations

from dataclasses import replace

from generator.reference import lower

__all__ = ["rounded_factors"]


def rounded_factors(body: tuple[lower.Stmt, ...]) -> tuple[lower.Stmt, ...]:
    """Lowered statements with every float factor of every summed product rounded to HF32; nothing else is."""
    return tuple(_statement(s) for s in body)


def _statement(s: lower.Stmt) -> lower.Stmt:
    if isinstance(s, lower.ForNode):
        return replace(s, body=rounded_factors(s.body))
    return replace(s, value=_node(s.value))


def _node(n: lower.Node) -> lower.Node:
    match n:
        case lower.OpNode(args=args):
            return replace(n, args=tuple(map(_node, args)))
        case lower.CastNode(x=x):
            return replace(n, x=_node(x))
        case lower.ReduceNode(body=body, divisor=divisor):
            done = _node(body)
            if len(n.factors) + len(n.divisors) > 1:
                done = _factors(done)
            # factors and divisors serve exact evaluation alone, which rounds nothing
            return replace(n, body=done, divisor=None if divisor is None else _node(divisor), factors=(), divisors=())
    return n


def _factors(n: lower.Node) -> lower.Node:
    """``n`` with the factors of its product rounded."""
    if isinstance(n, lower.OpNode) and not n.function and n.op in ("mul", "div", "neg"):
        return replace(n, args=tuple(map(_factors, n.args)))
    return n if isinstance(n, lower.Constant) else lower.CastNode("hf32", n, n.axes)
