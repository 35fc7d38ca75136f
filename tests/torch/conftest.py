"""The PyTorch job: nothing of it is collected where PyTorch, the extra opwright[torch], is not installed."""

from __future__ import annotations

import importlib.util

if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]
