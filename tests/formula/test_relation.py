"""What a gradient spec's tensors and the forward's sizes are to each other."""

from __future__ import annotations

from generator.formula.checked import load
from generator.formula.link import relation
from generator.spec.integer import const, sym
from tests.reference.specs import ROOT


def test_roles_follow_names_bindings_and_directions() -> None:
    family = ROOT / "specs" / "mhc"
    found = relation(load(family / "mhc_pre_backward.yaml"), load(family / "mhc_pre.yaml"))
    assert found.gradients == {f"grad_{n}": n for n in ("x", "phi", "alpha", "bias", "gamma")}
    assert found.cotangents == {f"grad_{n}": n for n in ("h_in", "h_post", "h_res")}
    assert found.saved == {n: n for n in ("inv_rms", "h_mix", "h_pre", "h_post")}
    assert found.passed == {"grad_x_post": "x"}
    assert found.same == {n: n for n in ("x", "phi", "alpha", "gamma")}


def test_sizes_of_the_forward_come_from_shapes_and_then_from_each_other() -> None:
    family = ROOT / "specs" / "mhc"
    found = relation(load(family / "mhc_pre_backward.yaml"), load(family / "mhc_pre.yaml"))
    assert found.sizes["A"] == const(3)
    assert found.sizes["R"] == sym("n")
