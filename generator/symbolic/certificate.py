"""What a proof leaves behind: the obligations that a separate checker verifies, and everything they assume."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Certificate", "Identity", "Induction", "Proved", "Unknown"]


@dataclass(frozen=True)
class Identity:
    """Output ``a`` of the first program equals output ``b`` of the second, element by element, at any indices.

    ``atoms`` are the generators that both sides were written in and ``terms`` the number of terms of each side."""

    a: str
    b: str
    atoms: tuple[str, ...] = ()
    terms: tuple[int, int] = (0, 0)
    unrolled: int = 0  # how many iterations carried tensors were taken back to reach a common time


@dataclass(frozen=True)
class Induction:
    """Loop ``b`` of the second program (in program order, from 0) runs as often as loop ``a`` of the first, and the
    ``pairs`` of carried tensors (of the first, of the second) are equal before it and, if they are equal before any
    iteration, after it: so they are equal at all times. Tensors in ``arrays`` are defined by recurrence, by the same one."""

    a: int
    b: int
    pairs: tuple[tuple[str, str], ...]
    arrays: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Certificate:
    """The whole proof. ``boundaries`` are the expressions at whose zeros a comparison of reals switches: there, and only
    there, the two sides may differ; ``nonzero`` are divisors that must not vanish; ``facts`` the inequalities used."""

    identities: tuple[Identity, ...]
    inductions: tuple[Induction, ...] = ()
    boundaries: tuple[str, ...] = ()
    nonzero: tuple[str, ...] = ()
    facts: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Proved:
    """Equal for all sizes, attributes and inputs, off ``certificate.boundaries``."""

    certificate: Certificate


@dataclass(frozen=True)
class Unknown:
    """Not shown; ``budget`` tells whether more time might help."""

    reason: str
    budget: bool = False
