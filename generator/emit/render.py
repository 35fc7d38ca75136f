"""From a checked spec and its plan to the text of every generated file, through templates/ and clang-format.

A pure function: the same spec, plan and generator give the same bytes on every machine.
"""

from __future__ import annotations

import functools
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jinja2
from jinja2.sandbox import SandboxedEnvironment

from generator import __version__
from generator.emit.conditions import checks, numels_of
from generator.emit.docs import cell, document
from generator.emit.docs_words import Lang
from generator.emit.errors import EmitError
from generator.emit.example import example
from generator.emit.host import host_files
from generator.emit.infer import inference
from generator.emit.interface import interface, level0_type
from generator.emit.kernels import KernelFiles, kernel_files
from generator.emit.names import camel, macro, snake
from generator.emit.paths import clang_format, templates_dir
from generator.emit.registration import registration
from generator.emit.shapes import combinations, empty_tests, host_call
from generator.emit.solve import BY_ARCHITECTURE, UB_220
from generator.formula.checked import CheckedSpec
from generator.plan.cost import START
from generator.plan.tree import CUBE_FIELDS, KernelPlan
from generator.spec.integer import Numel

__all__ = [
    "folder",
    "origin_of",
    "render",
    "render_build",
    "render_documents",
    "render_examples",
    "render_sources",
    "render_tests",
    "render_torch",
    "scalar_prelude",
]


def folder(checked: CheckedSpec) -> str:
    """``<family>/<op>``, where the operator's files go below the output directory."""
    return f"{checked.spec.family}/{snake(checked.spec.name)}"


def origin_of(checked: CheckedSpec) -> str:
    """The spec's path as generated files name it: its last three parts, ``specs/<family>/<op>.yaml``."""
    return "/".join(checked.path.parts[-3:])


def render(checked: CheckedSpec, plan: KernelPlan, forward: CheckedSpec | None = None) -> dict[str, str]:
    """Every generated file of one operator: path below the output directory -> text.

    Raises EmitError when the plan cannot be printed or a template fails.
    """
    return {
        **render_sources(checked, plan),
        **render_documents(checked),
        **render_build(checked),
        **render_examples(checked, forward),
        **render_tests(checked, forward),
        **render_torch(checked, forward),
    }


def render_sources(checked: CheckedSpec, plan: KernelPlan) -> dict[str, str]:
    """op_kernel/ and op_host/: what depends on formula, shapes and plan, not on any description."""
    k = kernel_files(plan)
    h = host_files(plan, k)
    numels = tuple(sorted({a.tensor for a in _plan_atoms(plan) if isinstance(a, Numel)} | numels_of(checked)))
    call = host_call(checked, plan.optional, numels)
    banner = _banner("//", checked)
    shared = {"empty_key": macro(k.op, "Key", "Empty"), "k": k, "h": h, "banner": banner}
    root = folder(checked)
    files = {
        f"op_kernel/{k.snake}.cpp": _template("op_kernel/kernel.cpp.j2", **shared),
        f"op_kernel/{k.snake}_common.h": _template("op_kernel/common.h.j2", **shared, guard=_guard(k.op, "common")),
        f"op_kernel/{k.snake}_tiling_data.h": _template("op_kernel/tiling_data.h.j2", **shared, guard=_guard(k.op, "tiling data")),
        f"op_kernel/{k.snake}_tiling_key.h": _template("op_kernel/tiling_key.h.j2", **shared, guard=_guard(k.op, "tiling key")),
    }
    files[f"op_kernel/{k.snake}_run.h"] = _template("op_kernel/run.h.j2", **shared, guard=_guard(k.op, "run"))
    for f in k.files:
        files[f"op_kernel/{f.file}"] = _template("op_kernel/class.h.j2", **shared, f=f)
    ints = (*checked.program.dims, *(n for n, _ in checked.derived), *(a.symbol for a in call.attributes if a.is_int))
    files[f"op_host/{k.snake}_integers.h"] = _template("op_host/integers.h.j2", **shared, guard=_guard(k.op, "integers"))
    files[f"op_host/{k.snake}_shapes.h"] = _template(
        "op_host/shapes.h.j2",
        **shared,
        guard=_guard(k.op, "shapes"),
        call=call,
        max_extents=max((t.extents for t in call.tensors), default=1),
        same_dims=any("SameDims(" in a.test for a in call.agreeing),
    )
    files[f"op_host/{k.snake}_tiling.h"] = _template(
        "op_host/tiling.h.j2",
        **shared,
        guard=_guard(k.op, "tiling"),
        names=tuple(dict.fromkeys((*h.names, *ints))),
        numels=call.numels,
        floats=call.floats,
        cube_fields=CUBE_FIELDS,
        cube_start=START,
        by_architecture=BY_ARCHITECTURE,
        ub_220=UB_220,
    )
    files[f"op_host/{k.snake}_tiling.cpp"] = _template(
        "op_host/tiling.cpp.j2",
        **shared,
        call=call,
        checks=checks(checked),
        empty=empty_tests(checked, call),
        refuse_empty=checked.spec.policies.empty == "refuse",
        combos=tuple(range(len(combinations(checked.spec)))),
        inputs=tuple(t.symbol for t in call.tensors if t.is_input),
    )
    files |= _interface_files(checked, k)
    build = {"op_host/CMakeLists.txt": _template("cmake/op_host.cmake.j2", k=k, banner=_banner("#", checked))}
    return {f"{root}/{name}": text for name, text in (format_cpp(files) | build).items()}


def render_build(checked: CheckedSpec) -> dict[str, str]:
    """CMakeLists.txt: how the folder is built in place, in a tree of operators or in a project of msopgen's."""
    names = {"op": checked.spec.name, "snake": snake(checked.spec.name)}
    return {f"{folder(checked)}/CMakeLists.txt": _template("cmake/operator.cmake.j2", k=names, banner=_banner("#", checked))}


def _interface_files(checked: CheckedSpec, k: KernelFiles) -> dict[str, str]:
    """op_api/, op_graph/, and of op_host/ what does not depend on the plan."""
    i = interface(checked)
    context = {"k": k, "i": i, "banner": _banner("//", checked)}
    register = {"k": k, "r": registration(checked), "banner": _banner("//", checked)}
    level0 = {**context, "level0_type": level0_type}
    aclnn = {
        **context,
        "combos": len(combinations(checked.spec)),
        "reformats": any(a.formats not in ((), ("ge::FORMAT_ND",)) for a in i.arguments),
        "scalars": {name for _, name in i.sizes},
        "products": checked.spec.products,
    }
    return {
        f"op_api/aclnn_{k.snake}.h": _template("op_api/aclnn.h.j2", **context, guard=_guard("aclnn", k.op)),
        f"op_api/aclnn_{k.snake}.cpp": _template("op_api/aclnn.cpp.j2", **aclnn),
        f"op_api/{k.snake}.h": _template("op_api/level0.h.j2", **level0, guard=_guard(k.op, "level0")),
        f"op_api/{k.snake}.cpp": _template("op_api/level0.cpp.j2", **level0),
        f"op_graph/{k.snake}_proto.h": _template("op_graph/proto.h.j2", **register, guard=_guard(k.op, "proto")),
        f"op_host/{k.snake}_def.cpp": _template("op_host/def.cpp.j2", **register),
        f"op_host/{k.snake}_infershape.cpp": _template(
            "op_host/infershape.cpp.j2", k=k, f=inference(checked), banner=_banner("//", checked)
        ),
    }


def render_documents(checked: CheckedSpec) -> dict[str, str]:
    """docs/: the only files that depend on descriptions."""
    banner = f"<!-- Generated by opwright {__version__} from {origin_of(checked)}. Do not edit. -->"
    names: dict[Lang, str] = {"zh": f"aclnn{checked.spec.name}.md", "en": f"aclnn{checked.spec.name}.en.md"}
    return {
        f"{folder(checked)}/docs/{name}": _template("docs/aclnn.md.j2", d=document(checked, lang), banner=banner)
        for lang, name in names.items()
    }


def render_examples(checked: CheckedSpec, forward: CheckedSpec | None) -> dict[str, str]:
    """examples/: a client program that runs the operator and checks what it gives."""
    name = f"{folder(checked)}/examples/test_aclnn_{snake(checked.spec.name)}.cpp"
    return format_cpp({name: _template("examples/test_aclnn.cpp.j2", e=example(checked, forward), banner=_banner("//", checked))})


def render_torch(checked: CheckedSpec, forward: CheckedSpec | None) -> dict[str, str]:
    """torch/: the PyTorch binding, and the operator's entries for op-plugin; nothing for what PyTorch cannot have."""
    from generator.emit.op_plugin import derivative, entry
    from generator.emit.torch_binding import binding, supported

    if not supported(checked):
        return {}
    root, name = f"{folder(checked)}/torch", snake(checked.spec.name)
    b = binding(checked, forward)
    banner = _banner("#", checked)
    files = {
        f"{root}/{name}.py": _template("torch/binding.py.j2", b=b, banner=banner),
        f"{root}/op_plugin_functions.yaml": _template("torch/op_plugin_functions.yaml.j2", e=entry(checked), banner=banner),
    }
    found = derivative(checked, forward) if forward is not None and supported(forward) else None
    if found is not None:
        files[f"{root}/derivatives.yaml"] = _template("torch/derivatives.yaml.j2", d=found, banner=banner)
    return files


def scalar_prelude(helpers: set[str]) -> str:
    """The array class and helper functions that printed scalar formulas need."""
    return _template("examples/array.h.j2", helpers=helpers)


def render_tests(checked: CheckedSpec, forward: CheckedSpec | None) -> dict[str, str]:
    """tests/: the Python reference and its own pytest cases."""
    from generator.emit.numpy_printer import render_test

    text = render_test(checked, forward)
    banner = _banner("#", checked)
    return {f"{folder(checked)}/tests/test_{snake(checked.spec.name)}.py": text if banner in text else f"{banner}\n{text}"}


def format_cpp(files: Mapping[str, str]) -> dict[str, str]:
    """Format C++ texts with the pinned clang-format, all in one process; EmitError when it fails."""
    with tempfile.TemporaryDirectory(prefix="opwright-") as tmp:
        names = {name: Path(tmp) / f"{k}{Path(name).suffix}" for k, name in enumerate(files)}
        for name, path in names.items():
            path.write_text(files[name], encoding="utf-8", newline="\n")
        style = templates_dir() / "clang-format.yaml"
        command = [clang_format(), "-i", f"--style=file:{style}", *(str(p) for p in names.values())]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise EmitError(f"clang-format failed: {done.stderr.strip()}")
        return {name: path.read_text(encoding="utf-8") for name, path in names.items()}


def _banner(comment: str, checked: CheckedSpec) -> str:
    return f"{comment} Generated by opwright {__version__} from {origin_of(checked)}. Do not edit."


def _guard(op: str, words: str) -> str:
    return macro(op, words, "H")


def _plan_atoms(value: object) -> Iterable[object]:
    if hasattr(value, "atoms"):
        yield from value.atoms()
    elif isinstance(value, tuple):
        for v in value:
            yield from _plan_atoms(v)
    elif hasattr(value, "__dataclass_fields__"):
        for f in value.__dataclass_fields__:
            yield from _plan_atoms(getattr(value, f))


@functools.cache
def _environment() -> SandboxedEnvironment:
    env = SandboxedEnvironment(
        loader=jinja2.FileSystemLoader(templates_dir()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    env.filters["camel"] = camel
    env.filters["cell"] = cell
    env.filters["tuple"] = lambda parts: f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    return env


def _template(name: str, **context: Any) -> str:
    try:
        return _environment().get_template(name).render(**context)
    except jinja2.TemplateError as e:
        raise EmitError(f"template {name}: {e}") from e
