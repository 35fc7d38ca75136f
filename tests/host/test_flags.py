"""Flags, attributes of the graph operator alone: the level-0 call says by them which optional outputs are given, inference gives
what is not wanted no elements, and tiling refuses a flag that contradicts the outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.emit.names import snake
from generator.emit.pipeline import generate
from generator.spec.model import Flag
from generator.twin import tiling
from generator.twin.products import product
from generator.twin.tiling import Attr, TensorArg, Tiling
from generator.twin.verify.case import Case
from generator.twin.verify.shapes import INPUTS, OUTPUTS, attribute_values, dtype_of, shapes_of, tensor_params
from tests.host.calls import bases
from tests.host.common import OPERATORS, folder, spec
from tests.host.driver import PRODUCT, make
from tests.host.inferring import infer_shapes, library, tiling_of

FLAGGED = [n for n in OPERATORS if spec(n).spec.flags]
CHIP = product(PRODUCT)

TOY = """\
name: Pieces
family: toy
summary: {en: rows with extras, zh: 行}
products: [Ascend910B]
dims:
  D: {}
params:
  - {symbol: x, name: x, aclnn: x, io: in, shape: ["*b", D], dtype: float32, about: {en: x, zh: x}}
  - {symbol: times, name: times, aclnn: times, io: attr, type: int, default: 2, where: 0 <= times <= 6, about: {en: t, zh: t}}
  - {symbol: y, name: y, aclnn: y, io: out, shape: ["*b", D], dtype: float32, about: {en: y, zh: y}}
  - {symbol: z, name: z, aclnn: z, io: out, optional: true, shape: ["*b", D], dtype: float32, about: {en: z, zh: z}}
  - symbol: p
    name: powers
    aclnn: powers
    io: out
    optional: true
    flat: {axes: {r: times, t: D}, order: [r, t], size: times*D}
    dtype: float32
    about: {en: p, zh: p}
flags:
  - {name: with_z, outputs: [z], given: true, absent: false}
  - {name: mode, outputs: [p], given: -2, absent: 5, about: {en: m, zh: m}}
formula: |
  y[*b, d] = x[*b, d] + 1.0
  z[*b, d] = x[*b, d] * 2.0
  for r in range(times):
      p[r, d] = 3.0
"""


def changed(name: str, case: Case, flag: Flag, value: int | bool) -> list[Attr]:
    """The attributes of a case with another value of a flag."""
    checked = spec(name)
    values: list[Attr] = list(attribute_values(checked.spec, case))
    values[len(values) - len(checked.spec.flags) + checked.spec.flags.index(flag)] = value
    return values


def tile(name: str, case: Case, attrs: list[Attr], *, without: tuple[str, ...] = ()) -> Tiling:
    """What tiling says to a case's tensors, without these outputs, and other attributes."""
    checked, shapes = spec(name), shapes_of(spec(name), case)

    def args(*kinds: str) -> list[TensorArg | None]:
        every = tensor_params(checked.spec, *kinds)
        return [None if p.symbol in without else TensorArg(shapes[p.symbol], dtype_of(p, dict(case.dtypes))) for p in every]

    return tiling.call(tiling_of(folder(name)), args(*INPUTS), args(*OUTPUTS), attrs, CHIP)


def test_some_operator_has_a_flag() -> None:
    assert FLAGGED


@pytest.mark.parametrize("name", FLAGGED)
def test_the_level_0_call_passes_the_value_that_follows_from_the_outputs(name: str) -> None:
    """Tiling refuses any other value (below), so that a call is planned only with the right one."""
    checked = spec(name)
    for case, call in bases(name):
        for flag in checked.spec.flags:
            without = call
            for symbol in flag.outputs:
                without = without.having(symbol, None)
            for answer in make([call, without]):
                assert (answer.status, answer.executor) == (0, True), f"{case.label()}: {answer.message}"


@pytest.mark.parametrize("name", FLAGGED)
def test_tiling_takes_a_flag_that_agrees_with_the_outputs_and_refuses_any_other(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    for case, _ in bases(name):
        for flag in spec(name).spec.flags:
            names = [p.name for p in spec(name).spec.params if p.symbol in flag.outputs]
            gone = tuple(flag.outputs)
            agreeing, other = changed(name, case, flag, flag.given), changed(name, case, flag, flag.absent)
            with_outputs, without = tile(name, case, agreeing), tile(name, case, other, without=gone)
            assert (with_outputs.status, without.status) == (0, 0)
            assert with_outputs.key != without.key
            capfd.readouterr()
            for attrs, missing in ((other, ()), (agreeing, gone)):
                assert tile(name, case, attrs, without=missing).status != 0
                said = capfd.readouterr().err
                assert f"{flag.name} must be" in said
                assert all(n in said for n in names), said
            assert tile(name, case, changed(name, case, flag, 7)).status != 0
            assert f"{flag.name} must be {flag.given}" in capfd.readouterr().err


@pytest.mark.parametrize("name", FLAGGED)
def test_inference_gives_outputs_that_are_not_wanted_no_elements_and_refuses_other_values(name: str) -> None:
    checked = spec(name)
    outputs = tensor_params(checked.spec, *OUTPUTS)
    for case, _ in bases(name):
        shapes = shapes_of(checked, case)
        inputs = [(shapes[p.symbol], dtype_of(p, dict(case.dtypes))) for p in tensor_params(checked.spec, *INPUTS)]
        unknown = [((-2,), d) for _, d in inputs]
        for flag in checked.spec.flags:
            given, absent = changed(name, case, flag, flag.given), changed(name, case, flag, flag.absent)
            assert infer_shapes(name, inputs, given, len(outputs)) == [shapes[p.symbol] for p in outputs]
            small = [(0,) if p.symbol in flag.outputs else shapes[p.symbol] for p in outputs]
            assert infer_shapes(name, inputs, absent, len(outputs)) == small
            nothing_known = infer_shapes(name, unknown, absent, len(outputs))
            assert nothing_known is not None
            assert [s == (0,) for s in nothing_known] == [p.symbol in flag.outputs for p in outputs]
            assert infer_shapes(name, inputs, changed(name, case, flag, 7), len(outputs)) is None


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an operator with two flags: true and false of one output, two numbers of another."""
    place = tmp_path_factory.mktemp("toy")
    (place / "specs").mkdir()
    (place / "specs" / "pieces.yaml").write_text(TOY, encoding="utf-8")
    generate(place / "specs", place / "generated")
    return place / "generated" / "toy" / snake("Pieces")


X, Z, P = TensorArg((2, 3, 5), "float32"), TensorArg((2, 3, 5), "float32"), TensorArg((10,), "float32")
NONE = TensorArg((0,), "float32")


@pytest.mark.parametrize(
    ("z", "p", "attrs", "taken"),
    [
        (Z, P, [2, True, -2], True),
        (Z, None, [2, True, 5], True),
        (NONE, P, [2, False, -2], True),
        (None, None, [2, False, 5], True),
        (None, None, [2], True),  # flags left out mean that nothing optional is wanted
        (Z, P, [2, False, -2], False),
        (Z, P, [2, True, 5], False),
        (NONE, P, [2, True, -2], False),
        (Z, None, [2, True, -2], False),
        (Z, P, [2, True, 0], False),
        (Z, None, [0, True, -2], True),  # with no powers there is nothing that could be given
    ],
)
def test_each_flag_is_compared_with_its_own_outputs(
    toy: Path, z: TensorArg | None, p: TensorArg | None, attrs: list[Attr], taken: bool
) -> None:
    assert (tiling.call(tiling_of(toy), [X], [X, z, p], attrs, CHIP).status == 0) == taken


def test_inference_of_each_output_follows_its_own_flag(toy: Path) -> None:
    built = library((toy / "op_host" / "pieces_infershape.cpp",), "infer_pieces.cpp")
    x, full = ((2, 3, 5), "float32"), [(2, 3, 5), (2, 3, 5), (10,)]
    assert infer_shapes("Pieces", [x], [2, True, -2], 3, built) == full
    assert infer_shapes("Pieces", [x], [2, False, -2], 3, built) == [full[0], (0,), full[2]]
    assert infer_shapes("Pieces", [x], [2, True, 5], 3, built) == [*full[:2], (0,)]
    assert infer_shapes("Pieces", [((-2,), "float32")], [2, True, -2], 3, built) == [(-2,), (-2,), (-1,)]
    assert infer_shapes("Pieces", [((-2,), "float32")], [2, False, 5], 3, built) == [(-2,), (0,), (0,)]
    assert infer_shapes("Pieces", [x], [2, True, 4], 3, built) is None


def test_the_level_0_call_of_each_flag_reads_its_own_output(toy: Path) -> None:
    text = (toy / "op_api" / "pieces.cpp").read_text(encoding="utf-8")
    assert "const bool with_z = result_z != nullptr ? true : false;" in text
    assert "const int64_t mode = result_powers != nullptr ? -2 : 5;" in text
    assert "OP_ATTR(times, with_z, mode)" in text
