"""Flags, attributes of the graph operator alone: the level-0 call says by them which optional outputs are given, inference gives
what is not wanted no elements, and tiling refuses a flag that contradicts the outputs."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from generator.emit.names import snake
from generator.emit.pipeline import generate
from generator.spec.model import Flag
from generator.twin import tiling
from generator.twin.package import package
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
policies: {noncontiguous: refuse}
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


CLIENT = """
#include "check.h"
#include "aclnn_pieces.h"

// y = x + 1, z = 2 * x, powers = 3: each optional output is given or not, and what is not given is left alone.
TEST(each_flag_follows_from_its_outputs) {
  Device device;
  const std::vector<float> x = {1, 2, 3, 4, 5, 6}, blank(6, -1);
  for (int given = 0; given < 4; ++given) {
    float *y = device.Put(blank), *z = device.Put(blank), *powers = device.Put(blank);
    aclTensor *in = Dense({2, 3}, device.Put(x)), *out = Dense({2, 3}, y);
    aclTensor *zOut = (given & 1) != 0 ? Dense({2, 3}, z) : nullptr, *pOut = (given & 2) != 0 ? Dense({6}, powers) : nullptr;
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    GOOD(aclnnPiecesGetWorkspaceSize(in, 2, out, zOut, pOut, &size, &executor));
    GOOD(aclnnPieces(device.Room(size), size, executor, device.stream));
    GOOD(aclrtSynchronizeStream(device.stream));
    EQUAL(device.Get(y, 6), {2, 3, 4, 5, 6, 7});
    EQUAL(device.Get(z, 6), zOut == nullptr ? blank : std::vector<float>{2, 4, 6, 8, 10, 12});
    EQUAL(device.Get(powers, 6), pOut == nullptr ? blank : std::vector<float>(6, 3));
    for (aclTensor *tensor : {in, out, zOut, pOut}) GOOD(aclDestroyTensor(tensor));
  }
}

TEST(a_view_that_is_not_contiguous_is_refused_where_the_policy_says_so) {
  Device device;
  float *data = device.Put(std::vector<float>(12, 1));
  aclTensor *dense = Dense({2, 3}, data), *wide = Strided({2, 3}, {6, 2}, 0, 12, data);
  uint64_t size = 0;
  aclOpExecutor *executor = nullptr;
  EXPECT(aclnnPiecesGetWorkspaceSize(wide, 2, dense, nullptr, nullptr, &size, &executor), 161002);
  SAYS("x is not contiguous; it must be");
  EXPECT(aclnnPiecesGetWorkspaceSize(dense, 2, wide, nullptr, nullptr, &size, &executor), 161002);
  SAYS("y is not contiguous; it must be");
  EXPECT(aclnnPiecesGetWorkspaceSize(dense, 2, dense, wide, nullptr, &size, &executor), 161002);
  SAYS("z is not contiguous; it must be");
  for (aclTensor *tensor : {dense, wide}) GOOD(aclDestroyTensor(tensor));
}
"""


def test_whole_calls_follow_each_flag_and_the_policy_on_views(toy: Path, tmp_path: Path) -> None:
    built = package([toy], tmp_path / "built")
    client, source = tmp_path / "client", tmp_path / "client.cpp"
    source.write_text(CLIENT, encoding="utf-8")
    checks = Path(__file__).parents[1] / "twin" / "acl" / "client"
    subprocess.run(["g++", "-std=c++17", f"-I{checks}", str(source), *built.flags, "-o", str(client)], check=True)
    names = re.findall(r"^TEST\((\w+)\)", CLIENT, re.MULTILINE)
    assert len(names) == 2
    env = {**os.environ, "LD_LIBRARY_PATH": str(built.libraries), "OPWRIGHT_LEAKS": "fail"}
    for name in names:
        done = subprocess.run([str(client), name], capture_output=True, text=True, check=False, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
