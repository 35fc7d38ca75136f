// The shared library around an operator's tiling function: compiled with -DTWIN_SOURCE="<op>_tiling.cpp", called from Python.
#include <memory>

#include "host.h"

#include TWIN_SOURCE

extern "C" {

struct TwinTensor {
  int32_t present;
  int32_t dtype;  // ge::DataType
  int32_t rank;
  const int64_t *dims;
};

struct TwinAttr {
  int32_t kind;  // 'i' 'f' 'b' 's' 'I' 'F'
  int64_t integer;
  double real;
  const char *text;
  const int64_t *integers;
  const double *reals;
  int64_t count;
};

struct TwinPlatform {
  uint32_t aiv, aic, socVersion, arch;
  uint64_t ub, l1, l0a, l0b, l0c, l2, hbm;
  const char *soc;
};

struct TwinTiling {
  uint32_t status, blockDim, schedule;
  uint64_t key, workspace, dataSize;
};

#define TWIN_EXPORT __attribute__((visibility("default")))

TWIN_EXPORT int32_t TwinOperators() { return static_cast<int32_t>(gert::OpImplRegisterV2::Table().size()); }
TWIN_EXPORT uint64_t TwinCapacity() { return gert::OpImplRegisterV2::Table().begin()->second.capacity; }

// Calls the (only) registered tiling function. `data` has TwinCapacity() bytes.
TWIN_EXPORT int32_t TwinTile(const TwinTensor *inputs, int32_t inputCount, const TwinTensor *outputs, int32_t outputCount, const TwinAttr *attrs,
                             int32_t attrCount, const TwinPlatform *platform, TwinTiling *out, uint8_t *data) {
  const auto &entry = *gert::OpImplRegisterV2::Table().begin();
  gert::TilingContext context;
  context.node.type = entry.first;
  context.node.name = entry.first;
  const auto instances = [](const TwinTensor &from) {
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
  for (int32_t i = 0; i < inputCount; ++i) context.node.AddInput(instances(inputs[i]));
  for (int32_t i = 0; i < outputCount; ++i) context.node.AddOutput(instances(outputs[i]));
  for (int32_t i = 0; i < attrCount; ++i) {
    auto value = std::make_shared<gert::RuntimeAttrs::Value>();
    value->kind = attrs[i].kind;
    value->integer = attrs[i].integer;
    value->real = static_cast<float>(attrs[i].real);
    value->flag = attrs[i].integer != 0;
    if (attrs[i].text != nullptr) value->text = attrs[i].text;
    for (int64_t k = 0; k < attrs[i].count; ++k) {
      if (attrs[i].integers != nullptr) value->integers.values.push_back(attrs[i].integers[k]);
      if (attrs[i].reals != nullptr) value->reals.values.push_back(static_cast<float>(attrs[i].reals[k]));
    }
    context.node.attrs.values.push_back(std::move(value));
  }
  fe::PlatFormInfos &info = context.platform;
  info.aiv = platform->aiv;
  info.aic = platform->aic;
  info.socVersion = platform->socVersion;
  info.arch = platform->arch;
  info.ub = platform->ub;
  info.l1 = platform->l1;
  info.l0a = platform->l0a;
  info.l0b = platform->l0b;
  info.l0c = platform->l0c;
  info.l2 = platform->l2;
  info.hbm = platform->hbm;
  info.soc = platform->soc;
  context.data = gert::TilingData(entry.second.capacity);
  std::memset(context.data.GetData(), 0xFB, context.data.GetCapacity());  // the device's buffer is not cleared either
  out->status = entry.second.tiling(&context);
  out->blockDim = context.block;
  out->schedule = context.schedule;
  out->key = context.key;
  out->workspace = context.workspaces.empty() ? 0 : context.workspaces[0];
  out->dataSize = context.data.GetDataSize() <= context.data.GetCapacity() ? context.data.GetDataSize() : context.data.GetCapacity();
  std::memcpy(data, context.data.GetData(), out->dataSize);
  return 0;
}

}  // extern "C"
