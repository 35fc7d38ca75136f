"""The JSON Schemas say what the readers take: every spec and audit file here is valid, and what a reader refuses is not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from generator.spec.audit_file import scan_audit
from generator.spec.errors import SpecError
from generator.spec.schema import audit_schema, schema
from tests.audit.corpus import audit_file, cases, texts

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "specs").rglob("*.yaml"))
AUDIT = Draft202012Validator(audit_schema())
CASE: dict[str, Any] = {
    "name": "scale",
    "dims": {"T": None, "D": {"where": "D >= 2"}},
    "attrs": {"s": "float", "eps": {"type": "float", "where": "eps > 0"}},
    "tensors": {"x": ["T", 4], "seg": {"shape": ["T"], "dtype": "int32", "below": 8}, "y": ["T", "D"]},
    "forward": "y[t, d] = s * x[t, 0]",
    "gradient": "dx[t, d] = s * dy[t, d]",
}


def document(text: str) -> Any:
    """A YAML document as JSON has it."""
    return json.loads(json.dumps(YAML(typ="safe", pure=True).load(text)))


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_every_spec_is_valid(path: Path) -> None:
    assert [e.message for e in Draft202012Validator(schema()).iter_errors(document(path.read_text(encoding="utf-8")))] == []


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in cases()])
def test_every_case_of_the_corpus_is_valid(case: Any) -> None:
    found = [e.message for text in list(texts(case))[:1] for e in AUDIT.iter_errors(json.loads(audit_file(text)))]
    assert found == []


def test_the_example_of_the_readme_is_valid() -> None:
    (example,) = re.findall(r"```yaml\n(cases:.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert list(AUDIT.iter_errors(document(example))) == []


def test_short_forms_are_valid() -> None:
    assert list(AUDIT.iter_errors({"cases": [CASE]})) == []


@pytest.mark.parametrize(
    "change",
    [
        {"tensor": {}},
        {"forward": None},
        {"attrs": {"s": "complex"}},
        {"dims": {"T": {"when": "T > 0"}}},
        {"tensors": {"x": {"dtype": "float32"}}},
        {"inputs": {"x": [1, 2, 3]}},
        {"gradients": ["dx"]},
        {"broadcast": "b"},
    ],
    ids=lambda c: next(iter(c)),
)
def test_what_the_reader_refuses_is_not_valid(change: dict[str, Any]) -> None:
    broken = {"cases": [{**CASE, **change}]}
    with pytest.raises(SpecError):
        scan_audit(json.dumps(broken), "case.yaml")
    assert list(AUDIT.iter_errors(broken)) != []


def test_a_file_without_cases_is_not_valid() -> None:
    for broken in ({}, {"cases": []}):
        assert list(AUDIT.iter_errors(broken)) != []
