"""Draw many operators, run each, and say what was found: ``python -m tests.generality --count 300 --seed 1``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.generality.draws import drawn_operators
from tests.generality.trial import Outcome, trials


def _show(outcome: Outcome, place: Path) -> None:
    """A failure as its reader needs it: what went wrong, the spec, the commands that repeat it."""
    folder = place / outcome.drawn.name
    print(f"\n=== {outcome.drawn.name} failed ===\n{outcome.why}\n\n{outcome.drawn.text}")
    for command in outcome.commands:
        print(f"{command} --specs {folder / 'specs'} --out {folder / 'generated'}")


def main() -> int:
    """Exit 1 when an operator fails, is refused without a place, or more than 5% are refused."""
    parser = argparse.ArgumentParser(prog="python -m tests.generality", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="operators to draw")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draws")
    parser.add_argument("--shapes", type=int, default=3, help="shapes to run each on")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--keep", type=Path, help="folder for what failed (a temporary one otherwise)")
    options = parser.parse_args()
    place = options.keep or Path(tempfile.mkdtemp(prefix="generality-"))
    outcomes = []
    for outcome in trials(drawn_operators(options.count, options.seed), place, jobs=options.jobs, count=options.shapes):
        outcomes.append(outcome)
        sys.stdout.flush()
        if outcome.kind == "failed":
            _show(outcome, place)
        elif outcome.kind == "refused":
            print(f"refused: {outcome.why}", flush=True)
    kinds = Counter(o.kind for o in outcomes)
    worst = max(outcomes, key=lambda o: o.worst, default=None)
    walked = sum(1 for o in outcomes for key in o.keys if key % 100)
    print(
        f"\ndrawn {len(outcomes)}, refused {kinds['refused']}, failed {kinds['failed']}, passed {kinds['passed']}; "
        f"{sum(o.cases for o in outcomes)} shapes, {walked} of them by a later alternative; "
        f"worst relative error {worst.worst if worst else 0.0:.2e}; {sum(o.seconds for o in outcomes):.0f} s of work"
    )
    unplaced = [o for o in outcomes if o.kind == "refused" and not o.located]
    for o in unplaced:
        print(f"refused without a place: {o.drawn.name}: {o.why}")
    return 1 if kinds["failed"] or unplaced or kinds["refused"] > 0.05 * len(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
