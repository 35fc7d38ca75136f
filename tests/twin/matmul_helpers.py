"""Tilings of the Matmul test kernels, made by hand."""

from __future__ import annotations

import struct

from generator.twin.products import LIB_API_WORKSPACE
from generator.twin.tiling import Tiling

FIELDS = (
    "usedCoreNum", "M", "N", "Ka", "Kb", "singleCoreM", "singleCoreN", "singleCoreK", "baseM",
    "baseN", "baseK", "depthA1", "depthB1", "stepM", "stepN", "isBias", "transLength",
    "iterateOrder", "shareMode", "shareL1Size", "shareL0CSize", "shareUbSize", "batchM", "batchN",
    "singleBatchM", "singleBatchN", "stepKa", "stepKb", "depthAL1CacheUB", "depthBL1CacheUB",
    "dbL0A", "dbL0B", "dbL0C",
)
OTHERS = ("orgM", "orgN", "orgKa", "orgKb", "orgKc", "offsetA", "offsetB", "offsetC", "atomic", "sequential", "bias", "taps")


def ceil_to(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def fields(m: int, n: int, k: int, *, size: int = 2, **changed: int) -> dict[str, int]:
    """A lawful tiling of one core's whole product; ``size`` is the operands' bytes, ``changed`` fields replace its own."""
    t = dict.fromkeys(FIELDS, 0)
    t |= {"M": m, "N": n, "Ka": k, "Kb": k, "singleCoreM": m, "singleCoreN": n, "singleCoreK": k}
    t |= {"stepM": 1, "stepN": 1, "dbL0A": 2, "dbL0B": 2, "dbL0C": 1}
    t |= {"batchM": 1, "batchN": 1, "singleBatchM": 1, "singleBatchN": 1}
    t |= {name: value for name, value in changed.items() if name in t}
    t["baseM"] = changed.get("baseM", min(128, ceil_to(t["singleCoreM"], 16)))
    t["baseN"] = changed.get("baseN", min(128, ceil_to(t["singleCoreN"], 16)))
    t["baseK"] = changed.get("baseK", min(128 // size, ceil_to(t["singleCoreK"], 16)))
    step = min(4, -(-t["singleCoreK"] // t["baseK"]))
    t["stepKa"], t["stepKb"] = changed.get("stepKa", step), changed.get("stepKb", step)
    t["depthA1"] = changed.get("depthA1", 2 * t["stepM"] * t["stepKa"])
    t["depthB1"] = changed.get("depthB1", 2 * t["stepN"] * t["stepKb"])
    t["usedCoreNum"] = changed.get("usedCoreNum", -(-m // t["singleCoreM"]) * -(-n // t["singleCoreN"]))
    l1 = size * t["baseK"] * (t["baseM"] * t["depthA1"] + t["baseN"] * t["depthB1"]) + (4 * t["baseN"] if t["isBias"] else 0)
    t["shareL1Size"] = changed.get("shareL1Size", l1)
    t["shareL0CSize"] = changed.get("shareL0CSize", 4 * t["baseM"] * t["baseN"] * t["dbL0C"])
    return t


def tiled(t: dict[str, int], *, key: int = 1, blocks: int | None = None, inputs: int = 3, workspace: int = 0, **others: int) -> Tiling:
    """The launch of a test kernel with these fields of ``TCubeTiling``; ``others`` are the fields of the structure around it."""
    head = [others.get(name, 0) for name in OTHERS]
    data = struct.pack(f"<{len(OTHERS) + 50}i", *head, *(t[name] for name in FIELDS), *[0] * (50 - len(FIELDS)))
    count = -(-t["usedCoreNum"] // 2) if blocks is None else blocks
    return Tiling(0, key, count, LIB_API_WORKSPACE + workspace, data, 0, "", inputs, 1)
