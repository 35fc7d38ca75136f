"""``opwright schema``: the JSON Schema of specs, or of audit files, for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from generator.cli.common import Json, say, show

__all__ = ["schema"]


def schema(
    to: Annotated[Path | None, typer.Option("--to", help="Write it to this file instead of printing it.")] = None,
    audit: Annotated[bool, typer.Option("--audit", help="The schema of audit files.")] = False,
    json_: Json = False,
) -> None:
    """Print the JSON Schema of specs, or write it to a file."""
    from generator.spec.schema import audit_schema
    from generator.spec.schema import schema as of_specs

    document = audit_schema() if audit else of_specs()
    if to is None:
        show(document)
        return
    to.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if json_:
        show({"command": "schema", "path": str(to)})
    else:
        say(f"wrote {to}")
