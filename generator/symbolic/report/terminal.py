"""An audit as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from generator.symbolic.auditing import Audited
from generator.symbolic.model import Counterexample, Finding, Verdict

__all__ = ["example_text", "lines", "where_text"]


def lines(audits: Sequence[Audited], seconds: float) -> Iterator[str]:
    """One line a gradient, details below what is not right."""
    for a in audits:
        yield f"{a.name} ({a.subject})  {a.place.path}:{a.place.line}"
        for f in a.findings:
            yield f"  {_located(a, f)}"
        for v in a.verdicts:
            yield f"  {v.level:9} {v.output} = d/d {v.of}: {how(v)}  [{v.seconds * 1000:.0f} ms]"
            yield from ("    " + line for line in details(a, v))
    total = [v for a in audits for v in a.verdicts]
    counts = {level: sum(v.level == level for v in total) for level in dict.fromkeys(v.level for v in total)}
    said = ", ".join(f"{n} {level}" for level, n in counts.items()) or "nothing to audit"
    yield f"{len(total)} gradients: {said} in {seconds:.1f} s"


def how(v: Verdict) -> str:
    """The method, with what it covers."""
    if v.level == "EXACT":
        bound = "" if v.error_bound is None else f", false pass < {max(v.error_bound, 1e-18):.0e}"
        return f"{v.method}{bound}, at {where_text(v)}"
    if v.level == "NUMERIC":
        return f"{v.method}, at {where_text(v)}"
    return v.method


def where_text(v: Verdict) -> str:
    """The sizes a verdict covers, the first and the last of many."""
    said = ["{" + ", ".join(f"{n}={x}" for n, x in s.items()) + "}" for s in v.sizes]
    return ", ".join(said) if len(said) <= 3 else f"{len(said)} sizes from {said[0]} to {said[-1]}"


def details(a: Audited, v: Verdict) -> Iterator[str]:
    """What there is to say below a verdict."""
    if v.classification:
        yield f"kind: {v.classification}"
    if v.counterexample is not None:
        yield "counterexample: " + example_text(v.counterexample)
    for term in v.differing:
        yield f"differs: {term}"
    if v.right_formula:
        first, *rest = v.right_formula.rstrip().split("\n")
        yield f"right: {first}"
        yield from ("       " + line for line in rest)
    for what, level in v.readings:
        yield f"reading: {what}: {level}"
    for where, what in v.boundary:
        yield f"at {where}: {what}"
    spots = {f.span for f in a.findings if f.span is not None}
    for f in v.findings:
        if f not in a.findings and f.span not in spots:
            yield _located(a, f)


def example_text(c: Counterexample) -> str:
    """Sizes, values, element and both results in one line."""
    sizes = ", ".join(f"{n}={v}" for n, v in {**c.sizes, **{n: f"{v:g}" for n, v in c.attrs.items()}}.items())
    values = ", ".join(f"{n}={_short(v)}" for n, v in c.inputs.items())
    element = f"[{', '.join(map(str, c.element))}]" if c.element else ""
    return f"{sizes}; {values}; element {element}: claimed {c.claimed:.12g}, derived {c.derived:.12g}"


def _short(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_short, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _located(a: Audited, f: Finding) -> str:
    at = f"{a.place.path}:{f.span.line}:{f.span.column}: " if f.span is not None else ""
    return f"{at}{f.what}"
