"""Small operators, as spec text, whose cases and results are known by thought."""

from __future__ import annotations

from pathlib import Path

from generator.formula.checked import CheckedSpec, check
from generator.twin.verify.case import Target

TARGETS = (Target("Ascend910B", 40), Target("Ascend910B", 48), Target("Ascend950", 64))

SCALE_ROWS = """\
name: ScaleRows
family: toy
summary: {en: rows times a weight, zh: 行乘权重}
products: [Ascend910B, Ascend950]
dims:
  R: {}
  D: {where: "D % 16 == 0"}
params:
  - {symbol: x, name: x, aclnn: x, io: in, shape: [R, D], ranks: [[[B, S], D]], dtype: X, about: {en: x, zh: x}}
  - {symbol: w, name: w, aclnn: w, io: in, shape: [D], dtype: X, about: {en: w, zh: w}}
  - {symbol: eps, name: eps, aclnn: eps, io: attr, type: float, default: 1.0e-6, where: eps >= 0, about: {en: e, zh: e}}
  - {symbol: y, name: y, aclnn: y, io: out, shape: [R, D], ranks: [[[B, S], D]], dtype: X, about: {en: y, zh: y}}
  - {symbol: total, name: total, aclnn: sum, io: out, optional: true, shape: [R], ranks: [[[B, S]]], dtype: float32, about: {en: s, zh: s}}
dtypes:
  - {X: float16}
  - {X: float32}
formula: |
  y[r, d] = x[r, d] * (w[d] + eps)
  total[r] = sum[d](x[r, d] * w[d])
"""

CUMULATIVE = """\
name: Cumulative
family: toy
summary: {en: every power of a vector in a padded buffer, zh: 各次幂}
products: [Ascend910B]
dims:
  T: {}
params:
  - {symbol: x, name: x, aclnn: x, io: in, shape: [T], dtype: float32, about: {en: x, zh: x}}
  - {symbol: steps, name: steps, aclnn: steps, io: attr, type: int, default: 3, where: 1 <= steps <= 6, about: {en: s, zh: s}}
  - symbol: powers
    name: powers
    aclnn: powers
    io: out
    flat: {axes: {r: steps, t: T}, order: [r, t], size: 2*steps*T}
    dtype: float32
    about: {en: p, zh: p}
  - {symbol: y, name: y, aclnn: y, io: out, shape: [T], dtype: float32, about: {en: y, zh: y}}
formula: |
  a[t] = x[t]
  powers[0, t] = a[t]
  for r in range(1, steps):
      a[t] = a[t] * x[t]
      powers[r, t] = a[t]
  y[t] = a[t]
"""

CUMULATIVE_BACKWARD = """\
name: CumulativeBackward
family: toy
summary: {en: reads the buffer, zh: 读缓冲}
forward: Cumulative
binds: {x: x, powers: powers, dy: y}
products: [Ascend910B]
dims:
  T: {}
  steps: {value: numel(powers) // (2*T), when_empty: 1, where: 1 <= steps <= 6}
params:
  - {symbol: x, name: x, aclnn: x, io: in, shape: [T], dtype: float32, about: {en: x, zh: x}}
  - {symbol: dy, name: dy, aclnn: dy, io: in, shape: [T], dtype: float32, about: {en: d, zh: d}}
  - symbol: powers
    name: powers
    aclnn: powers
    io: in
    flat: {axes: {r: steps, t: T}, order: [r, t], size: 2*steps*T}
    dtype: float32
    about: {en: p, zh: p}
  - {symbol: dx, name: dx, aclnn: dx, io: out, shape: [T], dtype: float32, about: {en: g, zh: g}}
formula: |
  dx[t] = steps * dy[t] * powers[steps - 1, t] / x[t]
tests:
  values: {T: [1, 7, 64], steps: [1, 2, 6]}
  from_forward: {powers: powers}
"""


def spec(text: str) -> CheckedSpec:
    """The checked spec of one of the texts."""
    return check(text, Path("toy.yaml"))
