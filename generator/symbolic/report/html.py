"""An audit as one HTML page without outside files: verdicts, counterexamples, and formulas as MathML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from generator.symbolic.auditing import Audited
from generator.symbolic.model import Verdict
from generator.symbolic.report.mathml import formulas
from generator.symbolic.report.terminal import details, how

__all__ = ["page"]

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b; }
table { border-collapse: collapse; width: 100%; } td, th { border-bottom: 1px solid #ccc; padding: .3rem .5rem; text-align: left; }
pre { background: #f5f5f5; padding: .6rem; overflow-x: auto; } math { display: block; margin: .4rem 0; }
.PROVED, .EXACT, .NUMERIC { color: #0a6b2d; font-weight: 600; } .REFUTED { color: #b00020; font-weight: 600; }
.AMBIGUOUS, .UNDECIDED { color: #8a5a00; font-weight: 600; } section { border-top: 2px solid #ddd; margin-top: 2rem; }
"""


def page(audits: Sequence[Audited], seconds: float) -> str:
    """The whole page."""
    return "\n".join(_lines(audits, seconds)) + "\n"


def _lines(audits: Sequence[Audited], seconds: float) -> Iterator[str]:
    count = sum(len(a.verdicts) for a in audits)
    yield '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Audit of gradient formulas</title>'
    yield f"<style>{_STYLE}</style></head><body>"
    yield "<h1>Audit of gradient formulas</h1>"
    yield f"<p>{count} gradients in {seconds:.1f} s. PROVED holds for all sizes and inputs; EXACT and NUMERIC"
    yield "only at what is listed; AMBIGUOUS depends on how the text is read; UNDECIDED could not be settled; REFUTED is wrong.</p>"
    yield "<table><tr><th>case</th><th>text</th><th>gradient</th><th>of</th><th>verdict</th><th>kind</th></tr>"
    for at, a in enumerate(audits):
        for v in a.verdicts:
            cells = [f'<a href="#a{at}">{escape(a.name)}</a>', escape(a.subject), f"<code>{escape(v.output)}</code>"]
            cells += [f"<code>{escape(v.of)}</code>", f'<span class="{v.level}">{v.level}</span>', escape(v.classification)]
            yield "<tr>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>"
    yield "</table>"
    for at, a in enumerate(audits):
        yield f'<section id="a{at}"><h2>{escape(a.name)}: {escape(a.subject)}</h2>'
        yield f"<p><code>{escape(a.place.path)}</code>, line {a.place.line}</p>"
        yield from _formula("Forward", a.forward)
        yield from _formula("The text", a.gradient)
        if a.findings:
            yield "<p>Findings in the text:</p><ul>"
            for f in a.findings:
                where = f"line {f.span.line}, column {f.span.column}: " if f.span else ""
                yield f"<li>{escape(where + f.what)}</li>"
            yield "</ul>"
        for v in a.verdicts:
            yield from _verdict(a, v)
        yield "</section>"
    yield "</body></html>"


def _formula(title: str, text: str) -> Iterator[str]:
    yield f"<p>{title}:</p><pre>{escape(text.rstrip())}</pre>"
    yield from formulas(text)


def _verdict(a: Audited, v: Verdict) -> Iterator[str]:
    yield f'<p><span class="{v.level}">{v.level}</span> <code>{escape(v.output)}</code> as the gradient of <code>{escape(v.of)}</code>:'
    yield f"{escape(how(v))}.</p>"
    said = [line for line in details(a, v) if not line.startswith(("right:", "       "))]
    if said:
        yield "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in said) + "</ul>"
    if v.right_formula:
        yield from _formula("Right", v.right_formula)
