"""``opwright run OP``: one shape, ad hoc, on the twin: verdict, bytes moved, tiling, breaches of law."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from generator.cli.common import Json, Out, Specs, fail, need_specs, reported, show

if TYPE_CHECKING:
    from generator.twin.verify.case import Case, Number
    from generator.twin.verify.outcome import CaseResult
    from generator.twin.verify.session import Operator

__all__ = ["run"]


class _UsageError(Exception):
    """What the user asked for makes no sense; the message says what would."""


def _pairs(option: str, given: list[str]) -> dict[str, str]:
    out = {}
    for text in given:
        name, mark, value = text.partition("=")
        if not mark or not name or not value:
            raise _UsageError(f"--{option} {text}: expected NAME=VALUE")
        out[name] = value
    return out


def _number(option: str, name: str, text: str) -> Number:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise _UsageError(f"--{option} {name}={text}: expected a number, true or false")


def _combination(operator: Operator, wanted: dict[str, str]) -> int:
    """The number of the first dtype combination that has the wanted dtypes."""
    from generator.twin.verify.session import load

    combinations = load(operator.spec).spec.dtypes
    for k, combination in enumerate(combinations):
        if all(combination.get(n) == d for n, d in wanted.items()):
            return k
    if not wanted:
        return 0
    legal = "; ".join(", ".join(f"{n}={d}" for n, d in c.items()) for c in combinations) or "none (dtypes are fixed)"
    raise _UsageError(f"no dtype combination has {', '.join(f'{n}={d}' for n, d in wanted.items())}; legal: {legal}")


def _case(operator: Operator, options: dict[str, Any]) -> Case:
    from dataclasses import replace

    from generator.twin.verify.cases import case_of, objections
    from generator.twin.verify.rules import Rules
    from generator.twin.verify.session import load, targets
    from generator.twin.verify.shapes import INPUTS, attributes, tensor_params

    checked = load(operator.spec)
    rules = Rules(checked)
    kinds = {p.symbol: p.type for p in attributes(checked.spec)}
    env: dict[str, Number] = {}
    for option in ("dim", "attr"):
        for name, text in _pairs(option, options[option]).items():
            if name not in (*rules.free, *rules.computed, *kinds):
                raise _UsageError(f"--{option} {name}={text}: no such dim or attribute; there are {', '.join((*rules.free, *kinds))}")
            value = _number(option, name, text)
            if kinds.get(name) not in ("float", "double", "bool") and type(value) is not int:
                raise _UsageError(f"--{option} {name}={text}: expected an integer")
            env[name] = float(value) if kinds.get(name) in ("float", "double") else value
    optional = [p.symbol for p in tensor_params(checked.spec) if p.optional]
    for name in options["absent"]:
        if name not in optional:
            raise _UsageError(f"--absent {name}: not an optional parameter; optional are {', '.join(optional) or 'none'}")
    try:
        case = case_of(
            checked,
            {n: v for n, v in env.items() if n not in rules.computed},
            targets(checked, options["product"], options["cores"])[0],
            combination=_combination(operator, _pairs("dtype", options["dtype"])),
            absent=options["absent"],
            rank=options["rank"],
            axes=options["axes"],
            seed=options["seed"],
        )
    except ValueError as error:
        raise _UsageError(str(error)) from error
    if options["special"]:
        ((holder, what),) = _pairs("special", [options["special"]]).items()
        if what not in ("nan", "inf", "-inf"):
            raise _UsageError(f"--special {holder}={what}: expected nan, inf or -inf")
        if holder not in [p.symbol for p in tensor_params(checked.spec, *INPUTS)]:
            raise _UsageError(f"--special {holder}={what}: no such input")
        case = replace(case, special=(holder, what))  # type: ignore[arg-type]
    case = replace(case, tiling_only=options["tiling_only"])
    why_not = objections(checked, case)
    if why_not:
        raise _UsageError(f"the spec excludes this case: {'; '.join(why_not)}")
    return case


def _show(result: CaseResult) -> None:
    """The result as text: verdicts, traffic, tiling, findings."""
    print(result.case.label())
    for o in result.outputs:
        where = f"at {o.sampled} elements: " if o.sampled else ""
        said = "passed by rule " + str(o.verdict.rule) if o.passed else "FAILED"
        print(f"  {o.name:<12} {o.dtype:<9} {said:<16} {where}{o.verdict.message}")
    if result.tiling:
        t = result.tiling
        print(f"  tiling key {t.key}, {t.block_dim} cores, workspace {t.workspace} bytes, tiling data {t.data_bytes} bytes")
        if t.fields:
            print("  " + ", ".join(f"{n} = {v}" for n, v in t.fields))
    if result.traffic:
        print(f"  {'argument':<12} {'read':>12} {'written':>12} {'compulsory':>12}   bytes")
        for a in result.traffic:
            print(f"  {a.name:<12} {a.read:>12} {a.written:>12} {a.compulsory:>12}")
        ratio = f"{result.bytes_moved / result.bytes_compulsory:.4f}" if result.bytes_compulsory else "-"
        print(f"  moved {result.bytes_moved}, compulsory {result.bytes_compulsory}, ratio {ratio}")
    print(f"  breaches of law: {len(result.breaches)}; {result.seconds:.2f} s")
    if not result.passed:
        print(result.why(), file=sys.stderr)


def run(
    op: Annotated[str, typer.Argument(help="Operator, by its spec's name.")],
    dim: Annotated[list[str] | None, typer.Option("--dim", help="NAME=EXTENT, for every dim.")] = None,
    attr: Annotated[list[str] | None, typer.Option("--attr", help="NAME=VALUE; the default otherwise.")] = None,
    dtype: Annotated[list[str] | None, typer.Option("--dtype", help="VARIABLE=DTYPE; the first combination otherwise.")] = None,
    product: Annotated[str | None, typer.Option(help="Product; the spec's first otherwise.")] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="Vector cores; the product's otherwise.")] = None,
    rank: Annotated[int, typer.Option(min=0, help="Number of the alternative rank; 0 is the shape as written.")] = 0,
    axes: Annotated[int, typer.Option(min=0, help="How many axes a pack has.")] = 1,
    absent: Annotated[list[str] | None, typer.Option("--absent", help="An optional parameter that is not given.")] = None,
    special: Annotated[str | None, typer.Option(help="INPUT=nan|inf|-inf: one element holds it.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the random inputs.")] = None,
    tiling_only: Annotated[bool, typer.Option("--tiling-only", help="Tile in full, run the last block only: for any size.")] = False,
    law_off: Annotated[list[str] | None, typer.Option("--law-off", help="Name of a law not to check.")] = None,
    specs: Specs = Path("specs"),
    out: Out = Path("generated"),
    json_: Json = False,
) -> None:
    """Run one shape on the twin and judge it against the reference."""
    from generator.emit.names import snake
    from generator.twin.build import TwinError
    from generator.twin.verify.runner import run_case
    from generator.twin.verify.session import UnknownNameError, operators, subject

    options: dict[str, Any] = {
        "dim": dim or [],
        "attr": attr or [],
        "dtype": dtype or [],
        "product": product,
        "cores": cores,
        "rank": rank,
        "axes": axes,
        "absent": absent or [],
        "special": special,
        "seed": seed,
        "tiling_only": tiling_only,
    }
    need_specs("run", json_, specs)
    try:
        with reported("run", json_):
            (operator,) = operators(specs, out, snake, [op])
            if not operator.folder.is_dir():
                raise fail("run", json_, [f"{operator.folder}: not generated; run `opwright gen {op}`"])
            case = _case(operator, options)
            result = run_case(subject(operator, case.target.product), case, law_off or [])
    except (_UsageError, UnknownNameError) as error:
        raise fail("run", json_, [str(error)]) from error
    except TwinError as error:
        raise fail("run", json_, [str(error), *error.detail.splitlines()[:12]]) from error
    if json_:
        show({"command": "run", **result.document()})
    else:
        _show(result)
    raise typer.Exit(0 if result.passed else 1)
