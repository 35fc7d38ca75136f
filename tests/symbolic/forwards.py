"""Forward formulas to derive, with sizes, attributes and what their gradients may read besides the inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from generator.formula.checked import CheckedSpec, check
from tests.formula.specs import attr, spec, tensor


@dataclass(frozen=True)
class Forward:
    """``params`` are ``name: io shape`` (``?`` for optional, with fill 0; ``int`` dtype after the shape) or ``name: attr type``."""

    name: str
    formula: str
    params: tuple[str, ...]
    dims: str
    sizes: dict[str, int]
    attrs: dict[str, float] = field(default_factory=dict)
    saved: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    sections: str = ""
    step: float = 2.0**-6

    @property
    def checked(self) -> CheckedSpec:
        return _checked(self.formula, self.params, self.dims, self.sections)


@cache
def _checked(formula: str, params: tuple[str, ...], dims: str, sections: str) -> CheckedSpec:
    return check(spec(formula, [_param(p) for p in params], dims, sections), "forward.yaml")


def _param(text: str) -> str:
    name, _, rest = text.partition(":")
    io, _, shape = rest.strip().partition(" ")
    if io == "attr":
        kind, _, where = shape.partition(" ")
        return attr(name, kind, where)
    shape, _, extra = shape.partition("]")
    dtype = "int32" if "int" in extra else "float32"
    more = "optional: true; fill: 0" if "?" in extra else ""
    return tensor(name, io, shape + "]", dtype, more)


def unary(name: str, body: str, positive: bool = False) -> Forward:
    return Forward(name, f"y[t] = {body}", ("x: in [T]", "y: out [T]"), "T", {"T": 5}, positive=("x",) if positive else ())


FORWARDS: tuple[Forward, ...] = (
    unary("exp", "exp(x[t])"),
    unary("exp2", "exp2(x[t])"),
    unary("expm1", "expm1(x[t])"),
    unary("log", "log(x[t])", positive=True),
    unary("log2", "log2(x[t])", positive=True),
    unary("log10", "log10(x[t])", positive=True),
    unary("log1p", "log1p(x[t])", positive=True),
    unary("sqrt", "sqrt(x[t])", positive=True),
    unary("rsqrt", "rsqrt(x[t])", positive=True),
    unary("reciprocal", "reciprocal(x[t])", positive=True),
    unary("square", "square(x[t])"),
    unary("abs", "abs(x[t])", positive=True),
    unary("sin", "sin(x[t])"),
    unary("cos", "cos(x[t])"),
    unary("tan", "tan(0.3*x[t])"),
    unary("asin", "asin(0.3*x[t])"),
    unary("acos", "acos(0.3*x[t])"),
    unary("atan", "atan(x[t])"),
    unary("sinh", "sinh(x[t])"),
    unary("cosh", "cosh(x[t])"),
    unary("tanh", "tanh(x[t])"),
    unary("erf", "erf(x[t])"),
    unary("erfc", "erfc(x[t])"),
    unary("sigmoid", "sigmoid(x[t])"),
    unary("logsigmoid", "logsigmoid(x[t])"),
    unary("softplus", "softplus(x[t])"),
    unary("relu", "relu(x[t] - 0.35)", positive=True),
    unary("silu", "silu(x[t])"),
    unary("gelu", "gelu(x[t])"),
    unary("gelu_tanh", "gelu_tanh(x[t])"),
    unary("a cube over a sum", "x[t]**3 / (1 + x[t]**2)"),
    unary("a power of itself", "x[t] ** x[t]", positive=True),
    unary("a piecewise cubic", "where(x[t] > 0.35, x[t]**3, 2 * x[t])", positive=True),
    unary("a cast on the way", "cast(x[t], float32) * x[t]"),
    unary("floor and rest", "floor(x[t]) * x[t]"),
    unary("mish", "x[t] * tanh(softplus(x[t]))"),
    unary("hardswish", "x[t] * minimum(maximum(x[t] + 3, 0), 6) / 6"),
    Forward(
        "rms norm",
        ("r[t] = rsqrt(mean[j](square(x[t, j])) + eps)\ny[t, j] = x[t, j] * r[t] * w[j]\nrstd[t, 0] = r[t]"),
        (
            "x: in [T, D]",
            "w: in [D]",
            "eps: attr float",
            "y: out [T, D]",
            "rstd: out [T, 1]",
        ),
        "T, D",
        {"T": 3, "D": 4},
        {"eps": 0.3},
        saved=("rstd",),
    ),
    Forward(
        "layer norm",
        (
            "m[t] = mean[j](x[t, j])\n"
            "v[t] = mean[j](square(x[t, j] - m[t]))\n"
            "r[t] = rsqrt(v[t] + eps)\n"
            "y[t, j] = (x[t, j] - m[t]) * r[t] * w[j] + b[j]"
        ),
        (
            "x: in [T, D]",
            "w: in [D]",
            "b: in [D]",
            "eps: attr float",
            "y: out [T, D]",
        ),
        "T, D",
        {"T": 3, "D": 4},
        {"eps": 0.3},
    ),
    Forward(
        "batch norm with an unbiased variance",
        ("m[c] = mean[t](x[t, c])\nv[c] = sum[t](square(x[t, c] - m[c])) / (T - 1)\ny[t, c] = (x[t, c] - m[c]) / sqrt(v[c] + eps) * w[c]"),
        (
            "x: in [T, C]",
            "w: in [C]",
            "eps: attr float",
            "y: out [T, C]",
        ),
        "T: T >= 2, C",
        {"T": 4, "C": 3},
        {"eps": 0.3},
    ),
    Forward(
        "group norm",
        (
            "m[t, g: G] = mean[c: C](x[t, (g, c)])\n"
            "v[t, g] = mean[c: C](square(x[t, (g, c)] - m[t, g]))\n"
            "y[t, (g, c)] = (x[t, (g, c)] - m[t, g]) * rsqrt(v[t, g] + eps) * w[g, c]"
        ),
        (
            "x: in [T, G*C]",
            "w: in [G, C]",
            "eps: attr float",
            "y: out [T, G*C]",
        ),
        "T, G, C",
        {"T": 2, "G": 2, "C": 3},
        {"eps": 0.3},
    ),
    Forward(
        "softmax",
        ("m[t] = max[j](x[t, j])\ne[t, j] = exp(x[t, j] - m[t])\ny[t, j] = e[t, j] / sum[j](e[t, j])"),
        (
            "x: in [T, D]",
            "y: out [T, D]",
        ),
        "T, D",
        {"T": 3, "D": 4},
        saved=("y",),
    ),
    Forward(
        "softmax without what it saves",
        ("m[t] = max[j](x[t, j])\ne[t, j] = exp(x[t, j] - m[t])\ny[t, j] = e[t, j] / sum[j](e[t, j])"),
        (
            "x: in [T, D]",
            "y: out [T, D]",
        ),
        "T, D",
        {"T": 3, "D": 4},
    ),
    Forward(
        "log softmax",
        ("m[t] = max[j](x[t, j])\ny[t, j] = x[t, j] - m[t] - log(sum[j](exp(x[t, j] - m[t])))"),
        (
            "x: in [T, D]",
            "y: out [T, D]",
        ),
        "T, D",
        {"T": 3, "D": 4},
        saved=("y",),
    ),
    Forward(
        "cross entropy",
        ("m[t] = max[j](x[t, j])\ns[t] = sum[j](exp(x[t, j] - m[t]))\nloss = -sum[t](x[t, label[t]] - m[t] - log(s[t])) / T\ny[0] = loss"),
        (
            "x: in [T, D]",
            "label: in [T] int",
            "y: out [1]",
        ),
        "T, D",
        {"T": 3, "D": 4},
    ),
    Forward(
        "mean squared error",
        "y[0] = mean[t, j](square(x[t, j] - z[t, j]))",
        (
            "x: in [T, D]",
            "z: in [T, D]",
            "y: out [1]",
        ),
        "T, D",
        {"T": 3, "D": 4},
    ),
    Forward(
        "matmul",
        "y[i, j] = sum[k](a[i, k] * b[k, j])",
        (
            "a: in [M, K]",
            "b: in [K, N]",
            "y: out [M, N]",
        ),
        "M, K, N",
        {"M": 2, "K": 3, "N": 4},
    ),
    Forward(
        "linear",
        "y[t, o] = sum[c](x[t, c] * w[o, c]) + b[o]",
        (
            "x: in [T, C]",
            "w: in [O, C]",
            "b: in [O]",
            "y: out [T, O]",
        ),
        "T, C, O",
        {"T": 2, "C": 3, "O": 4},
    ),
    Forward(
        "swiglu",
        "y[t, j] = silu(x[t, j]) * x[t, j + H]",
        (
            "x: in [T, 2*H]",
            "y: out [T, H]",
        ),
        "T, H",
        {"T": 2, "H": 3},
    ),
    Forward(
        "geglu in two inputs",
        "y[t, j] = gelu(x[t, j]) * v[t, j]",
        (
            "x: in [T, H]",
            "v: in [T, H]",
            "y: out [T, H]",
        ),
        "T, H",
        {"T": 2, "H": 3},
    ),
    Forward(
        "a temporal convolution",
        "y[t, b, o] = bias[o] + sum[k, c](x[t + k - pad, b, c] * w[k, c, o])",
        (
            "x: in [T, B, C]",
            "w: in [K, C, O]",
            "bias: in [O]",
            "pad: attr int pad >= 0",
            "y: out [T + 2*pad - K + 1, B, O]",
        ),
        "T, B, C, K, O",
        {"T": 5, "B": 2, "C": 2, "K": 3, "O": 2, "pad": 1},
    ),
    Forward(
        "a strided convolution",
        "y[t] = sum[k](x[s*t + k - pad] * w[k])",
        (
            "x: in [T]",
            "w: in [K]",
            "s: attr int 1 <= s <= 4",
            "pad: attr int pad >= 0",
            "y: out [(T + 2*pad - K)//s + 1]",
        ),
        "T, K",
        {"T": 7, "K": 3, "s": 2, "pad": 1},
    ),
    Forward(
        "a depthwise window",
        "y[t] = sum[k: 3](x[t + k - 1] * w[t + k - 1])",
        (
            "x: in [T]",
            "w: in [T]",
            "y: out [T]",
        ),
        "T",
        {"T": 5},
    ),
    Forward(
        "an average pool",
        "y[t] = mean[k: K](x[2*t + k], divisor=K)",
        (
            "x: in [T]",
            "K: attr int 1 <= K <= 3",
            "y: out [(T - K)//2 + 1]",
        ),
        "T: T >= 3",
        {"T": 7, "K": 2},
    ),
    Forward(
        "a maximum pool",
        "y[t] = max[k: 3](x[2*t + k - 1])",
        (
            "x: in [T]",
            "y: out [(T + 1)//2]",
        ),
        "T",
        {"T": 7},
    ),
    Forward(
        "a row's maximum and minimum",
        "y[t] = max[j](x[t, j]) * min[j](x[t, j])",
        (
            "x: in [T, D]",
            "y: out [T]",
        ),
        "T, D",
        {"T": 3, "D": 4},
    ),
    Forward(
        "a product",
        "y[t] = prod[j](x[t, j])",
        (
            "x: in [T, D]",
            "y: out [T]",
        ),
        "T, D",
        {"T": 3, "D": 4},
    ),
    Forward(
        "a windowed product",
        "y[t] = prod[k: 3](x[t + k - 1])",
        (
            "x: in [T]",
            "y: out [T]",
        ),
        "T",
        {"T": 5},
    ),
    Forward(
        "an exponential of a padded window",
        "y[t] = sum[k: 3](exp(x[t + k - 1]) * w[k])",
        (
            "x: in [T]",
            "w: in [3]",
            "y: out [T]",
        ),
        "T",
        {"T": 5},
    ),
    Forward(
        "rope in halves",
        ("y[t, j] = x[t, j] * c[t, j] - x[t, j + H] * s[t, j]\ny[t, j + H] = x[t, j + H] * c[t, j] + x[t, j] * s[t, j]"),
        (
            "x: in [T, 2*H]",
            "c: in [T, H]",
            "s: in [T, H]",
            "y: out [T, 2*H]",
        ),
        "T, H",
        {"T": 2, "H": 3},
    ),
    Forward(
        "rope in pairs",
        ("y[t, 2*j] = x[t, 2*j] * c[t, j] - x[t, 2*j + 1] * s[t, j]\ny[t, 2*j + 1] = x[t, 2*j + 1] * c[t, j] + x[t, 2*j] * s[t, j]"),
        (
            "x: in [T, 2*H]",
            "c: in [T, H]",
            "s: in [T, H]",
            "y: out [T, 2*H]",
        ),
        "T, H",
        {"T": 2, "H": 3},
    ),
    Forward(
        "an embedding",
        "y[t, d] = table[idx[t], d] * w[d]",
        (
            "table: in [V, D]",
            "idx: in [T] int",
            "w: in [D]",
            "y: out [T, D]",
        ),
        "V, D, T",
        {"V": 3, "D": 2, "T": 4},
    ),
    Forward(
        "a segment sum",
        "y[v, d] = sum[t](where(idx[t] == v, x[t, d], 0)) * w[v]",
        (
            "x: in [T, D]",
            "idx: in [T] int",
            "w: in [V]",
            "y: out [V, D]",
        ),
        "V, D, T",
        {"V": 3, "D": 2, "T": 4},
    ),
    Forward(
        "attention",
        (
            "z[i, j] = sum[d](q[i, d] * k[j, d]) * scale\n"
            "m[i] = max[j](z[i, j])\n"
            "e[i, j] = exp(z[i, j] - m[i])\n"
            "p[i, j] = e[i, j] / sum[j](e[i, j])\n"
            "y[i, d] = sum[j](p[i, j] * v[j, d])"
        ),
        (
            "q: in [N, D]",
            "k: in [S, D]",
            "v: in [S, D]",
            "scale: attr float",
            "y: out [N, D]",
        ),
        "N, S, D",
        {"N": 2, "S": 3, "D": 2},
        {"scale": 0.7},
    ),
    Forward(
        "a prefix sum",
        ("c[0] = x[0]\nfor r in range(1, T):\n    c[r] = c[r - 1] + x[r]\ny[t] = c[t]"),
        (
            "x: in [T]",
            "y: out [T]",
        ),
        "T",
        {"T": 5},
    ),
    Forward(
        "a linear recurrence",
        ("h[j] = h0[j]\nfor r in range(T):\n    h[j] = a[r, j] * h[j] + x[r, j]\n    y[r, j] = h[j]"),
        (
            "a: in [T, D]",
            "x: in [T, D]",
            "h0: in [D]",
            "y: out [T, D]",
        ),
        "T, D",
        {"T": 4, "D": 2},
    ),
    Forward(
        "an elman cell",
        ("s[0, j] = h0[j]\nfor r in range(T):\n    s[r + 1, j] = tanh(sum[k](w[j, k] * s[r, k]) + x[r, j])\ny[t, j] = s[t + 1, j]"),
        (
            "w: in [D, D]",
            "x: in [T, D]",
            "h0: in [D]",
            "y: out [T, D]",
        ),
        "T, D",
        {"T": 4, "D": 2},
    ),
    Forward(
        "a recurrence with two lags",
        ("s[0] = x[0]\ns[1] = x[1]\nfor r in range(2, T):\n    s[r] = a[0] * s[r - 1] * s[r - 2] + x[r]\ny[t] = s[t]"),
        (
            "x: in [T]",
            "a: in [1]",
            "y: out [T]",
        ),
        "T: T >= 2",
        {"T": 5},
    ),
    Forward(
        "a lstm cell over time",
        (
            "h[j] = h0[j]\n"
            "c[j] = c0[j]\n"
            "for r in range(T):\n"
            "    z[q, j] = x[r, q, j] + sum[k](w[q, j, k] * h[k])\n"
            "    c[j] = sigmoid(z[0, j]) * c[j] + sigmoid(z[1, j]) * tanh(z[2, j])\n"
            "    h[j] = sigmoid(z[3, j]) * tanh(c[j])\n"
            "    y[r, j] = h[j]"
        ),
        (
            "x: in [T, 4, D]",
            "w: in [4, D, D]",
            "h0: in [D]",
            "c0: in [D]",
            "y: out [T, D]",
        ),
        "T, D",
        {"T": 3, "D": 2},
    ),
    Forward(
        "a carried swap",
        (
            "a[j] = x[j]\n"
            "b[j] = w[j]\n"
            "for r in range(N):\n"
            "    s[j] = a[j] * b[j]\n"
            "    a[j] = b[j] + 0.1 * s[j]\n"
            "    b[j] = s[j]\n"
            "y[j] = a[j] - b[j]"
        ),
        (
            "x: in [D]",
            "w: in [D]",
            "N: attr int 1 <= N <= 5",
            "y: out [D]",
        ),
        "D",
        {"D": 3, "N": 3},
    ),
    Forward(
        "a loop in steps of two, backwards",
        ("a[j] = x[j]\nfor r in range(T - 1, -1, -2):\n    a[j] = a[j] * w[r] + a[j]**2 * 0.1\ny[j] = a[j]"),
        (
            "x: in [D]",
            "w: in [T]",
            "y: out [D]",
        ),
        "D, T",
        {"D": 3, "T": 4},
    ),
    Forward(
        "nested loops",
        (
            "a[j] = x[j]\n"
            "for r in range(2):\n"
            "    a[j] = sin(a[j]) * w[j]\n"
            "    for q in range(3):\n"
            "        a[j] = a[j] * cos(a[j]) + v[r, q]\n"
            "    a[j] = a[j] + x[j]\n"
            "y[j] = a[j]"
        ),
        (
            "x: in [D]",
            "w: in [D]",
            "v: in [2, 3]",
            "y: out [D]",
        ),
        "D",
        {"D": 3},
    ),
    Forward(
        "a partial overwrite",
        ("a[j] = x[j]\nfor r in range(D):\n    a[r] = a[0] * sin(x[r])\n    a[j] = a[j] * 1.1\ny[j] = a[j]"),
        (
            "x: in [D]",
            "y: out [D]",
        ),
        "D",
        {"D": 3},
    ),
    Forward(
        "optional weight and two outputs",
        ("y[t, j] = x[t, j] * (1 + w[j])\nz[t] = sum[j](x[t, j] * x[t, j])"),
        (
            "x: in [T, D]",
            "w: in [D] ?",
            "y: out [T, D]",
            "z: out [T]",
        ),
        "T, D",
        {"T": 2, "D": 3},
    ),
    Forward(
        "any rank",
        "y[*b, j] = x[*b, j] * w[j] + sum[j](x[*b, j])",
        (
            "x: in ['*b', D]",
            "w: in [D]",
            "y: out ['*b', D]",
        ),
        "D",
        {"D": 3, "numel_b": 4},
    ),
    Forward(
        "a reversal and a shift",
        ("y[t] = x[T - 1 - t] * 2\nz[t] = sum[u: 1](x[t + 1 + u])"),
        (
            "x: in [T]",
            "y: out [T]",
            "z: out [T]",
        ),
        "T",
        {"T": 4},
    ),
    Forward(
        "one element of many",
        "y[t] = x[t] * x[0] + x[2]",
        (
            "x: in [T]",
            "y: out [T]",
        ),
        "T: T >= 3",
        {"T": 4},
    ),
    Forward(
        "a trace",
        "y[0] = sum[i](x[i, i] * x[i, 0])",
        (
            "x: in [N, N]",
            "y: out [1]",
        ),
        "N",
        {"N": 3},
    ),
    Forward(
        "an upsampling",
        "y[(t, s)] = x[t] * w[s]",
        (
            "x: in [T]",
            "w: in [S]",
            "y: out [T*S]",
        ),
        "T, S",
        {"T": 3, "S": 2},
    ),
    Forward(
        "an interpolation by two",
        ("y[2*t] = x[t] * w[t]\ny[2*t + 1] = 0.5 * (x[t] + x[t + 1]) * w[t]"),
        (
            "x: in [T + 1]",
            "w: in [T]",
            "y: out [2*T]",
        ),
        "T",
        {"T": 4},
    ),
    Forward(
        "segments with a scale each",
        ("z[t, k] = h[t, k] * r[t]\na[t, i] = sigmoid(z[t, pre(i)] * alpha[0]) * q[i]\nb[t, i, j] = z[t, res(i, j)] * alpha[1]"),
        (
            "h: in [T, K]",
            "r: in [T]",
            "alpha: in [2]",
            "q: in [n]",
            "a: out [T, n]",
            "b: out [T, n, n]",
        ),
        "T, n",
        {"T": 2, "n": 2},
        sections="segments: {K: {pre: [n], res: [n, n]}}",
    ),
    Forward(
        "a maximum over two axes",
        "y[t] = max[i, j](x[t, i, j] * w[j])",
        (
            "x: in [T, N, D]",
            "w: in [D]",
            "y: out [T]",
        ),
        "T, N, D",
        {"T": 3, "N": 2, "D": 3},
        step=2.0**-14,
    ),
    Forward(
        "a minimum of a sum",
        "y[t] = min[i](sum[j](x[t, i, j] * w[j])) ** 2",
        (
            "x: in [T, N, D]",
            "w: in [D]",
            "y: out [T]",
        ),
        "T, N, D",
        {"T": 3, "N": 2, "D": 3},
        step=2.0**-14,
    ),
    Forward(
        "a mean that states its divisor",
        "y[t] = mean[k: 3](x[t + k - 1], divisor=s[t])",
        (
            "x: in [T]",
            "s: in [T]",
            "y: out [T]",
        ),
        "T",
        {"T": 5},
        positive=("s",),
    ),
    Forward(
        "a chosen branch",
        "y[t] = where(flag and mask[t] > 0, x[t] * a, exp(x[t]))",
        (
            "x: in [T]",
            "mask: in [T] int",
            "a: attr float",
            "flag: attr bool",
            "y: out [T]",
        ),
        "T",
        {"T": 5},
        {"a": 0.7, "flag": True},
    ),
    Forward(
        "a power by an attribute",
        "y[t] = x[t] ** p + square(x[t]) ** 2",
        (
            "x: in [T]",
            "p: attr float",
            "y: out [T]",
        ),
        "T",
        {"T": 5},
        {"p": 1.7},
        positive=("x",),
    ),
    Forward(
        "a power of a tensor",
        "y[t] = x[t] ** w[t]",
        (
            "x: in [T]",
            "w: in [T]",
            "y: out [T]",
        ),
        "T",
        {"T": 5},
        positive=("x",),
    ),
    Forward(
        "a norm of a difference",
        "y[0] = sqrt(sum[t, j](square(x[t, j] - w[j])))",
        (
            "x: in [T, D]",
            "w: in [D]",
            "y: out [1]",
        ),
        "T, D",
        {"T": 3, "D": 2},
    ),
    Forward(
        "a cosine similarity",
        "y[t] = sum[j](x[t, j] * w[t, j]) * rsqrt(sum[j](square(x[t, j]))) * rsqrt(sum[j](square(w[t, j])))",
        (
            "x: in [T, D]",
            "w: in [T, D]",
            "y: out [T]",
        ),
        "T, D",
        {"T": 3, "D": 2},
    ),
    Forward(
        "a log sum of exponentials",
        ("m[t] = max[j](x[t, j])\ny[t] = m[t] + log(sum[j](exp(x[t, j] - m[t])))"),
        (
            "x: in [T, D]",
            "y: out [T]",
        ),
        "T, D",
        {"T": 3, "D": 4},
        saved=("y",),
    ),
    Forward(
        "a huber loss",
        "y[0] = sum[t](where(abs(x[t] - z[t]) < d, 0.5 * square(x[t] - z[t]), d * (abs(x[t] - z[t]) - 0.5 * d)))",
        (
            "x: in [T]",
            "z: in [T]",
            "d: attr float",
            "y: out [1]",
        ),
        "T",
        {"T": 5},
        {"d": 0.6},
    ),
    Forward(
        "a clamp",
        "y[t] = minimum(maximum(x[t], lo), hi) * w[t]",
        (
            "x: in [T]",
            "w: in [T]",
            "lo: attr float",
            "hi: attr float",
            "y: out [T]",
        ),
        "T",
        {"T": 5},
        {"lo": -0.51, "hi": 0.73},
        step=2.0**-14,
    ),
    Forward(
        "rows against columns",
        "y[i, j] = maximum(x[i], w[j]) / (1 + abs(x[i]))",
        (
            "x: in [N]",
            "w: in [M]",
            "y: out [N, M]",
        ),
        "N, M",
        {"N": 3, "M": 2},
        positive=("x",),
    ),
    Forward(
        "a strided gather of windows",
        "y[t, k: 2] = x[2*t + k] * w[k]",
        (
            "x: in [2*T]",
            "w: in [2]",
            "y: out [T, 2]",
        ),
        "T",
        {"T": 3},
    ),
    Forward(
        "a transposed and repeated read",
        "y[i, j] = x[i, j] * x[j, i] + x[i, i]",
        (
            "x: in [N, N]",
            "y: out [N, N]",
        ),
        "N",
        {"N": 3},
    ),
    Forward(
        "a dilated convolution",
        "y[t] = sum[k: 3](x[t + dil*k] * w[k])",
        (
            "x: in [T]",
            "w: in [3]",
            "dil: attr int 1 <= dil <= 2",
            "y: out [T - 2*dil]",
        ),
        "T: T >= 5",
        {"T": 7, "dil": 2},
    ),
    Forward(
        "a nested gather",
        "y[t] = sum[j](table[idx[t], j] * table[idx[t], j])",
        (
            "table: in [V, D]",
            "idx: in [T] int",
            "y: out [T]",
        ),
        "V, D, T",
        {"V": 3, "D": 2, "T": 4},
    ),
    Forward(
        "a selective scan",
        (
            "h[d: D, s: N] = 0\n"
            "for r in range(T):\n"
            "    h[d, s] = exp(dt[r, d] * a[d, s]) * h[d, s] + dt[r, d] * b[r, s] * x[r, d]\n"
            "    y[r, d] = sum[s](h[d, s] * c[r, s])"
        ),
        (
            "x: in [T, D]",
            "dt: in [T, D]",
            "a: in [D, N]",
            "b: in [T, N]",
            "c: in [T, N]",
            "y: out [T, D]",
        ),
        "T, D, N",
        {"T": 3, "D": 2, "N": 2},
    ),
    Forward(
        "a delta rule",
        (
            "s[i: D, j: D] = 0\n"
            "for r in range(T):\n"
            "    e[j] = v[r, j] - sum[i](s[i, j] * k[r, i])\n"
            "    s[i, j] = s[i, j] + b[r] * k[r, i] * e[j]\n"
            "    y[r, j] = sum[i](s[i, j] * q[r, i])"
        ),
        (
            "q: in [T, D]",
            "k: in [T, D]",
            "v: in [T, D]",
            "b: in [T]",
            "y: out [T, D]",
        ),
        "T, D",
        {"T": 3, "D": 2},
    ),
    Forward(
        "a diagonal of merged axes",
        "y[a: A] = sum[b: B](x[2*a + 1, b*A + a] * x[2*a, b*A + a])",
        (
            "x: in [2*A, A*B]",
            "n: in [A]",
            "m: in [B]",
            "y: out [A]",
        ),
        "A, B",
        {"A": 2, "B": 3},
    ),
    Forward(
        "a newton iteration",
        ("z[t: T] = 1\nfor r in range(N):\n    z[t] = 0.5 * (z[t] + x[t] / z[t])\ny[t] = z[t]"),
        (
            "x: in [T]",
            "N: attr int 1 <= N <= 9",
            "y: out [T]",
        ),
        "T",
        {"T": 4, "N": 4},
        positive=("x",),
    ),
    Forward(
        "a causal attention",
        (
            "z[i, j] = where(j <= i, sum[d](q[i, d] * k[j, d]), -inf)\n"
            "m[i] = max[j](z[i, j])\n"
            "e[i, j] = where(j <= i, exp(z[i, j] - m[i]), 0)\n"
            "y[i, d] = sum[j](e[i, j] * v[j, d]) / sum[j](e[i, j])"
        ),
        (
            "q: in [N, D]",
            "k: in [N, D]",
            "v: in [N, D]",
            "y: out [N, D]",
        ),
        "N, D",
        {"N": 3, "D": 2},
    ),
    Forward(
        "a row softmax then columns",
        (
            "a[i, j] = exp(x[i, j])\n"
            "for r in range(N):\n"
            "    s[i] = sum[j](a[i, j])\n"
            "    a[i, j] = a[i, j] / s[i]\n"
            "    c[j] = sum[i](a[i, j])\n"
            "    a[i, j] = a[i, j] / c[j]\n"
            "y[i, j] = a[i, j]"
        ),
        (
            "x: in [D, E]",
            "N: attr int 1 <= N <= 4",
            "y: out [D, E]",
        ),
        "D, E",
        {"D": 2, "E": 3, "N": 2},
    ),
    Forward(
        "a broadcast product and its sum",
        "y[*b] = x[*b] * exp(w[*b]) + tanh(x[*b])\nz[t] = sum[*b](x[*b] * w[*b]) * v[t]",
        ('x: in ["*b"]', 'w: in ["*b"]', "v: in [T]", 'y: out ["*b"]', "z: out [T]"),
        "T",
        {"T": 1, "numel_b_x": 2, "numel_b_w": 3, "numel_b_w_x": 2},
        sections="broadcast: {b: [x, w]}",
    ),
)
