"""What a proof leaves behind: the obligations that a separate checker verifies, and everything they assume."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Certificate", "Identity", "Induction", "Proved", "Unknown"]


@dataclass(frozen=True)
class Identity:
    """Output ``a`` of the first program equals output ``b`` of the second, element by element, at any indices.

    ``atoms`` are the generators that both sides were written in and ``terms`` the number of terms of each side."""

    a: str
    b: str
    atoms: tuple[str, ...] = ()
    terms: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Induction:
    """A loop of the second program and one of the first: the ``pairs`` of tensors (of the first, of the second) that they
    carry are equal before them and, if equal before any iteration, also after it: so they are equal at all times. Tensors
    defined by recurrence have one and the same definition. A tensor is named ``A3.x``: tensor x of the first program's
    fourth loop, in the order in which loops start (``B`` for the second program's)."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Certificate:
    """The whole proof. ``boundaries`` are the expressions at whose zeros a comparison of reals switches: there, and only
    there, the two sides may differ; ``nonzero`` are divisors that must not vanish; ``facts`` the inequalities used."""

    identities: tuple[Identity, ...]
    inductions: tuple[Induction, ...] = ()
    boundaries: tuple[str, ...] = ()
    nonzero: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    accumulators: tuple[str, ...] = ()  # carried tensors to which iterations only add: their elements are sums
    literals: tuple[tuple[str, str], ...] = ()  # decimals read as the constants they are the rounded values of


@dataclass(frozen=True)
class Proved:
    """Equal for all sizes, attributes and inputs, off ``certificate.boundaries``."""

    certificate: Certificate


@dataclass(frozen=True)
class Unknown:
    """Not shown; ``budget`` tells whether more time might help."""

    reason: str
    budget: bool = False
