"""Derived gradients of every forward of the corpus: right by central differences, and about as short as people write them."""

from __future__ import annotations

import numpy as np
import pytest

from generator.reference.evaluate import run
from tests.audit.corpus import Case, cases
from tests.audit.lengths import derived, length, shortest
from tests.audit.truth import kept, needed, points, truth

SOUND = [c for c in cases() if not c.trap and c.right is None]
LONGER = 1.3


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in SOUND])
def test_a_derived_gradient_agrees_with_central_differences(case: Case) -> None:
    found = derived(case, shortest(case)[0])
    held = {name: tensor for tensor, name in found.saved.items()}
    cotangents = case.data["cotangents"]
    compared = 0
    for point in points(case, 4, seed=7):
        values = kept(case, point)
        given = {t.name: point.cotangents[cotangents[t.name]] for t in found.program.inputs if t.name in cotangents}
        given |= {t.name: values[held.get(t.name, t.name)] for t in found.program.inputs if t.name not in cotangents}
        out = run(found.program, given, needed(found.program, point), point.attrs)
        for of, name in found.gradients.items():
            known = truth(case, of, point)
            if known is not None:
                want, smooth = known
                gap = float(np.max(np.abs(np.where(smooth, out[name] - want, 0.0)), initial=0.0))
                assert gap <= 1e-6 * max(float(np.max(np.abs(want), initial=0.0)), 1e-3), name
                compared += 1
        if compared >= 2 * len(found.gradients):
            break
    assert compared


def test_derived_gradients_are_about_as_short_as_people_write_them() -> None:
    longer = {}
    for case in SOUND:
        text, best = shortest(case)
        mine = length(derived(case, text).program)
        if mine > LONGER * best:
            longer[case.name] = f"{mine:.2f} for {best:.2f}"
    # piecewise forms, clamps and windows that people write by other conditions than the forward's
    assert len(SOUND) - len(longer) >= 90, longer
