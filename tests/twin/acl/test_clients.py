"""The runtime as client programs see it: each test is a function of a C++ program, under the sanitizers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.twin.acl.conftest import names

Run = Callable[..., str]

SETTINGS = {
    "a_product_without_configuration_has_no_kernel": {"OPWRIGHT_SOC": "Ascend950"},
    "an_unknown_product_is_refused": {"OPWRIGHT_SOC": "Ascend1"},
}
"""Environment variables some tests need."""


@pytest.mark.parametrize("name", names("runtime"))
def test_devices_memory_streams_and_events(run: Run, name: str) -> None:
    run("runtime", name)


@pytest.mark.parametrize("name", names("objects"))
def test_tensors_scalars_arrays_and_lists(run: Run, name: str) -> None:
    run("objects", name)


@pytest.mark.parametrize("name", names("calls"))
def test_the_two_phases_of_a_call(run: Run, name: str) -> None:
    run("calls", name, **SETTINGS.get(name, {}))


@pytest.mark.parametrize("name", names("moves"))
def test_level_0_operators_and_questions(run: Run, name: str) -> None:
    run("moves", name)


@pytest.mark.parametrize("name", names("threads"))
def test_threads_and_streams_under_the_thread_sanitizer(run: Run, name: str) -> None:
    run("threads", name, "thread")


def test_leaks_are_printed_and_forgiven_unless_asked_for(run: Run) -> None:
    output = run("runtime", "leaks_are_told", OPWRIGHT_LEAKS="fail")
    assert "aclFinalize: never released: 1 device buffer #1 (48 bytes); 1 host buffer #2 (8 bytes); 1 stream; 1 event;" in output


def test_reading_a_result_without_waiting_is_told(run: Run) -> None:
    output = run("calls", "a_result_is_read_without_waiting")
    assert "aclrtMemcpy: device buffer #3 is written by work that nobody has waited for" in output


def test_the_host_cannot_touch_device_memory(run: Run) -> None:
    with pytest.raises(AssertionError, match="SEGV"):
        run("crash", "the_host_writes_to_device_memory")
