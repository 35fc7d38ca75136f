"""``opwright derive``: the gradient of an operator, as formula, as LaTeX, as a spec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from generator.cli.common import Json, Specs, fail, need_specs, reported, say, show

if TYPE_CHECKING:
    from generator.formula.checked import CheckedSpec
    from generator.symbolic.derive import Derived

__all__ = ["derive"]


def derive(
    op: Annotated[str, typer.Argument(help="Operator, by its spec's name, or a spec file.")],
    wrt: Annotated[list[str] | None, typer.Option("--wrt", help="Input to differentiate by; all of floats otherwise.")] = None,
    cotangent: Annotated[list[str] | None, typer.Option("--cotangent", help="Output with a gradient; all required ones otherwise.")] = None,
    saved: Annotated[
        list[str] | None, typer.Option("--saved", help="Tensor the forward saves; outputs otherwise; 'none' for none.")
    ] = None,
    save: Annotated[Path | None, typer.Option("--save", help="Write the gradient as a spec to this file.")] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX instead of formula text.")] = False,
    specs: Specs = Path("specs"),
    json_: Json = False,
) -> None:
    """Print the gradient of an operator's formula, and which of the forward's values it reads."""
    from generator.symbolic.derive import DeriveError

    if not Path(op).is_file():
        need_specs("derive", json_, specs)
    if save is not None and save.exists():
        raise fail("derive", json_, [f"{save}: exists already; name a new file"])
    with reported("derive", json_):
        checked = _load(op, specs)
        try:
            document = _derived(checked, wrt, cotangent, saved, save)
        except DeriveError as e:
            raise fail("derive", json_, [f"{checked.path}: {e}"]) from e
    if save is not None:
        save.parent.mkdir(parents=True, exist_ok=True)
        save.write_text(document.pop("spec"), encoding="utf-8")
    if json_:
        show(document)
        return
    say(document["latex" if latex else "formula"].rstrip("\n"))
    reads = ", ".join(f"{k} (the forward's {v})" if k != v else k for k, v in document["reads"].items())
    for line in (f"reads: {reads}", *document["notes"]):
        say(("% " if latex else "# ") + line)
    if save is not None:
        say(("% " if latex else "# ") + f"wrote {save.as_posix()}")


def _load(op: str, specs: Path) -> CheckedSpec:
    from generator.emit.pipeline import UnknownOperatorError, names_of
    from generator.formula.checked import load

    if Path(op).is_file():
        return load(op)
    path = next((p for p, (n, _) in names_of(specs).items() if n == op), None)
    if path is None:
        raise UnknownOperatorError(op)
    return load(specs / path)


def _derived(
    checked: CheckedSpec, wrt: list[str] | None, cotangent: list[str] | None, saved: list[str] | None, save: Path | None
) -> dict[str, Any]:
    from generator.formula.latex import latex
    from generator.spec.errors import SpecError
    from generator.symbolic.derive import derive as run
    from generator.symbolic.derive import spec_facts
    from generator.symbolic.notation import Notation, as_written
    from generator.symbolic.save import formula_of, spec_text

    program = checked.program
    outputs = [t.name for t in program.outputs if t.kind == "float"]
    chosen = {p.symbol for p in checked.spec.params if not p.optional or p.optional_when is not None}
    ends = cotangent or [y for y in outputs if y in chosen] or outputs
    kept = [] if saved == ["none"] else saved if saved is not None else outputs
    cotangents = {y: f"grad_{y}" for y in ends}

    def gradient(forms: bool) -> Derived:
        return run(
            program,
            wrt or [t.name for t in program.inputs if t.kind == "float"],
            cotangents,
            {s: s for s in kept},
            facts=spec_facts(checked),
            boundary=checked.spec.policies.boundary,
            forms=forms,
        )

    result = gradient(True)
    spec = ""
    if save is not None:
        try:
            spec = spec_text(checked, result, cotangents, str(save))
        except SpecError:  # a left side that cannot say how far its axes go
            result = gradient(False)
            spec = spec_text(checked, result, cotangents, str(save))
    notation = Notation.of(checked).shaped({g: x for x, g in result.gradients.items()})
    return {
        "command": "derive",
        "operator": checked.spec.name,
        "formula": formula_of(result.program, notation),
        "latex": latex(as_written(result.program, notation, extents=False)),
        "gradients": dict(result.gradients),
        "cotangents": {y: g for y, g in cotangents.items() if g in result.program.tensors},
        "reads": {name: f for f, name in result.saved.items()},
        "remembered": list(result.remembered),
        "notes": list(result.notes),
        **({"spec": spec, "path": save.as_posix()} if save is not None else {}),
    }
