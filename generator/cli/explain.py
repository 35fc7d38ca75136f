"""``opwright explain``: how an operator is planned: alternatives, stages, ledger, tiling of one size."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from generator.cli.common import Json, Specs, fail, need_specs, reported, say, show

if TYPE_CHECKING:
    from generator.emit.solve import Solved
    from generator.emit.timing import StageTime
    from generator.formula.checked import CheckedSpec
    from generator.plan import tree

__all__ = ["explain"]


def explain(
    op: Annotated[str, typer.Argument(help="Operator, by its spec's name.")],
    dim: Annotated[list[str] | None, typer.Option("--dim", help="NAME=VALUE of a dim or int attribute: tile for it.")] = None,
    product: Annotated[str, typer.Option(help="Product the tiling is for.")] = "Ascend910B",
    cores: Annotated[int | None, typer.Option(min=1, help="Vector cores; the product's otherwise.")] = None,
    combination: Annotated[int, typer.Option(min=0, help="Number of the dtype combination, from 0.")] = 0,
    absent: Annotated[list[str] | None, typer.Option("--absent", help="An optional parameter that is not given.")] = None,
    specs: Specs = Path("specs"),
    json_: Json = False,
) -> None:
    """Show stages, ledger in bytes, alternatives and tiling."""
    from generator.emit.pipeline import planned

    need_specs("explain", json_, specs)
    with reported("explain", json_):
        checked, plan = planned(specs, op)
    try:
        kernel = _kernel(plan, combination, absent or [])
        tiling = _tiling(checked, kernel, dim, product, cores) if dim else None
    except ValueError as e:
        raise fail("explain", json_, [str(e)]) from e
    document = _document(plan, kernel, tiling)
    if json_:
        show(document)
    else:
        _print(document)
    raise typer.Exit(1 if dim and not document["tiling"]["fits"] else 0)


def _kernel(plan: tree.KernelPlan, combination: int, absent: list[str]) -> tree.Kernel:
    unknown = [a for a in absent if a not in plan.optional]
    if unknown:
        raise ValueError(f"--absent {unknown[0]}: not an optional parameter; optional are {', '.join(plan.optional) or 'none'}")
    present = set(plan.optional) - set(absent)
    for k in plan.kernels:
        if k.combination == combination and set(k.present) == present:
            return k
    numbers = sorted({k.combination for k in plan.kernels})
    raise ValueError(f"no kernel for combination {combination} with {sorted(present)} given; combinations are {numbers}")


@dataclass(frozen=True)
class _Tiled:
    """One shape as the host tiles it, and what a model says of it."""

    solved: Solved | None
    refused: list[str]
    chip: str
    times: list[StageTime]
    needed: int


def _tiling(
    checked: CheckedSpec, kernel: tree.Kernel, given: list[str] | None, product: str, cores: int | None
) -> _Tiled:
    from generator.emit.solve import choose
    from generator.emit.timing import bytes_needed, stage_times
    from generator.twin.products import PRODUCTS

    if product not in PRODUCTS:
        raise ValueError(f"--product {product}: not known; known are {', '.join(PRODUCTS)}")
    chip = PRODUCTS[product]
    sizes = {p.symbol: int(p.default) for p in checked.spec.params if p.type == "int" and isinstance(p.default, int)}
    for text in given or []:
        name, mark, value = text.partition("=")
        if not mark or not value.lstrip("-").isdigit():
            raise ValueError(f"--dim {text}: expected NAME=INTEGER")
        sizes[name] = int(value)
    wanted = {*checked.program.dims, *checked.program.int_attrs}
    missing = sorted(wanted - set(sizes))
    if missing or set(sizes) - wanted - {p.symbol for p in checked.spec.params}:
        raise ValueError(f"--dim: this operator's sizes are {', '.join(sorted(wanted))}; missing: {', '.join(missing) or 'none'}")
    count = cores or chip.aiv
    solved, reasons = choose(kernel.alternatives, sizes, count, chip.ub)
    times = stage_times(kernel.alternatives[solved.index], solved, sizes, count, chip.ub) if solved else []
    about = f"{chip.name}: {count} vector cores, {chip.ub} bytes of UB"
    return _Tiled(solved, reasons, about, times, bytes_needed(checked, kernel, sizes))


def _document(plan: tree.KernelPlan, kernel: tree.Kernel, tiling: _Tiled | None) -> dict[str, Any]:
    document: dict[str, Any] = {
        "command": "explain",
        "operator": plan.op,
        "notes": list(plan.notes),
        "dtypes": dict(kernel.dtypes),
        "present": list(kernel.present),
        "kernels": len(plan.kernels),
        "alternatives": [_alternative(a) for a in kernel.alternatives],
    }
    if tiling:
        solved = tiling.solved
        document["tiling"] = {
            "chip": tiling.chip,
            "fits": solved is not None,
            "refused": tiling.refused,
            "bytes_needed": tiling.needed,
            "modelled": [{**asdict(t), "bound": t.bound} for t in tiling.times],
        }
        if solved:
            document["tiling"] |= {
                "alternative": solved.alternative,
                "block_dim": solved.block_dim,
                "workspace": solved.workspace,
                "fields": dict(solved.fields),
                "stages": [
                    {
                        "name": s.name,
                        "tiles": dict(s.tiles),
                        "ledger": {n: b for n, b, _ in s.buffers},
                        "bytes": s.used,
                        "usable": s.usable,
                    }
                    for s in solved.stages
                ],
            }
    return document


def _alternative(a: tree.Alternative) -> dict[str, Any]:
    return {
        "name": a.name,
        "notes": list(a.notes),
        "applies": [f"{c.a} {c.op} {c.b}" for c in a.applies],
        "block_dim": str(a.block_dim),
        "workspace": str(a.workspace),
        "synchronises": a.syncs,
        "stages": [
            {
                "name": s.name,
                "title": s.title,
                "buffers": [
                    {"name": b.name, "kind": b.kind, "copies": b.copies, "bytes": str(b.bytes), "holds": b.holds} for b in s.buffers
                ],
                "tiles": [{"name": t.name, "upper": str(t.upper), "align": t.align, "required": t.required} for t in s.tiles],
            }
            for s in a.stages
        ],
    }


def _print(d: dict[str, Any]) -> None:
    dtypes = ", ".join(f"{s} {t}" for s, t in d["dtypes"].items())
    say(f"{d['operator']}: {dtypes}; {d['kernels']} kernels in all")
    for note in d["notes"]:
        say(f"  {note}")
    for a in d["alternatives"]:
        say(f"\nalternative {a['name']}{' (cores synchronise)' if a['synchronises'] else ''}")
        for line in (*a["notes"], *(f"applies when {c}" for c in a["applies"])):
            say(f"  {line}")
        say(f"  cores: {a['block_dim']}; workspace: {a['workspace']} bytes")
        for s in a["stages"]:
            say(f"  stage {s['name']}: {s['title']}")
            for t in s["tiles"]:
                extra = f", multiple of {t['align']}" if t["align"] > 1 else ""
                say(f"    tile {t['name']} <= {t['upper']}{extra}{', all of it' if t['required'] else ''}")
            for b in s["buffers"]:
                say(f"    {b['name']:<12} {b['kind']:<6} {b['copies']} x {b['bytes']} bytes  {b['holds']}")
    if "tiling" in d:
        _print_tiling(d["tiling"])


def _print_tiling(t: dict[str, Any]) -> None:
    say(f"\ntiling on {t['chip']}")
    for reason in t["refused"]:
        say(f"  not {reason}")
    if not t["fits"]:
        say("  nothing fits")
        return
    say(f"  {t['alternative']}: {t['block_dim']} cores, workspace {t['workspace']} bytes")
    for s in t["stages"]:
        tiles = ", ".join(f"{n} = {v}" for n, v in s["tiles"].items())
        say(f"  stage {s['name']}: {tiles}")
        for name, size in s["ledger"].items():
            say(f"    {name:<12} {size:>8}")
        say(f"    {'total':<12} {s['bytes']:>8} of {s['usable']} bytes")
    say("  modelled cycles of the busiest core (vector, cube, transfers) and bytes of all cores")
    for m in t["modelled"]:
        numbers = f"{m['vector']:>12.0f} {m['cube']:>12.0f} {m['transfer']:>12.0f} {m['bytes']:>14.0f}"
        say(f"    {m['name']:<16} {numbers}  bound by {m['bound']}")
    moved = sum(m["bytes"] for m in t["modelled"])
    say(f"    {'all stages':<16} {'':>38} {moved:>14.0f}; no kernel moves fewer than {t['bytes_needed']}")
    for name, value in t["fields"].items():
        say(f"  {name} = {value}")
