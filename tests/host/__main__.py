"""How many bad calls each operator's first phase is tested with: ``python -m tests.host``."""

from __future__ import annotations

from tests.host.calls import bad_calls
from tests.host.common import OPERATORS

if __name__ == "__main__":
    counts = {name: sum(1 for _ in bad_calls(name)) for name in OPERATORS}
    for name, count in counts.items():
        print(f"{name:24} {count:6}")
    print(f"{'all':24} {sum(counts.values()):6}")
