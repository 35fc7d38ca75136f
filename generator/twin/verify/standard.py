"""By which standard a case is judged: float32 results of products that may be computed in HF32 by that of float16."""

from __future__ import annotations

from generator.formula.checked import CheckedSpec
from generator.reference.evaluate import Precision
from generator.twin.verify.case import Case

__all__ = ["in_hf32", "ref_precision"]


def in_hf32(checked: CheckedSpec, case: Case) -> bool:
    """The case's attributes allow sums of float32 products in HF32."""
    rule = checked.spec.hf32
    return rule is not None and dict(case.attrs).get(rule.attr) in rule.values


def ref_precision(checked: CheckedSpec, case: Case) -> Precision:
    """The precision of ``ref`` in rule (b): the compute dtype, or HF32 for the factors of products that may be computed so."""
    return "hf32" if in_hf32(checked, case) else checked.spec.compute
