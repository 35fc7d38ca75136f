"""Independent calls made side by side, in forked processes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, cast

__all__ = ["forked"]

T = TypeVar("T")
_calls: list[Callable[[], object]] = []  # a forked process has them: closures need not be sent


def forked(calls: Sequence[Callable[[], T]]) -> Iterator[T]:
    """The results, in order, of calls that change nothing here, by as many processes as there are processors. A call that fails
    is made again in this process, so that what it raises is all there; so are all where processes cannot be forked."""
    width = min(len(calls), os.cpu_count() or 1)
    if width < 2 or "fork" not in multiprocessing.get_all_start_methods():
        for call in calls:
            yield call()
        return
    _calls[:] = calls
    with multiprocessing.get_context("fork").Pool(width) as pool:
        for call, (done, result) in zip(calls, pool.imap(_nth, range(len(calls))), strict=True):
            yield cast("T", result) if done else call()


def _nth(k: int) -> tuple[bool, object]:
    try:
        return True, _calls[k]()
    except Exception:  # noqa: BLE001 - the caller makes the call again and sees it
        return False, None
