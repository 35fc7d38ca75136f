"""Pairs of operators as PyTorch differentiates, checks and compiles them: float64 by the formula, narrow types on the twin."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.torch.pairs import OPS, PAIRS, Pair, differentiable


def of(name: str) -> Pair:
    return PAIRS[name]


@pytest.mark.parametrize("name", PAIRS)
def test_gradients_agree_with_difference_quotients_in_float64(name: str) -> None:
    pair = of(name)
    assert torch.autograd.gradcheck(lambda *a: differentiable(pair.op, *a), pair.make(True))


@pytest.mark.parametrize("name", PAIRS)
def test_gradients_agree_with_difference_quotients_on_the_twin(name: str) -> None:
    pair = of(name)
    args = pair.make(False)
    cotangents: list[torch.Tensor] = []

    def single(*a: Any) -> tuple[torch.Tensor, ...]:
        """The results in float32: what is stored in half precision is too coarse for a quotient."""
        return tuple(t for t in differentiable(pair.op, *a) if t.dtype == torch.float32)

    def value(*a: Any) -> float:
        out = single(*a)
        if not cotangents:
            generator = torch.Generator().manual_seed(3)
            cotangents.extend(torch.randn(t.shape, generator=generator).to(t.dtype) for t in out)
        return float(sum((c.double() * t.detach().double()).sum() for c, t in zip(cotangents, out, strict=True)))

    value(*args)
    out = single(*args)
    inputs = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
    found = torch.autograd.grad(out, inputs, cotangents)
    generator = torch.Generator().manual_seed(5)
    for k, (x, gradient) in enumerate(zip(inputs, found, strict=True)):
        assert gradient.dtype == x.dtype
        direction = torch.randn(x.shape, generator=generator)
        direction /= direction.norm()

        def at(step: float, k: int = k, direction: torch.Tensor = direction) -> float:
            moved = iter(a.detach() + (step * direction if j == k else 0) for j, a in enumerate(inputs))
            return value(*(next(moved).requires_grad_() if any(a is i for i in inputs) else a for a in args))

        h = pair.step
        quotient = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
        expected = float((gradient.double() * direction).sum())
        assert abs(quotient - expected) <= pair.tolerance * (abs(expected) + float(gradient.norm()))


@pytest.mark.parametrize("name", PAIRS)
def test_the_operator_keeps_pytorchs_rules(name: str) -> None:
    pair = of(name)
    found = torch.library.opcheck(pair.op, pair.make(False))
    assert set(found.values()) == {"SUCCESS"}
    assert "test_autograd_registration" in found


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the default compiler's own
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("name", PAIRS)
def test_a_whole_graph_compiles_and_gives_the_same_results_and_gradients(name: str, backend: str) -> None:
    """Forward and backward in one graph each, with PyTorch's own operators before and after; inductor is the default compiler, whose
    code sums in an order of its own."""
    pair = of(name)
    exact = backend == "aot_eager"

    def step(*a: Any) -> torch.Tensor:
        inputs = [x * 1.5 if isinstance(x, torch.Tensor) and x.requires_grad else x for x in a]
        return sum((t.float() * t.float()).sum() for t in differentiable(pair.op, *inputs))  # type: ignore[return-value]

    torch._dynamo.reset()
    compiled = torch.compile(step, fullgraph=True, backend=backend)
    args, again = pair.make(False), pair.make(False)
    plain, traced = step(*args), compiled(*again)
    plain.backward()
    traced.backward()
    found = [
        (plain, traced),
        *((a.grad, b.grad) for a, b in zip(args, again, strict=True) if isinstance(a, torch.Tensor) and a.requires_grad),
    ]
    assert len(found) > 1
    for expected, got in found:
        assert got.dtype == expected.dtype
        assert torch.equal(expected, got) if exact else torch.allclose(expected, got, rtol=1e-5, atol=1e-6)


def test_results_on_the_twin_are_those_of_the_formula() -> None:
    for pair in PAIRS.values():
        narrow = pair.make(False)
        wide = tuple(a.detach().double() if isinstance(a, torch.Tensor) else a for a in narrow)
        some, exact = pair.op(*narrow), pair.op(*wide)
        for t, want in zip(some if isinstance(some, tuple) else (some,), exact if isinstance(exact, tuple) else (exact,), strict=True):
            unit = {torch.float32: 2.0**-13, torch.bfloat16: 2.0**-7}[t.dtype]
            assert (t.double() - want).abs().max() <= unit * (want.abs().max() + 1e-30)


@pytest.mark.parametrize("name", PAIRS)
def test_gradients_on_the_twin_are_those_of_the_formula(name: str) -> None:
    pair = of(name)
    narrow = pair.make(False)
    wide = tuple(a.detach().double().requires_grad_() if isinstance(a, torch.Tensor) else a for a in narrow)
    generator = torch.Generator().manual_seed(3)
    some, exact = differentiable(pair.op, *narrow), differentiable(pair.op, *wide)
    cotangents = [torch.randn(t.shape, generator=generator).to(t.dtype) for t in some]
    torch.autograd.backward(some, cotangents)
    torch.autograd.backward(exact, [c.double() for c in cotangents])
    for a, b in zip(narrow, wide, strict=True):
        if isinstance(a, torch.Tensor) and a.requires_grad:
            assert (a.grad.double() - b.grad).abs().max() <= 2.0**-7 * b.grad.abs().max()


def test_operators_of_pytorch_agree_where_it_has_them() -> None:
    x, w, bias, pad, _ = PAIRS["conv"].make(True)
    torch.testing.assert_close(OPS.conv_tbc(x, w, bias, pad), torch.conv_tbc(x, w, bias, pad))
    (y,) = PAIRS["softmax"].make(True)
    torch.testing.assert_close(OPS.softmax(y), torch.softmax(y, -1))


def test_saved_results_are_not_differentiable_and_their_absence_is_said() -> None:
    args = PAIRS["sinkhorn"].make(False)
    y, norm, sums = OPS.mhc_sinkhorn(*args)
    assert (y.requires_grad, norm.requires_grad, sums.requires_grad) == (True, False, False)
    y, norm, sums = OPS.mhc_sinkhorn(*args, False)
    assert (norm.numel(), sums.numel()) == (0, 0)
    with pytest.raises(RuntimeError, match="needs what it saves"):
        y.sum().backward()


def test_arguments_that_are_not_allowed_are_refused_with_the_reason() -> None:
    with pytest.raises(RuntimeError, match=r"extent 2 of h_res is 6, expected n = 4"):
        OPS.mhc_sinkhorn(torch.zeros(2, 4, 6))
    with pytest.raises(RuntimeError, match=r"n in \{4, 6, 8\} does not hold"):
        OPS.mhc_sinkhorn(torch.zeros(2, 5, 5))
    with pytest.raises(RuntimeError, match=r"h_res has 2 dims, expected 3 or 4"):
        OPS.mhc_sinkhorn(torch.zeros(4, 4))
    with pytest.raises(RuntimeError, match=r"h_res has torch.float16, expected torch.float32"):
        OPS.mhc_sinkhorn(torch.zeros(2, 4, 4, dtype=torch.float16))


def test_an_empty_tensor_gives_empty_results() -> None:
    y, norm, sums = OPS.mhc_sinkhorn(torch.zeros(0, 4, 4))
    assert (y.shape, norm.shape, sums.shape) == ((0, 4, 4), (0,), (0,))
