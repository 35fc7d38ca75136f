"""Calls in forked processes: results in order, and what a call raises whole."""

from __future__ import annotations

import os
from functools import partial

import pytest

from generator.emit.forked import forked
from generator.spec.errors import Problem, SpecError


def test_results_come_in_order() -> None:
    assert list(forked([partial(pow, k, 2) for k in range(20)])) == [k * k for k in range(20)]


def test_calls_run_in_other_processes_where_there_are_processors() -> None:
    mine = {pid == os.getpid() for pid in forked([os.getpid] * 8)}
    assert mine == {(os.cpu_count() or 1) < 2}


def test_what_a_call_raises_is_all_there() -> None:
    def fail() -> int:
        raise SpecError([Problem("probe.yaml", 3, 7, "the place must arrive")])

    with pytest.raises(SpecError) as found:
        list(forked([partial(int, "1"), fail, partial(int, "2")]))
    assert [(p.line, p.column) for p in found.value.problems] == [(3, 7)]
