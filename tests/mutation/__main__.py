"""``python -m tests.mutation``: every mutant of every operator listed in the settings, as a table by kind.

Exits 1 when a mutant survives that no rule explains.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from generator.twin.compile import default_cache
from tests.mutation.campaign import Fate, Place, campaign, mutants_of
from tests.mutation.explained import explain
from tests.mutation.settings import SETTINGS

ROOT = Path(__file__).resolve().parents[2]


def _table(name: str, fates: Sequence[Fate]) -> Table:
    """Mutants by kind: made, reported by which law, failing the comparison, living for a reason, living without."""
    table = Table("kind", "made", "by a law", "laws", "by comparison", "explained", "surviving", title=f"{name}: {len(fates)} mutants")
    kinds = sorted({f.mutant.kind for f in fates})
    for kind in [*kinds, "all"]:
        mine = [f for f in fates if kind in (f.mutant.kind, "all")]
        laws = Counter(f.by for f in mine if f.killed and f.by != "comparison")
        why = [explain(name, f.mutant) for f in mine if not f.killed]
        words = ", ".join(f"{law} {n}" for law, n in laws.most_common(4)) + (", ..." if len(laws) > 4 else "")
        numbers = (laws.total(), words, sum(f.by == "comparison" for f in mine), sum(w is not None for w in why), why.count(None))
        table.add_row(kind, str(len(mine)), *map(str, numbers), end_section=kind == kinds[-1])
    return table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("operators", nargs="*", metavar="OP", help=f"operators to mutate: {', '.join(SETTINGS)} (default: all)")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--every", type=int, default=1, help="take every n-th mutant only")
    parser.add_argument("--explain", action="store_true", help="print explained survivors with their reasons")
    parser.add_argument("--generated", type=Path, default=ROOT / "generated", help="folder of the generated operators")
    given = parser.parse_args()
    unknown = [name for name in given.operators if name not in SETTINGS]
    if unknown:
        parser.error(f"no settings for {unknown[0]!r}, there are some for {', '.join(SETTINGS)}")
    console = Console(width=150)
    lost = 0
    place = Place(ROOT / "specs", given.generated.resolve(), default_cache() / "woven")
    for name in given.operators or SETTINGS:
        fates = campaign(place, name, range(0, len(mutants_of(place, name)), given.every), given.jobs)
        console.print(_table(name, fates))
        for fate in fates:
            rule = None if fate.killed else explain(name, fate.mutant)
            lost += not fate.killed and rule is None
            if not fate.killed and (rule is None or given.explain):
                words = f"{fate.by}: {fate.mutant}" + (f"\n    because {rule.why}" if rule else "")
                console.print(words, markup=False, highlight=False, soft_wrap=True)
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
