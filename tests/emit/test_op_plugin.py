"""The entries for op-plugin: valid YAML, every argument passed once and in the call's order, derivatives of the pairs of specs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ruamel.yaml import YAML

from generator.emit.names import snake
from generator.emit.render import render_torch
from generator.emit.torch_binding import supported
from generator.emit.torch_schema import arguments_of, declared
from tests.reference.specs import BACKWARDS, NAMES, every, forward_of

BOUND = [n for n in NAMES if supported(every()[n])]


def files(name: str) -> dict[str, Any]:
    texts = render_torch(every()[name], forward_of(every()[name]))
    return {path.rsplit("/", 1)[1]: YAML(typ="safe").load(text) for path, text in texts.items() if path.endswith(".yaml")}


@pytest.mark.parametrize("name", BOUND)
def test_the_function_passes_every_argument_in_the_order_of_the_aclnn_call(name: str) -> None:
    spec = every()[name].spec
    (entry,) = files(name)["op_plugin_functions.yaml"]["custom"]
    declared = re.match(rf"npu_{snake(name)}\((.*)\) -> (.*)$", entry["func"])
    assert declared
    assert sorted(a.split()[1].split("=")[0] for a in declared[1].split(", ")) == sorted(p.name for p in spec.params if p.io != "out")
    outputs = [p for p in spec.params if p.io == "out"]
    assert declared[2].count("Tensor") == len(outputs)
    if "gen_opapi" not in entry:
        return
    made = entry["gen_opapi"]
    names = ["out"] if len(outputs) == 1 else [f"out{k}" for k in range(len(outputs))]
    assert [k for k in made if k.startswith("out")] == names
    call = made["exec"].split(", ")
    wanted = iter(names)
    assert call[0] == f"aclnn{name}"
    assert [c.removesuffix("_value") for c in call[1:]] == [next(wanted) if p.io == "out" else p.name for p in spec.params]
    assert all(c.removesuffix("_value") == c or c in made["new_params"] for c in call[1:])


@pytest.mark.parametrize("name", [n for n in BACKWARDS if n in BOUND])
def test_the_derivative_names_the_forwards_inputs_in_the_order_of_the_gradients(name: str) -> None:
    forward = forward_of(every()[name])
    assert forward is not None
    (entry,) = files(name)["derivatives.yaml"]["backward"]
    function = files(forward.spec.name)["op_plugin_functions.yaml"]["custom"][0]["func"]
    assert entry["name"] == function
    ((inputs, call),) = ((k, v) for k, v in entry.items() if k not in ("name", "version", "output_differentiability"))
    assert len(inputs.split(", ")) == sum(p.io == "out" for p in every()[name].spec.params)
    assert set(inputs.split(", ")) <= {p.name for p in forward.spec.params if p.io == "in"}
    assert call.startswith(f"npu_{snake(name)}(")
    assert call.count(",") + 1 == sum(p.io != "out" for p in every()[name].spec.params)
    differentiable = entry.get("output_differentiability", [True])
    inside = call.partition("(")[2]
    assert len(re.findall(r"\bgrads?\b", inside)) == sum(differentiable)


@pytest.mark.parametrize("name", NAMES)
def test_arguments_in_pytorch_have_the_graphs_names_unless_pytorch_confuses_them(name: str) -> None:
    spec = every()[name].spec
    found = [a.split()[1].split("=")[0] for a in declared(spec, flags=True)]
    graph = [p.name for p in arguments_of(spec)]
    assert not {"self", "input"} <= set(found)
    assert len(set(found)) == len(found)
    confused = {"self", "input"} <= set(graph)
    assert [g for f, g in zip(found, graph, strict=False) if f != g] == (["self"] if confused else [])


def test_some_operator_has_names_that_pytorch_confuses() -> None:
    assert any({"self", "input"} <= {p.name for p in arguments_of(every()[n].spec)} for n in NAMES)
