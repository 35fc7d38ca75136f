"""A tiny model trained through the generated operators follows the same model in plain PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tests.torch.pairs import OPS

STREAMS, CHANNELS, TOKENS, STEPS = 4, 16, 6, 20
ITERATIONS, EPS, HC_EPS, NORM_EPS = 4, 1e-3, 1e-3, 1e-6
Model = Callable[[torch.Tensor, dict[str, torch.Tensor]], torch.Tensor]


def parameters() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    rows = STREAMS * STREAMS + 2 * STREAMS

    def random(*shape: int, scale: float) -> torch.Tensor:
        return (scale * torch.randn(*shape, generator=generator)).requires_grad_()

    return {
        "phi": random(rows, STREAMS * CHANNELS, scale=0.05),
        "alpha": random(3, scale=0.5),
        "bias": random(rows, scale=0.5),
        "gamma": (1 + 0.1 * torch.randn(STREAMS, CHANNELS, generator=generator)).requires_grad_(),
        "layer": random(CHANNELS, CHANNELS, scale=0.3),
    }


def through_the_operators(x: torch.Tensor, p: dict[str, torch.Tensor]) -> torch.Tensor:
    h_in, h_post, h_res, *_ = OPS.mhc_pre(x, p["phi"], p["alpha"], p["bias"], p["gamma"], NORM_EPS, HC_EPS)
    h_res, *_ = OPS.mhc_sinkhorn(h_res, EPS, ITERATIONS)
    h_out = torch.tanh(h_in.float() @ p["layer"]).to(x.dtype)
    return OPS.mhc_post(x, h_res, h_out, h_post)


def in_plain_pytorch(x: torch.Tensor, p: dict[str, torch.Tensor]) -> torch.Tensor:
    n = STREAMS
    wide = x.float()
    flat = wide.flatten(1)
    inv_rms = torch.rsqrt((flat * flat).mean(1, keepdim=True) + NORM_EPS)
    mix = (flat * p["gamma"].flatten()) @ p["phi"].T * inv_rms
    scale = torch.cat([p["alpha"][0].expand(n), p["alpha"][1].expand(n), p["alpha"][2].expand(n * n)])
    z = mix * scale + p["bias"]
    h_pre, h_post, h_res = torch.sigmoid(z[:, :n]) + HC_EPS, 2 * torch.sigmoid(z[:, n : 2 * n]), z[:, 2 * n :].reshape(-1, n, n)
    h_in = (h_pre[..., None] * wide).sum(1).to(x.dtype)
    a = torch.softmax(h_res, -1) + EPS
    a = a / (a.sum(1, keepdim=True) + EPS)
    for _ in range(ITERATIONS - 1):
        a = a / (a.sum(2, keepdim=True) + EPS)
        a = a / (a.sum(1, keepdim=True) + EPS)
    h_out = torch.tanh(h_in.float() @ p["layer"]).to(x.dtype)
    return (h_post[..., None] * h_out.float()[:, None] + torch.einsum("tji,tjd->tid", a, wide)).to(x.dtype)


def losses(model: Model) -> list[float]:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(TOKENS, STREAMS, CHANNELS, generator=generator).half()
    target = torch.randn(TOKENS, STREAMS, CHANNELS, generator=generator)
    p = parameters()
    optimiser = torch.optim.SGD(p.values(), lr=0.5)
    out = []
    for _ in range(STEPS):
        optimiser.zero_grad()
        y = model(model(x, p), p)
        loss = ((y.float() - target) ** 2).mean()
        loss.backward()
        optimiser.step()
        out.append(loss.item())
    return out


def test_training_through_the_operators_follows_plain_pytorch() -> None:
    ours, plain = losses(through_the_operators), losses(in_plain_pytorch)
    assert len(ours) == STEPS
    assert plain[-1] < 0.9 * plain[0]
    worst = max(abs(a - b) / abs(b) for a, b in zip(ours, plain, strict=True))
    assert worst <= 1e-3, f"{worst:.2e}: {ours} and {plain}"
