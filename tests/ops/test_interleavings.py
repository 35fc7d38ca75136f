"""Every operator's results are the same bits however its cores' threads are interleaved."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from generator.formula.checked import CheckedSpec
from generator.twin.products import product as product_of
from generator.twin.verify.case import Case
from generator.twin.verify.outcome import CaseResult
from generator.twin.verify.runner import prepare, raw
from generator.twin.verify.session import load, subject
from generator.twin.verify.work import cost
from tests.ops.test_ops import OPERATORS, case_set

SMALL = 3e5  # evaluation points and elements
RUNS = 5


@contextmanager
def disturbed(turn: int) -> Iterator[None]:
    """Threads are scheduled differently meanwhile: on one processor, on another, on all, and beside other threads' work."""
    processors = sorted(os.sched_getaffinity(0))
    busy = threading.Event()
    noise = [threading.Thread(target=_work, args=(busy,)) for _ in range(max(0, turn - 2))]
    if turn < 2:
        os.sched_setaffinity(0, {processors[turn % len(processors)]})
    for thread in noise:
        thread.start()
    try:
        yield
    finally:
        busy.set()
        for thread in noise:
            thread.join()
        os.sched_setaffinity(0, processors)


def _work(stop: threading.Event) -> None:
    while not stop.is_set():
        sum(range(500))


def chosen(name: str) -> list[Case]:
    """The dearest small case on every architecture: the most cores and tiles at work."""
    checked: CheckedSpec = load(OPERATORS[name].spec)
    small = [c for c in case_set(name).cases if not c.special and cost(checked.program, c.integers) <= SMALL]
    small.sort(key=lambda c: (cost(checked.program, c.integers), c.label()))
    return list({product_of(c.target.product).arch: c for c in small}.values())


@pytest.mark.parametrize("name", list(OPERATORS))
def test_results_are_the_same_bits_in_every_interleaving(name: str) -> None:
    cases = chosen(name)
    assert cases
    for case in cases:
        prepared = prepare(subject(OPERATORS[name], case.target.product), case, judged=False)
        assert not isinstance(prepared, CaseResult), prepared
        found = set()
        for turn in range(RUNS):
            with disturbed(turn):
                outputs, report = raw(prepared)
            assert not report.breaches, report.breaches[0]
            found.add(tuple(None if a is None else a.tobytes() for a in outputs.values()))
        assert len(found) == 1, f"{RUNS} runs gave {len(found)} results\nrepeat: {case.command()}"
