"""Reading YAML: places, plain values, anchors, and what is refused."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from generator.formula.checked import check, load
from generator.spec.errors import SpecError, TextError
from generator.spec.load import read, scan
from generator.spec.nodes import compose
from generator.spec.schema import audit_schema, schema, text

ROOT = Path(__file__).parents[2]
GOOD = (Path(__file__).parent / "good.yaml").read_text(encoding="utf-8")


def test_plain_values_follow_yaml_1_2() -> None:
    data = compose("a: 010\nb: 0o10\nc: 0x10\nd: yes\ne: true\nf: 1e3\ng: .inf\nh: ~\ni: '1'\nj: 1_000\nk: on").data
    assert data == {
        "a": 10,
        "b": 8,
        "c": 16,
        "d": "yes",
        "e": True,
        "f": 1000.0,
        "g": float("inf"),
        "h": None,
        "i": "1",
        "j": "1_000",
        "k": "on",
    }


def test_an_alias_repeats_its_anchor() -> None:
    assert compose("a: &x {k: [1, 2]}\nb: *x").data["b"] == {"k": [1, 2]}


def test_a_recursive_alias_is_a_problem() -> None:
    assert any("holds itself" in p.what for p in compose("a: &x [1, *x]").problems)


def test_an_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    with pytest.raises(TextError) as caught:
        compose("\n".join(lines))
    assert "too many values" in caught.value.what


@pytest.mark.parametrize("bad", ["[1, 2", "- a\n- b", "", "a: 1\n---\nb: 2", "a: \x00", "a: *nowhere", "\tb: 1"])
def test_what_is_no_mapping_is_one_located_problem(bad: str) -> None:
    with pytest.raises(SpecError) as caught:
        scan(bad, "bad.yaml")
    (problem,) = caught.value.problems
    assert problem.line >= 1
    assert problem.column >= 1


def test_places_point_into_flow_lists_and_blocks() -> None:
    source = scan(GOOD, "good.yaml")
    lines = GOOD.split("\n")
    where = source.at("params", 0, "shape", 1)
    assert lines[where.line - 1][where.column - 1 :].startswith("n, D]")
    inside = source.tree.inside(("formula",), 3, 5)
    assert lines[inside.line - 1][inside.column - 1 :].startswith("s[t, i] = sqrt")


@pytest.mark.parametrize("header", ["formula: |", "formula: |-", "formula: |+", "formula: |2", "formula: | # a comment", "formula: |\n"])
def test_formula_columns_hold_for_every_block_header(header: str) -> None:
    edited = GOOD.replace("formula: |", header).replace("* scale[d]", "* scole[d]")
    with pytest.raises(SpecError) as caught:
        check(edited, "good.yaml")
    at = edited.index("scole[d]")
    place = edited[:at].count("\n") + 1, at - edited.rindex("\n", 0, at)
    assert [(p.line, p.column) for p in caught.value.problems] == [place]


def test_a_formula_of_one_line_may_stand_beside_its_key() -> None:
    head = GOOD[: GOOD.index("formula: |")]
    for quote in ("", '"', "'"):
        line = f"formula: {quote}y[t, i, d] = x[t, i, e]{quote}"
        with pytest.raises(SpecError) as caught:
            check(head + line + "\n", "good.yaml")
        number = head.count("\n") + 1
        assert (number, line.index("e]") + 1) in [(p.line, p.column) for p in caught.value.problems]


def test_a_missing_file_is_a_located_problem(tmp_path: Path) -> None:
    for reader in (read, load):
        with pytest.raises(SpecError) as caught:
            reader(tmp_path / "none.yaml")
        assert "cannot be read" in str(caught.value)
    (tmp_path / "bytes.yaml").write_bytes(b"name: \xff\xfe")
    with pytest.raises(SpecError, match="not UTF-8"):
        load(tmp_path / "bytes.yaml")


def test_no_line_removed_from_a_spec_ends_in_a_traceback() -> None:
    lines = GOOD.split("\n")
    for at in range(len(lines)):
        with contextlib.suppress(SpecError):
            check("\n".join(lines[:at] + lines[at + 1 :]), "cut.yaml")


def test_no_text_cut_short_ends_in_a_traceback() -> None:
    for at in range(0, GOOD.index("total[t] = "), 37):  # before its last outputs are written
        with pytest.raises(SpecError):
            check(GOOD[:at], "cut.yaml")


def test_published_formulas_may_be_wrong() -> None:
    wrong = "published:\n  - source: a document\n    formula: |\n      y[t] = what is this\n"
    assert check(GOOD + wrong, "good.yaml").spec.published[0].source == "a document"


def test_the_schema_describes_every_key_of_a_spec() -> None:
    made = schema()
    assert made["additionalProperties"] is False
    assert set(made["required"]) == {"name", "family", "summary", "params", "formula"}
    assert "formula's name" in made["$defs"]["Param"]["properties"]["symbol"]["description"]
    assert made["$defs"]["Flat"]["properties"]["size"]["type"] == ["string", "integer"]


def test_the_committed_schema_is_current() -> None:
    for name, made in (("schema.json", schema()), ("audit_schema.json", audit_schema())):
        committed = (ROOT / "generator" / "spec" / name).read_text(encoding="utf-8")
        assert committed == text(made)
        Draft202012Validator.check_schema(json.loads(committed))
