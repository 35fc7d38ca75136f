"""Cases derived from a spec: legal, complete, repeatable, and each violation breaks one rule."""

from __future__ import annotations

import math

import pytest

from generator.twin.verify.case import Case
from generator.twin.verify.cases import case_of, derive
from generator.twin.verify.rules import Rules
from generator.twin.verify.shapes import shapes_of
from tests.twin.verify.toy_specs import CUMULATIVE, CUMULATIVE_BACKWARD, SCALE_ROWS, TARGETS, spec

SCALE = spec(SCALE_ROWS)
SETS = {text: derive(spec(text), TARGETS) for text in (SCALE_ROWS, CUMULATIVE, CUMULATIVE_BACKWARD)}


def values(cases: tuple[Case, ...], name: str) -> set[int]:
    return {dict(c.dims)[name] for c in cases}


@pytest.mark.parametrize("text", SETS)
def test_every_pair_within_the_budget_is_covered_by_legal_cases(text: str) -> None:
    checked, found = spec(text), SETS[text]
    rules = Rules(checked)
    assert found.array.covered == found.array.pairs > 0
    for case in (*found.cases, *found.empty):
        env = {**dict(case.dims), **dict(case.attrs)}
        assert rules.allowed(env)
        assert not rules.broken(env)


@pytest.mark.parametrize("text", SETS)
def test_the_same_spec_gives_the_same_cases(text: str) -> None:
    assert derive(spec(text), TARGETS) == SETS[text]


def test_rows_cover_one_a_prime_all_cores_and_several_tiles_per_core() -> None:
    rows = values(SETS[SCALE_ROWS].cases, "R")
    assert {1, 7, 64, 127} <= rows
    assert max(rows) > 10 * 64


def test_row_lengths_obey_their_constraint_and_reach_beyond_unified_buffer() -> None:
    lengths = values(SETS[SCALE_ROWS].cases, "D")
    assert all(d % 16 == 0 for d in lengths)
    assert min(lengths) == 16
    assert max(lengths) * 4 > 253952


def test_dtypes_ranks_and_presence_vary() -> None:
    cases = SETS[SCALE_ROWS].cases
    assert {c.dtypes for c in cases} == {(("X", "float16"),), (("X", "float32"),)}
    assert {c.rank for c in cases} == {0, 1}
    assert {c.absent for c in cases} == {(), ("total",)}
    assert {c.target for c in cases} == set(TARGETS)


def test_float_attributes_take_values_that_are_not_the_default() -> None:
    found = {dict(c.attrs)["eps"] for c in SETS[SCALE_ROWS].cases}
    assert 1e-6 in found
    assert len(found) >= 2
    assert min(found) >= 0


def test_int_attributes_reach_both_limits() -> None:
    found = {dict(c.attrs)["steps"] for c in SETS[CUMULATIVE].cases}
    assert {1, 6} <= found <= set(range(1, 7))


def test_nan_and_infinities_stand_in_each_float_input_that_is_free() -> None:
    assert {c.special for c in SETS[SCALE_ROWS].cases} == {None, *((n, v) for n in "xw" for v in ("nan", "inf", "-inf"))}
    backward = {c.special[0] for c in SETS[CUMULATIVE_BACKWARD].cases if c.special}
    assert "powers" not in backward
    assert "dy" in backward


def test_dims_derived_from_element_counts_are_chosen_and_come_out_as_chosen() -> None:
    checked = spec(CUMULATIVE_BACKWARD)
    assert values(SETS[CUMULATIVE_BACKWARD].cases, "steps") == {1, 2, 6}
    for case in SETS[CUMULATIVE_BACKWARD].cases:
        shapes = shapes_of(checked, case)
        dims = dict(case.dims)
        assert shapes["powers"] == (2 * dims["steps"] * dims["T"],)


def test_an_empty_case_takes_the_stated_value_of_a_dim_derived_by_dividing_by_zero() -> None:
    (case,) = SETS[CUMULATIVE_BACKWARD].empty
    assert dict(case.dims) == {"T": 0, "steps": 1}


def test_alternative_ranks_split_the_same_dim_the_same_way_everywhere() -> None:
    case = case_of(SCALE, {"R": 12, "D": 16}, TARGETS[0], rank=1)
    shapes = shapes_of(SCALE, case)
    assert len(shapes["x"]) == 3
    assert math.prod(shapes["x"][:2]) == 12
    assert shapes["x"] == shapes["y"]
    assert shapes["total"] == shapes["x"][:2]
    assert shapes["w"] == (16,)


def test_the_command_of_a_case_names_everything_that_fixes_it() -> None:
    case = case_of(SCALE, {"R": 3, "D": 16, "eps": 0.5}, TARGETS[2], combination=1, absent=("total",), rank=1, seed=5)
    assert case.command() == (
        "opwright run ScaleRows --dim R=3 --dim D=16 --attr eps=0.5 --dtype X=float32 --absent total --rank 1 "
        "--product Ascend950 --cores 64 --seed 5"
    )


def test_each_kind_of_rule_is_violated_once() -> None:
    said = [v.what for v in SETS[SCALE_ROWS].violations]
    for beginning in ("D = ", "eps = ", "x has extent", "w has extent", "y has extent", "x has rank", "w has rank", "x is ", "total is "):
        assert any(w.startswith(beginning) for w in said), beginning
    assert len(said) == len(set(said))


def test_a_violated_range_is_the_only_thing_wrong() -> None:
    rules = Rules(SCALE)
    for violation in SETS[SCALE_ROWS].violations:
        if violation.what.startswith("D = "):
            env = {**dict(violation.base.dims), **dict(violation.base.attrs)}
            assert [r.text for r in rules.broken(env)] == ["D % 16 == 0"]


def test_wrong_element_counts_of_a_flat_buffer_and_counts_out_of_range_are_tried() -> None:
    said = [v.what for v in SETS[CUMULATIVE_BACKWARD].violations]
    assert any(w.startswith("powers has extent") for w in said)
    assert any(w.startswith("steps = 7 violates") for w in said)


def test_a_dtype_that_a_combination_allows_is_no_violation() -> None:
    wrong = {name: dtype for v in SETS[SCALE_ROWS].violations for name, dtype in v.dtypes}
    assert wrong.keys() == {"x", "w", "y", "total"}
    assert wrong["total"] != "float32"
