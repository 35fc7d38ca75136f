"""Many cases of many operators: specs found, twins built, cases run in a pool of processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from generator.formula import checked as formula
from generator.formula.checked import CheckedSpec
from generator.twin import build as twin
from generator.twin.products import PRODUCTS
from generator.twin.products import product as product_of
from generator.twin.verify.calls import Subject, eager
from generator.twin.verify.case import Case, Target, Violation
from generator.twin.verify.cases import CaseSet, derive
from generator.twin.verify.outcome import CaseResult, Refusal
from generator.twin.verify.runner import run_case, run_empty, run_violation

__all__ = ["Operator", "OperatorReport", "UnknownNameError", "operators", "run", "subject", "targets"]

Item = Case | Violation


class UnknownNameError(Exception):
    """An operator or a product that does not exist; the message lists those that do."""


@dataclass(frozen=True, slots=True)
class Operator:
    """Where an operator lives: its spec, its generated folder, its forward's spec."""

    name: str
    spec: Path
    folder: Path
    forward: Path | None


@dataclass(frozen=True)
class OperatorReport:
    """Everything that was run for one operator."""

    operator: Operator
    cases: CaseSet
    results: tuple[CaseResult, ...]
    refusals: tuple[Refusal, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        return all(r.passed for r in self.results) and all(r.passed for r in self.refusals)


@lru_cache(maxsize=64)
def load(path: Path) -> CheckedSpec:
    """A spec, read and checked once in each process."""
    return formula.load(path)


def operators(specs: Path, out: Path, folder_name: Callable[[str], str], wanted: Sequence[str] = ()) -> list[Operator]:
    """The operators whose specs lie under ``specs``, in name order; UnknownNameError for one that is wanted and not there.

    ``folder_name`` is the emitter's rule from an operator's name to that of its folder in ``out/<family>/``.
    """
    found = {load(p).spec.name: p for p in sorted(specs.rglob("*.yaml"))}
    unknown = [w for w in wanted if w not in found]
    if unknown:
        raise UnknownNameError(f"{specs}: no spec defines the operator '{unknown[0]}'; there are {', '.join(sorted(found)) or 'none'}")
    out_ops = []
    for name in sorted(wanted or found):
        path = found[name]
        spec = load(path).spec
        folder = out / spec.family / folder_name(name)
        out_ops.append(Operator(name, path, folder, found.get(spec.forward) if spec.forward else None))
    return out_ops


def targets(checked: CheckedSpec, product: str | None = None, cores: int | None = None) -> list[Target]:
    """Products and core counts to test: those the spec names, each variant; narrowed by ``product`` and ``cores``."""
    names = [product] if product else list(checked.spec.products)
    return [Target(n, c) for n in names for c in ((cores,) if cores and core_counts(n) else core_counts(n))]


def core_counts(name: str) -> tuple[int, ...]:
    """Vector cores of a product and of its variants (those whose names begin with its own), ascending."""
    try:
        chosen = product_of(name)
    except KeyError as error:
        raise UnknownNameError(str(error.args[0])) from error
    return tuple(sorted({p.aiv for p in PRODUCTS.values() if p.name.startswith(name) and p.arch == chosen.arch}))


@lru_cache(maxsize=64)
def subject(operator: Operator, product: str) -> Subject:
    """An operator built for one product; built once in each process, and once on the machine by the twin's cache."""
    forward: Callable[[], CheckedSpec] | None = None
    if operator.forward is not None:
        path = operator.forward
        forward = lambda: load(path)  # noqa: E731
    built = twin.build(operator.folder, product, quick=True)
    return Subject(load(operator.spec), built, operator.folder, forward, eager(built, operator.folder))


def _one(operator: Operator, item: Item, empty: bool) -> CaseResult | Refusal:
    """Run one item in this process; whatever goes wrong becomes its result."""
    base = item.base if isinstance(item, Violation) else item
    try:
        ready = subject(operator, base.target.product)
        if isinstance(item, Violation):
            return run_violation(ready, item)
        return run_empty(ready, item) if empty else run_case(ready, item)
    except (twin.TwinError, OSError) as error:
        return _failed(item, _said(error), empty)
    except (ArithmeticError, ValueError, KeyError, IndexError, MemoryError) as error:
        return _failed(item, f"{type(error).__name__}: {error}", empty)


def _said(error: twin.TwinError | OSError) -> str:
    """The error and the first lines of what the compiler said."""
    detail = error.detail if isinstance(error, twin.TwinError) else ""
    return "\n".join([str(error), *detail.splitlines()[:12]])


def _failed(item: Item, why: str, empty: bool) -> CaseResult | Refusal:
    if isinstance(item, Violation):
        return Refusal(item, False, why, crashed=True)
    return CaseResult(item, error=why, empty=empty)


def _items(case_set: CaseSet, large: bool) -> Iterator[tuple[Item, bool]]:
    yield from ((c, False) for c in case_set.cases if large or not c.huge)
    yield from ((c, True) for c in case_set.empty)
    yield from ((v, False) for v in case_set.violations)


LARGE_BYTES: Final = 8 << 30  # of one large case: the largest that specs list took 5.9 GB (measured)


def _heavy(item: Item) -> bool:
    return isinstance(item, Case) and item.large


def prebuild(work: Iterable[tuple[Operator, str]], jobs: int) -> dict[tuple[str, str], str]:
    """Build each (operator, product) pair, several compilers at a time; what failed and why, by pair."""
    failed: dict[tuple[str, str], str] = {}
    pairs = list(dict.fromkeys(work))
    first = {(op.name, product_of(product).arch): (op, product) for op, product in reversed(pairs)}  # one library for each architecture
    for batch in (list(first.values()), [p for p in pairs if p not in first.values()]):
        with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
            waiting = {pool.submit(subject, op, product): (op.name, product) for op, product in batch}
            for done in as_completed(waiting):
                error = done.exception()
                if isinstance(error, twin.TwinError | OSError):
                    failed[waiting[done]] = _said(error)
                elif error is not None:
                    raise error
    return failed


def run(
    chosen: Sequence[Operator],
    wanted_targets: Callable[[CheckedSpec], list[Target]],
    *,
    jobs: int,
    large: bool = False,
    progress: Callable[[str, int, int], None] = lambda _name, _done, _of: None,
) -> list[OperatorReport]:
    """Derive and run every case of every operator; large cases run after the others, as many at a time as memory allows, and huge
    ones only with ``large``.

    ``progress`` is told the operator, items done and items in all. Results are in the order of the cases whatever the
    processes' timing.
    """
    sets = {op.name: derive(load(op.spec), wanted_targets(load(op.spec))) for op in chosen}
    work = [(op, item, empty) for op in chosen for item, empty in _items(sets[op.name], large)]
    failed = prebuild(((op, _base(item).target.product) for op, item, _ in work), jobs)
    results: dict[int, CaseResult | Refusal] = {}
    runnable: dict[bool, list[int]] = {False: [], True: []}
    for k, (op, item, empty) in enumerate(work):
        why = failed.get((op.name, _base(item).target.product))
        if why is None:
            runnable[_heavy(item)].append(k)
        else:
            results[k] = _failed(item, why, empty)
    for heavy, width in ((False, max(1, jobs)), (True, max(1, min(jobs, _available() // LARGE_BYTES)))):
        for k, result in _pooled(runnable[heavy], work, width):
            results[k] = result
            progress(work[k][0].name, len(results), len(work))
    return [_report(op, sets[op.name], [results[k] for k, w in enumerate(work) if w[0] is op]) for op in chosen]


def _available() -> int:
    """Bytes of memory that processes may still take; 0 where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0)


def _base(item: Item) -> Case:
    return item.base if isinstance(item, Violation) else item


def _pooled(numbers: Sequence[int], work: Sequence[tuple[Operator, Item, bool]], width: int) -> Iterator[tuple[int, CaseResult | Refusal]]:
    """Results as they come. When a process dies, what was waiting is run again, one process for each item."""
    if not numbers:
        return
    spawn = multiprocessing.get_context("spawn")
    lost: list[int] = []
    with ProcessPoolExecutor(max_workers=min(width, len(numbers)), mp_context=spawn) as pool:
        waiting: Mapping[Future[CaseResult | Refusal], int] = {pool.submit(_one, *work[k]): k for k in numbers}
        for done in as_completed(waiting):
            try:
                yield waiting[done], done.result()
            except BrokenProcessPool:
                lost.append(waiting[done])
    for k in sorted(lost):
        _, item, empty = work[k]
        with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as pool:
            try:
                yield k, pool.submit(_one, *work[k]).result()
            except BrokenProcessPool:
                yield k, _failed(item, "the process that ran it died", empty)


def _report(operator: Operator, cases: CaseSet, results: Sequence[CaseResult | Refusal]) -> OperatorReport:
    ran = tuple(r for r in results if isinstance(r, CaseResult))
    refusals = tuple(r for r in results if isinstance(r, Refusal))
    return OperatorReport(operator, cases, ran, refusals, sum(r.seconds for r in ran))
