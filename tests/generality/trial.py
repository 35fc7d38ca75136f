"""One drawn operator from text to verdict: loaded, planned, emitted, built for the twin, run and judged."""

from __future__ import annotations

import multiprocessing
import random
import re
import shutil
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from generator.emit.errors import EmitError
from generator.emit.names import snake
from generator.emit.render import folder, render_sources
from generator.formula import checked as formula
from generator.formula.checked import CheckedSpec
from generator.plan import plan
from generator.plan.tiles import Refusal
from generator.spec.errors import SpecError
from generator.twin.build import TwinError, build
from generator.twin.verify import work
from generator.twin.verify.calls import Subject, eager
from generator.twin.verify.case import Case, Number, Target
from generator.twin.verify.cases import case_of
from generator.twin.verify.runner import run_case
from tests.generality.strategy import Drawn

__all__ = ["Outcome", "trial", "trials"]

POINTS = 4e5  # evaluation points and elements of one case
POINTS_LONG = 2e6
_LOCATED = re.compile(r"^.+:\d+:\d+: \S")

Kind = Literal["passed", "refused", "failed"]


@dataclass(frozen=True)
class Outcome:
    """What became of one drawn operator. ``why`` is the refusal or the failure in full; ``commands`` repeat the cases that failed."""

    drawn: Drawn
    kind: Kind
    why: str = ""
    commands: tuple[str, ...] = ()
    cases: int = 0
    worst: float = 0.0
    keys: tuple[int, ...] = ()
    seconds: float = 0.0

    @property
    def located(self) -> bool:
        """Whether every line of a refusal says where."""
        return all(_LOCATED.match(line) for line in self.why.splitlines())


def _cases(checked: CheckedSpec, drawn: Drawn, count: int) -> list[Case]:
    rng = random.Random(drawn.seed)
    product, cores = drawn.target
    out = []
    for k, sizes in enumerate(drawn.environments(count)):
        env: dict[str, Number] = {**sizes, **{n: round(rng.uniform(*r), 3) for n, r in drawn.floats.items()}}
        env |= {n: rng.random() < 0.5 for n in drawn.flags}
        absent = [o for o in drawn.optional if k % 2]
        limit = POINTS_LONG if max(sizes.values()) > 1000 else POINTS
        while work.cost(checked.program, {n: v for n, v in env.items() if type(v) is int}) > limit:
            free = [d for d in drawn.dims if not d.attribute]
            for d in free:
                name = "numel_" + d.name if d.pack else d.name
                small = min(d.values) if d.values else max(d.step, int(env[name]) // 2 // d.step * d.step)
                env[name] = max(1, small)
            if all(int(env["numel_" + d.name if d.pack else d.name]) <= max(d.step, *d.values, 1) for d in free):
                break
        axes = rng.choice((1, 1, 2)) if any(d.pack for d in drawn.dims) else 1
        out.append(case_of(checked, env, Target(product, cores), combination=k % drawn.combinations, absent=absent, axes=axes))
    return out


def trial(drawn: Drawn, place: Path, cache: Path, count: int = 3) -> Outcome:
    """Everything from the text on; ``place`` is a folder for specs/ and generated/, ``cache`` one for the libraries."""
    started = time.perf_counter()

    def done(kind: Kind, why: str, commands: Sequence[str] = (), cases: int = 0, worst: float = 0.0, keys: Sequence[int] = ()) -> Outcome:
        return Outcome(drawn, kind, why, tuple(commands), cases, worst, tuple(keys), time.perf_counter() - started)

    path = place / "specs" / "drawn" / f"{snake(drawn.name)}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(drawn.text, encoding="utf-8")
    try:
        checked = formula.load(path)
        texts = render_sources(checked, plan(checked))
    except SpecError as e:
        return done("refused", str(e))
    except Refusal as e:
        return done("refused", f"{path}:{e.span.line}:{e.span.column}: {e}" if e.span is not None else str(e))
    except EmitError as e:
        return done("failed", f"emit: {e}")
    except Exception:  # noqa: BLE001 - whatever escapes is a finding
        return done("failed", traceback.format_exc())
    out = place / "generated"
    for name, text in texts.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text, encoding="utf-8")
    op = out / folder(checked)
    try:
        built = build(op, drawn.target[0], cache, quick=True)
        subject = Subject(checked, built, op, None, eager(built, op))
        results = [run_case(subject, case) for case in _cases(checked, drawn, count)]
    except TwinError as e:
        return done("failed", f"{e}\n" + "\n".join(e.detail.splitlines()[:12]))
    except Exception:  # noqa: BLE001
        return done("failed", traceback.format_exc())
    bad = [r for r in results if not r.passed]
    worst = max((o.verdict.max_rel for r in results for o in r.outputs), default=0.0)
    keys = [r.tiling.key for r in results if r.tiling]
    why = "\n".join(f"{r.case.label()}: {r.why()}" for r in bad)
    return done("failed" if bad else "passed", why, [r.case.command() for r in bad], len(results), worst, keys)


_BATCH = 40  # draws a set of processes serves


def _clean(drawn: Drawn, place: Path, count: int) -> Outcome:
    """A trial in a folder of its own, removed afterwards unless it failed."""
    own = place / drawn.name
    outcome = trial(drawn, own, place / "cache", count)
    if outcome.kind != "failed":
        shutil.rmtree(own, ignore_errors=True)
    return outcome


def trials(drawn: Sequence[Drawn], place: Path, *, jobs: int = 2, count: int = 3) -> Iterator[Outcome]:
    """The outcomes in the order drawn, several at a time."""
    spawn = multiprocessing.get_context("spawn")
    for start in range(0, len(drawn), _BATCH):  # new processes now and then: the libraries they load stay in their memory
        with ProcessPoolExecutor(max_workers=jobs, mp_context=spawn) as pool:
            for waiting in [pool.submit(_clean, d, place, count) for d in drawn[start : start + _BATCH]]:
                yield waiting.result()
