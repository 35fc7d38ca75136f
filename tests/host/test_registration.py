"""Definition and graph prototype say what the spec says: order, optional parameters, and a column per supported combination."""

from __future__ import annotations

import re

import pytest

from generator.emit.names import snake
from generator.twin.verify.shapes import INPUTS, OUTPUTS, attributes, dtype_of, tensor_params
from tests.host.common import OPERATORS, folder, spec

GE = {
    "float32": "DT_FLOAT",
    "float16": "DT_FLOAT16",
    "bfloat16": "DT_BF16",
    "int32": "DT_INT32",
    "int64": "DT_INT64",
    "int8": "DT_INT8",
    "bool": "DT_BOOL",
}


def definition(name: str) -> str:
    text = (folder(name) / "op_host" / f"{snake(name)}_def.cpp").read_text(encoding="utf-8")
    return re.sub(r"\s+", " ", text)


def listed(text: str, call: str) -> list[str]:
    return [x.strip() for x in re.search(rf"\.{call}\(\{{(.*?)\}}\)", text)[1].split(",")]  # type: ignore[index]


@pytest.mark.parametrize("name", OPERATORS)
def test_each_operand_has_its_dtype_and_a_legal_format_in_every_column(name: str) -> None:
    checked = spec(name)
    bindings = [dict(c) for c in checked.spec.dtypes] or [{}]
    columns: dict[str, list[tuple[str, str]]] = {}
    for kind, roles in (("Input", INPUTS), ("Output", OUTPUTS)):
        parts = re.findall(rf'this->{kind}\("(\w+)"\)(.*?);', definition(name))
        params = tensor_params(checked.spec, *roles)
        assert [n for n, _ in parts] == [p.name for p in params]
        for p, (_, text) in zip(params, parts, strict=True):
            assert f"ParamType({'OPTIONAL' if p.optional else 'REQUIRED'})" in text
            columns[p.symbol] = list(zip(listed(text, "DataType"), listed(text, "Format"), strict=True))
            assert {f.removeprefix("ge::FORMAT_") for _, f in columns[p.symbol]} == set(p.formats)
    rows = list(zip(*(columns[p.symbol] for p in tensor_params(checked.spec)), strict=True))
    legal = {tuple(f"ge::{GE[dtype_of(p, b)]}" for p in tensor_params(checked.spec)) for b in bindings}
    assert {tuple(d for d, _ in row) for row in rows} == legal
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize("name", OPERATORS)
def test_attributes_are_those_of_the_graph_operator_with_their_defaults(name: str) -> None:
    found = re.findall(r'this->Attr\("(\w+)"\)\.AttrType\((\w+)\)\.(\w+)\(([^)]*)\);', definition(name))
    wanted, flags = attributes(spec(name).spec), spec(name).spec.flags
    assert [n for n, *_ in found] == [*(p.name for p in wanted), *(f.name for f in flags)]
    assert [x[1:] for x in found[len(wanted) :]] == [
        ("OPTIONAL", "Bool" if f.absent is False else "Int", str(f.absent).lower()) for f in flags
    ]
    for p, (_, kind, setter, default) in zip(wanted, found, strict=False):
        assert (kind == "OPTIONAL") == (p.default is not None)
        assert setter == {"float": "Float", "double": "Float", "int": "Int", "bool": "Bool", "string": "String"}[p.type or ""]
        if isinstance(p.default, float):
            assert float(default.rstrip("f")) == p.default


@pytest.mark.parametrize("name", OPERATORS)
def test_every_product_of_the_spec_is_configured(name: str) -> None:
    configured = set(re.findall(r"AddConfig\(([^,]+),", definition(name)))
    names = {"Ascend910B": '"ascend910b"', "Ascend910_93": '"ascend910_93"', "Ascend950": "kAscend950"}
    assert configured == {names[p] for p in spec(name).spec.products}


@pytest.mark.parametrize("name", OPERATORS)
def test_the_prototype_has_the_order_of_the_definition(name: str) -> None:
    text = (folder(name) / "op_graph" / f"{snake(name)}_proto.h").read_text(encoding="utf-8")
    order = re.findall(r"\.(?:OPTIONAL_)?(INPUT|OUTPUT|ATTR)\((\w+)", text.replace("REQUIRED_ATTR", "ATTR"))
    assert [(k.capitalize(), n) for k, n in order] == re.findall(r'this->(Input|Output|Attr)\("(\w+)"\)', definition(name))
