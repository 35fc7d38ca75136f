"""The JSON Schemas of spec files and of audit files, for editors: completion, descriptions and checks as one types."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from types import ModuleType
from typing import Any, Final

from pydantic import BaseModel

from generator.spec import audit_file, model
from generator.spec.audit_file import AuditFile
from generator.spec.model import Model, OpSpec

__all__ = ["audit_schema", "schema", "text"]

_SIZE: Final[dict[str, Any]] = {"type": ["string", "integer"]}
# fields that hold sizes: an integer stands for its text
_SIZES: Final = {
    "Param": ("shape", "ranks"),
    "When": ("shape",),
    "Flat": ("axes", "size"),
    "Dim": ("value",),
    "OpSpec": ("segments",),
    "AuditTensor": ("shape", "below"),
    "AuditCase": ("segments",),
}


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a spec file; integers are taken wherever a size is written."""
    return _schema(OpSpec, "opwright operator spec", model)


def audit_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of an audit file, short forms included: a dim without a condition, an attribute that is only
    a type, a tensor that is only a shape."""
    made = _schema(AuditFile, "opwright audit file", model, audit_file)
    case = made["$defs"]["AuditCase"]["properties"]
    shape = {"type": "array", "items": _SIZE}
    short: dict[str, dict[str, Any]] = {
        "dims": {"type": "null"},
        "attrs": made["$defs"]["AuditAttr"]["properties"]["type"],
        "tensors": shape,
    }
    for key, form in short.items():
        form = {k: v for k, v in form.items() if k != "default"}
        case[key]["additionalProperties"] = {"anyOf": [case[key]["additionalProperties"], form]}
    return made


def text(made: dict[str, Any]) -> str:
    """A schema as it is written to a file: sorted, indented, with a final newline."""
    return json.dumps(made, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _schema(of: type[BaseModel], title: str, *modules: ModuleType) -> dict[str, Any]:
    made = of.model_json_schema()
    comments = {k: v for m in modules for k, v in _comments(m).items()}
    definitions = {of.__name__: made, **made.get("$defs", {})}
    for name, definition in definitions.items():
        for field, entry in definition.get("properties", {}).items():
            about = comments.get((name, field))
            if about:
                entry.setdefault("description", about)
            entry.pop("title", None)
            if field in _SIZES.get(name, ()):
                definition["properties"][field] = _sized(entry)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **{k: v for k, v in made.items() if k != "title"},
    }


def _comments(module: ModuleType) -> dict[tuple[str, str], str]:
    """The comment beside each field in the models' source: the description an editor shows."""
    source = inspect.getsource(module)
    lines = source.split("\n")
    out: dict[tuple[str, str], str] = {}
    for node in ast.parse(source).body:
        cls = getattr(sys.modules[module.__name__], node.name, None) if isinstance(node, ast.ClassDef) else None
        if not (isinstance(node, ast.ClassDef) and isinstance(cls, type) and issubclass(cls, BaseModel) and cls is not Model):
            continue
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                line = lines[(field.end_lineno or field.lineno) - 1]
                _, found, comment = line[field.end_col_offset or 0 :].partition("#")
                if found:
                    out[node.name, field.target.id] = comment.strip()
    return out


def _sized(entry: Any) -> Any:
    """``entry`` with integers taken wherever it has text."""
    if isinstance(entry, list):
        return [_sized(e) for e in entry]
    if not isinstance(entry, dict):
        return entry
    if entry.get("type") == "string":
        return {**entry, **_SIZE}
    return {k: _sized(v) if k in ("anyOf", "items", "additionalProperties") else v for k, v in entry.items()}
