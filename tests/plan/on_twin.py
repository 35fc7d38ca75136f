"""A spec written in a test, from its formula to judged results on the twin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from generator.emit.render import folder, render_sources
from generator.formula.checked import CheckedSpec
from generator.plan import plan
from generator.twin.build import build
from generator.twin.verify.calls import Subject, eager
from generator.twin.verify.case import Special, Target
from generator.twin.verify.cases import case_of
from generator.twin.verify.runner import run_case

__all__ = ["assert_right"]


def assert_right(
    checked: CheckedSpec, place: Path, target: tuple[str, int], *sizes: Mapping[str, int], special: tuple[str, Special] | None = None
) -> None:
    """Every output passes its precision standard without a breach of law at each of ``sizes``; ``target`` is a product and its cores,
    ``special`` an input of which a row holds a value of its own."""
    for name, text in render_sources(checked, plan(checked)).items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    op = place / folder(checked)
    built = build(op, target[0], place / "cache", quick=True)
    subject = Subject(checked, built, op, None, eager(built, op))
    for env in sizes:
        result = run_case(subject, replace(case_of(checked, env, Target(*target)), special=special))
        assert result.passed, f"{result.case.label()}: {result.why()}"
