"""Calls of generated shape and dtype inference, that of all operators in one library, and tiling functions to call."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from generator.emit.names import snake
from generator.twin.compile import host_library
from generator.twin.tiling import DTYPES, Attr, _attrs, load
from tests.host.common import OPERATORS, alone, folder, written

UNKNOWN_RANK = (-2,)
UNDEFINED = 28
Shape = tuple[int, ...]

_CALLS = """
struct GivenTensor {
  int32_t present, dtype, rank;
  const int64_t *dims;
};

struct GivenAttr {
  int32_t kind;
  int64_t integer;
  double real;
  const char *text;
  const int64_t *integers;
  const double *reals;
  int64_t count;
};

static void Fill(gert::TwinNode &node, const GivenTensor *inputs, int32_t inputCount, int32_t outputCount,
                 const GivenAttr *attrs, int32_t attrCount) {
  const auto instances = [](const GivenTensor &from) {
    std::vector<gert::Tensor> present;
    if (from.present == 0) return present;
    gert::StorageShape shape;
    for (int32_t d = 0; d < from.rank; ++d) {
      shape.MutableOriginShape().AppendDim(from.dims[d]);
      shape.MutableStorageShape().AppendDim(from.dims[d]);
    }
    present.push_back(gert::Tensor(shape, gert::StorageFormat(), gert::kOnDeviceHbm, static_cast<ge::DataType>(from.dtype), nullptr));
    return present;
  };
  GivenTensor blank{1, 0, 0, nullptr};
  for (int32_t i = 0; i < inputCount; ++i) node.AddInput(instances(inputs[i]));
  for (int32_t i = 0; i < outputCount; ++i) node.AddOutput(instances(blank));
  for (int32_t i = 0; i < attrCount; ++i) {
    auto value = std::make_shared<gert::RuntimeAttrs::Value>();
    value->kind = attrs[i].kind;
    value->integer = attrs[i].integer;
    value->real = static_cast<float>(attrs[i].real);
    value->flag = attrs[i].integer != 0;
    node.attrs.values.push_back(std::move(value));
  }
}

extern "C" __attribute__((visibility("default"))) uint32_t InferShapes(
    const char *op, const GivenTensor *inputs, int32_t inputCount, const GivenAttr *attrs, int32_t attrCount, int32_t outputCount,
    int64_t *dims, int32_t *ranks) {
  gert::InferShapeContext context;
  Fill(context.node, inputs, inputCount, outputCount, attrs, attrCount);
  const uint32_t status = gert::OpImplRegisterV2::Table().at(op).inferShape(&context);
  for (int32_t o = 0; o < outputCount; ++o) {
    const gert::Shape *shape = context.GetOutputShape(static_cast<size_t>(o));
    ranks[o] = static_cast<int32_t>(shape->GetDimNum());
    for (int32_t d = 0; d < ranks[o]; ++d) dims[o * 25 + d] = shape->GetDim(static_cast<size_t>(d));
  }
  return status;
}

extern "C" __attribute__((visibility("default"))) uint32_t InferTypes(
    const char *op, const GivenTensor *inputs, int32_t inputCount, int32_t outputCount, int32_t *types) {
  gert::InferDataTypeContext context;
  Fill(context.node, inputs, inputCount, outputCount, nullptr, 0);
  const uint32_t status = gert::OpImplRegisterV2::Table().at(op).inferDataType(&context);
  for (int32_t o = 0; o < outputCount; ++o) types[o] = context.GetOutputDataType(static_cast<size_t>(o));
  return status;
}
"""


class _Tensor(ctypes.Structure):
    _fields_ = (("present", ctypes.c_int32), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("dims", ctypes.POINTER(ctypes.c_int64)))


@cache
def library(sources: tuple[Path, ...] = (), name: str = "infer.cpp") -> ctypes.CDLL:
    """The inference in these sources, every operator's without any, built from a file of that name."""
    sources = sources or tuple(folder(n) / "op_host" / f"{snake(n)}_infershape.cpp" for n in OPERATORS)
    with alone():
        source = written(name, "\n".join(["#include <memory>", *(f'#include "{p}"' for p in sources), _CALLS]))
        return ctypes.CDLL(str(host_library(source, [p.parent for p in sources], quick=True)))


def tiling_of(source: Path) -> ctypes.CDLL:
    """The tiling function in an operator's folder."""
    folders = [source / "op_host", source / "op_kernel"]
    return load(host_library(folders[0] / f"{source.name}_tiling.cpp", folders, quick=True))


def _tensors(args: Sequence[tuple[Shape, str] | None]) -> ctypes.Array[_Tensor]:
    array = (_Tensor * max(len(args), 1))()
    for slot, arg in zip(array, args, strict=False):
        if arg is not None:
            shape, dtype = arg
            slot.present, slot.dtype, slot.rank = 1, DTYPES[dtype], len(shape)
            slot.dims = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    return array


def infer_shapes(
    op: str, inputs: Sequence[tuple[Shape, str] | None], attrs: Sequence[Attr], outputs: int, built: ctypes.CDLL | None = None
) -> list[Shape] | None:
    """The outputs' shapes; None when the inference refuses. ``built`` is a library other than that of all operators."""
    dims, ranks = (ctypes.c_int64 * (25 * outputs))(), (ctypes.c_int32 * outputs)()
    status = (built or library()).InferShapes(op.encode(), _tensors(inputs), len(inputs), _attrs(attrs), len(attrs), outputs, dims, ranks)
    return None if status != 0 else [tuple(dims[25 * o : 25 * o + ranks[o]]) for o in range(outputs)]


def infer_types(op: str, inputs: Sequence[tuple[Shape, str] | None], outputs: int) -> list[int] | None:
    """The outputs' ``ge::DataType`` values; None when the inference refuses."""
    types = (ctypes.c_int32 * outputs)()
    status = library().InferTypes(op.encode(), _tensors(inputs), len(inputs), outputs, types)
    return None if status != 0 else list(types)
