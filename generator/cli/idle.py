"""The short way out: ``gen`` and ``check`` when hashes show that there is nothing to do, before any library is loaded.

Whatever is not plainly such a run is left to the full command line, which says the same things and more.
"""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ["idle"]


def idle(args: list[str]) -> bool:
    """True when ``args`` is a ``gen`` or ``check`` of everything that has nothing to do; its answer is then printed."""
    options = _options(args)
    if options is None:
        return False
    from generator.emit.manifest import ManifestError
    from generator.emit.pipeline import tidy

    specs, out = Path(options.get("--specs", "specs")), Path(options.get("--out", "generated"))
    try:
        if not specs.is_dir() or not tidy(specs, out, extra=args[0] == "check"):
            return False
    except (OSError, ManifestError):
        return False
    _answer(args[0], "--json" in options)
    return True


def _options(args: list[str]) -> dict[str, str] | None:
    """The options of a plain run, None when there is anything else."""
    if not args or args[0] not in ("gen", "check"):
        return None
    found: dict[str, str] = {}
    rest = iter(args[1:])
    for arg in rest:
        name, mark, value = arg.partition("=")
        if name == "--json" and not mark:
            found[name] = ""
        elif name in ("--specs", "--out"):
            found[name] = value if mark else next(rest, "")
            if not found[name]:
                return None
        else:
            return None
    return found


def _answer(command: str, json_: bool) -> None:
    nothing: dict[str, list[str]] = {"drift": []}
    if command == "gen":
        nothing = {"changes": [], "rendered": [], "edited_by_hand": [], "conflicts": []}
    if json_:
        print(json.dumps({"command": command, **nothing, "seconds": 0.0}, indent=2))
    else:
        print("nothing to do" if command == "gen" else "no drift")
