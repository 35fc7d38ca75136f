"""The first phase of every operator's call: right calls are planned, wrong ones refused with the documented status and a message."""

from __future__ import annotations

import re

import pytest

from tests.host.calls import Bad, Call, bad_calls, bases, call_of
from tests.host.common import OPERATORS, case_set, small_cases, spec
from tests.host.driver import Answer, make


def holds(bad: Bad, answer: Answer) -> str:
    """What is wrong with the answer to a bad call, or nothing."""
    if answer.status != bad.status:
        return f"status {answer.status}, not {bad.status}"
    if answer.executor:
        return "an executor was made"
    for words in bad.words:
        if not any(re.search(rf"(?<!\w){re.escape(w)}(?!\w)", answer.message) for w in words):
            return f"none of {words} in the message"
    return ""


@pytest.mark.parametrize("name", OPERATORS)
def test_calls_that_are_wrong_in_one_way_are_refused_with_status_and_parameter(name: str, record_property: pytest.FixtureRequest) -> None:
    calls = list(bad_calls(name))
    answers = make(b.call for b in calls)
    record_property("calls", len(calls))  # type: ignore[operator]
    wrong = [f"{b.what}: {w}: {a.message}" for b, a in zip(calls, answers, strict=True) if (w := holds(b, a))]
    assert not wrong, f"{len(wrong)} of {len(calls)}\n" + "\n".join(wrong[:20])
    assert len(calls) > 40


@pytest.mark.parametrize("name", OPERATORS)
def test_legal_calls_are_planned(name: str) -> None:
    calls = [call for _, call in bases(name)] + [call_of(spec(name), c) for c in small_cases(name)[:12]]
    for call, answer in zip(calls, make(calls), strict=True):
        assert answer.status == 0, f"{call}: {answer.message}"
        assert answer.executor
        assert answer.workspace >= 16 << 20, "the system's share is there"


@pytest.mark.parametrize("name", OPERATORS)
def test_calls_without_elements_follow_the_policy(name: str) -> None:
    checked = spec(name)
    calls: list[Call] = [call_of(checked, c) for c in case_set(name).empty]
    for call, answer in zip(calls, make(calls), strict=True):
        if checked.spec.policies.empty == "refuse":
            assert answer.status == 161002, call
        else:
            assert answer.status == 0, f"{call}: {answer.message}"
            assert answer.executor
        if checked.spec.policies.empty == "success":
            assert answer.workspace == 0
