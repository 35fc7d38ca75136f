"""Audit the whole corpus with many seeds: ``python -m tests.audit --seeds 20``. Exit 1 when a verdict is wrong or moves with the seed."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

from generator.symbolic.model import Verdict
from tests.audit.campaign import ROLES, Outcome, audited, chosen, judged, summary
from tests.audit.corpus import Text, cases, texts


def _text(name: str) -> Text:
    case = next(c for c in cases() if c.name == name.split("/")[0])
    return next(t for t in texts(case) if t.name == name)


def _judged(name: str, budget: float) -> list[tuple[Verdict, str, bool]]:
    """The first seed's verdicts with all checks (a certificate stays where it was made)."""
    return [(_light(o.verdict), o.fault, o.wrong) for o in judged(_text(name), budget=budget)]


def _again(name: str, budget: float, seeds: range) -> list[list[tuple[str, str, float]]]:
    """The verdicts with other seeds: gradient, level, seconds."""
    text = _text(name)
    return [[(v.output, v.level, v.seconds) for v in audited(text, budget=budget, seed=seed).verdicts] for seed in seeds]


def _light(verdict: Verdict) -> Verdict:
    return replace(verdict, certificate=None)


def main() -> int:
    """Exit 1 when a verdict is wrong, or differs between seeds, or fewer than 95% of the right gradients are proved."""
    parser = argparse.ArgumentParser(prog="python -m tests.audit", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="seeds to audit each text with")
    parser.add_argument("--roles", default=",".join(ROLES), help="which texts")
    parser.add_argument("--files", default="", help="which files of the corpus (all)")
    parser.add_argument("--match", default="", help="part of the texts' names")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds for each gradient")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    started = time.monotonic()
    names = [t.name for t in chosen(options.roles.split(","), [f for f in options.files.split(",") if f], options.match)]
    outcomes: list[Outcome] = []
    moved = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for name, found in zip(names, pool.map(partial(_judged, budget=options.budget), names), strict=True):
            outcomes += [Outcome(_text(name), *o) for o in found]
            for verdict, fault, _ in found:
                if fault:
                    print(f"{name}:{verdict.output}: {fault}", flush=True)
        print(f"{summary(outcomes)}\n{time.monotonic() - started:.0f} s", flush=True)
        first = {o.name: o.verdict.level for o in outcomes}
        again = partial(_again, budget=options.budget, seeds=range(1, options.seeds))
        for name, all_verdicts in zip(names, pool.map(again, names), strict=True):
            seen = {(output, level) for verdicts in all_verdicts for output, level, _ in verdicts}
            for output, level in sorted(seen):
                if first[f"{name}:{output}"] != level:
                    moved += 1
                    print(f"{name}:{output}: {level} with another seed, {first[f'{name}:{output}']} with the first", flush=True)
    sound = [o for o in outcomes if o.text.role in ("right", "rewrite")]
    proved = sum(o.verdict.level == "PROVED" for o in sound)
    faults = sum(bool(o.fault) for o in outcomes)
    print(f"{options.seeds} seeds: {moved} verdicts move, {faults} faults, {proved} of {len(sound)} right gradients proved")
    print(f"{time.monotonic() - started:.0f} s")
    return 1 if moved or faults or proved < 0.95 * len(sound) else 0


if __name__ == "__main__":
    sys.exit(main())
