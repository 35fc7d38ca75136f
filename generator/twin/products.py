"""The products the twin can stand in for: one frozen table, every figure from the vendor's platform files.

Sources: ``ub``, core counts, L1, L0, L2 and memory sizes are the table of ``facts.md`` section D (CANN 8.1
``platform_config/*.ini``); the 950's unified buffer (253952 of 262144 bytes) is section C.1 of the same page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

LIB_API_WORKSPACE = 16 * 1024 * 1024
"""Bytes of workspace the system keeps for itself, ``GetLibApiWorkSpaceSize()`` (facts.md C.5)."""


@dataclass(frozen=True, slots=True)
class Product:
    """A chip as a tiling function and a kernel see it. Sizes in bytes.

    ``soc_version`` is the number of ``platform_ascendc::SocVersion`` (host.md section 5).
    """

    name: str
    soc: str
    arch: int
    ub: int
    aiv: int
    aic: int
    soc_version: int
    l1: int = 524288
    l0a: int = 65536
    l0b: int = 65536
    l0c: int = 131072
    l2: int = 192 * 1024 * 1024
    hbm: int = 64 * 1024 * 1024 * 1024


def _table(*products: Product) -> Mapping[str, Product]:
    return MappingProxyType({product.name: product for product in products})


_L2_950 = 128 * 1024 * 1024
_HBM_950 = 128 * 1024 * 1024 * 1024

PRODUCTS: Mapping[str, Product] = _table(
    Product("Ascend910B", "Ascend910B1", 2201, 196608, 48, 24, 1),
    Product("Ascend910B1", "Ascend910B1", 2201, 196608, 48, 24, 1),
    Product("Ascend910B3", "Ascend910B3", 2201, 196608, 40, 20, 1),
    Product("Ascend910_93", "Ascend910_9391", 2201, 196608, 48, 24, 1),
    Product("Ascend950", "Ascend950PR", 3510, 253952, 64, 32, 4, l0c=262144, l2=_L2_950, hbm=_HBM_950),
)
"""Product name to figures. ``Ascend910B`` is the 48-core variant; ``Ascend910B3`` has 40 vector cores."""


def product(name: str) -> Product:
    """The product of that name. Raises ``KeyError`` naming the known ones."""
    found = PRODUCTS.get(name)
    if found is None:
        raise KeyError(f"unknown product {name!r}, known are {', '.join(PRODUCTS)}")
    return found
