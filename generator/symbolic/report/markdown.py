"""An audit as a Markdown report: a table of verdicts, then what is not right, in the author's names, formulas typeset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from generator.formula.latex import latex
from generator.formula.parse import parse
from generator.symbolic.auditing import Audited
from generator.symbolic.model import Verdict
from generator.symbolic.report.terminal import details, how

__all__ = ["report", "typeset"]


def typeset(text: str) -> list[str]:
    """The statements of a formula text as LaTeX, without delimiters; nothing when some line cannot be read."""
    parsed = parse(text, relaxed=True)
    if parsed.findings:
        return []
    try:
        return [latex(parsed.body)]
    except (ValueError, KeyError, AttributeError):
        return []


def report(audits: Sequence[Audited], seconds: float) -> str:
    """The whole report."""
    return "\n".join(_lines(audits, seconds)) + "\n"


def _lines(audits: Sequence[Audited], seconds: float) -> Iterator[str]:
    count = sum(len(a.verdicts) for a in audits)
    yield "# Audit of gradient formulas"
    yield ""
    yield f"{count} gradients in {seconds:.1f} s. PROVED holds for all sizes and inputs; EXACT and NUMERIC only"
    yield "at what is listed; AMBIGUOUS depends on how the text is read; UNDECIDED could not be settled; REFUTED is wrong."
    yield ""
    yield "| case | text | gradient | of | verdict | kind | method |"
    yield "|---|---|---|---|---|---|---|"
    for a in audits:
        for v in a.verdicts:
            cells = (a.name, a.subject, f"`{v.output}`", f"`{v.of}`", f"**{v.level}**", v.classification, how(v))
            yield "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"
    for a in audits:
        yield ""
        yield f"## {a.name}: {a.subject}"
        yield ""
        yield f"`{a.place.path}`, line {a.place.line}"
        yield ""
        yield from _formula("Forward", a.forward)
        yield from _formula("The text", a.gradient)
        if a.findings:
            yield "Findings in the text:"
            yield ""
            for f in a.findings:
                yield f"- {f'line {f.span.line}, column {f.span.column}: ' if f.span else ''}{f.what}"
            yield ""
        for v in a.verdicts:
            yield from _verdict(a, v)


def _formula(title: str, text: str) -> Iterator[str]:
    yield f"{title}:"
    yield ""
    yield "```"
    yield text.rstrip()
    yield "```"
    yield ""
    for line in typeset(text):
        yield f"$${line}$$"
        yield ""


def _verdict(a: Audited, v: Verdict) -> Iterator[str]:
    yield f"**{v.level}** `{v.output}` as the gradient of `{v.of}`: {how(v)}."
    yield ""
    said = [line for line in details(a, v) if not line.startswith(("right:", "       "))]
    for line in said:
        yield f"- {line}"
    if said:
        yield ""
    if v.right_formula:
        yield from _formula("Right", v.right_formula)
