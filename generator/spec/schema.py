"""The JSON Schema of spec files, for editors: completion, descriptions and checks as one types."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from typing import Any

from pydantic import BaseModel

from generator.spec import model
from generator.spec.model import Model, OpSpec

__all__ = ["schema", "text"]


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a spec file; integers are taken wherever a size is written."""
    made = OpSpec.model_json_schema()
    comments = _comments()
    definitions = {OpSpec.__name__: made, **made.get("$defs", {})}
    for name, definition in definitions.items():
        for field, entry in definition.get("properties", {}).items():
            about = comments.get((name, field))
            if about:
                entry.setdefault("description", about)
            entry.pop("title", None)
    _sizes(made)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "opwright operator spec",
        **{k: v for k, v in made.items() if k != "title"},
    }


def text() -> str:
    """The schema as it is written to a file: sorted, indented, with a final newline."""
    return json.dumps(schema(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _comments() -> dict[tuple[str, str], str]:
    """The comment beside each field in the models' source: the description an editor shows."""
    source = inspect.getsource(model)
    lines = source.split("\n")
    out: dict[tuple[str, str], str] = {}
    for node in ast.parse(source).body:
        cls = getattr(sys.modules[model.__name__], node.name, None) if isinstance(node, ast.ClassDef) else None
        if not (isinstance(node, ast.ClassDef) and isinstance(cls, type) and issubclass(cls, BaseModel) and cls is not Model):
            continue
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                line = lines[(field.end_lineno or field.lineno) - 1]
                _, found, comment = line[field.end_col_offset or 0 :].partition("#")
                if found:
                    out[node.name, field.target.id] = comment.strip()
    return out


def _sizes(made: dict[str, Any]) -> None:
    """Sizes may be written as integers."""
    size = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    definitions = made.get("$defs", {})
    for name, field in (("Param", "shape"), ("When", "shape")):
        _items(definitions[name]["properties"][field], size)
    definitions["Flat"]["properties"]["size"].pop("type", None)
    definitions["Flat"]["properties"]["size"].update(size)
    definitions["Flat"]["properties"]["axes"]["additionalProperties"] = size
    options = definitions["Dim"]["properties"]["value"]["anyOf"]
    options.append({"type": "integer"})


def _items(entry: dict[str, Any], size: dict[str, Any]) -> None:
    for option in entry.get("anyOf", [entry]):
        if option.get("type") == "array":
            option["items"] = size
