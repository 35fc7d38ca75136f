"""The first phase of every operator's call: right calls are planned, wrong ones refused with the documented status and a message."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from tests.host.calls import Bad, Call, Tensor, bad_calls, bases, call_of, doubly_bad, extremes
from tests.host.common import OPERATORS, case_set, small_cases, spec
from tests.host.driver import FOREIGN, SECOND_PHASE, Answer, make
from tests.host.test_documents import Writer


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


@pytest.mark.parametrize("name", [n for n in OPERATORS if any(p.optional for p in spec(n).spec.params)])
def test_whatever_may_be_missing_together_may_be_missing(name: str) -> None:
    by_absence = {c.absent: c for c in case_set(name).cases if not c.special and all(v > 0 for _, v in c.dims)}
    assert len(by_absence) > 1
    for case, answer in zip(by_absence.values(), make(call_of(spec(name), c) for c in by_absence.values()), strict=True):
        assert (answer.status, answer.executor) == (0, True), f"without {case.absent}: {answer.message}"


@pytest.mark.parametrize("name", OPERATORS)
def test_of_two_faults_the_one_that_is_checked_first_is_told(name: str) -> None:
    """Null pointers, then dtypes, then ranks, shapes and attributes, then formats, then the product."""
    calls = list(doubly_bad(name))
    wrong = [f"{b.what}: {w}: {a.message}" for b, a in zip(calls, make(b.call for b in calls), strict=True) if (w := holds(b, a))]
    assert not wrong, "\n".join(wrong)
    assert len(calls) == 12
    for bad, answer in zip(calls, make((b.call for b in calls), on=FOREIGN.name), strict=True):
        assert answer.status == bad.status, bad.what


@pytest.mark.parametrize("name", OPERATORS)
def test_sizes_of_every_magnitude_are_planned_or_refused(name: str) -> None:
    w = Writer(name)
    calls = []
    for size in (n for n in w.env if n not in w.doc.attributes and n not in w.doc.sizes):
        for value in (2**20, 2**31 - 1, 2**31, 2**36, 2**44, 2**52, 2**58, 2**61, 2**63 - 1):
            call = w.at(w.completed({**w.env, size: value}))
            if all(0 <= d < 2**63 for t in call.args.values() if isinstance(t, Tensor) for d in t.shape):
                calls.append(call)
    assert calls
    for call, answer in zip(calls, make(calls), strict=True):
        assert answer.status in (0, 161002, 561103), f"{call}: {answer.status}"
        assert (answer.status == 0) == answer.executor
        assert answer.status != 0 or answer.workspace >= 16 << 20


@pytest.mark.parametrize("name", OPERATORS)
def test_attributes_at_the_limits_of_their_types_crash_nothing(name: str) -> None:
    """Whatever a limit means: a call is planned or refused with a message."""
    calls = []
    for _, call in bases(name):
        for p in spec(name).spec.params:
            if p.io == "attr" and p.type in ("int", "float", "double"):
                more = [] if p.type == "int" else [math.inf, 1e300, -1e300, 5e-324]
                calls += [call.having(p.symbol, value) for value in (*extremes(p), *more)]
    for call, answer in zip(calls, make(calls), strict=True):
        assert answer.status in (0, 161002), f"{call}: {answer.message}"
        assert (answer.status == 0) == answer.executor
        assert (answer.status == 0) == (answer.message == "")


@pytest.mark.parametrize("name", OPERATORS)
def test_a_second_phase_needs_workspace_executor_and_stream_and_runs_once(name: str) -> None:
    (answer,) = make([replace(bases(name)[0][1], results="misuse")])
    assert answer.status == 0, answer.message
    assert answer.message == " ".join(map(str, SECOND_PHASE))


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
