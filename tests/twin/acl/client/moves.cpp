// Level-0 operators of the interface, shape and dtype questions, executors' own objects.
#include "check.h"

#include "aclnn_kernels/cast.h"
#include "aclnn_kernels/contiguous.h"
#include "aclnn_kernels/pad.h"
#include "aclnn_kernels/reshape.h"
#include "aclnn_kernels/slice.h"
#include "aclnn_kernels/transdata.h"
#include "aclnn_kernels/transpose.h"
#include "opdev/data_type_utils.h"
#include "opdev/format_utils.h"
#include "opdev/make_op_executor.h"
#include "opdev/op_dfx.h"
#include "opdev/platform.h"
#include "opdev/shape_utils.h"
#include "opdev/tensor_view_utils.h"
#include "tiling/platform/platform_ascendc.h"

// Runs what `plan` records and returns the tensor it gives, copied to a dense one of `type`.
template <typename T, typename Plan>
std::vector<T> Result(Device &device, const std::vector<int64_t> &shape, aclDataType type, const Plan &plan) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  T *data = device.Put(std::vector<T>(static_cast<size_t>(count)));
  aclTensor *out = Dense(shape, data, type);
  aclOpExecutor *executor = nullptr;
  {
    auto unique = CREATE_EXECUTOR();
    const aclTensor *result = plan(unique.get());
    EXPECT(result != nullptr, true);
    if (result != nullptr) EXPECT(result->GetViewShape() == out->GetViewShape(), true);
    EXPECT(result != nullptr && l0op::ViewCopy(result, out, unique.get()) == out, true);
    unique.ReleaseTo(&executor);
  }
  const uint64_t size = executor->GetWorkspaceSize();
  GOOD(CommonOpExecutorRun(device.Room(size), size, executor, device.stream));
  GOOD(aclrtSynchronizeStream(device.stream));
  GOOD(aclDestroyTensor(out));
  return device.Get(data, static_cast<size_t>(count));
}

static std::vector<float> Counted(size_t count) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

TEST(contiguous_copies_views_only) {
  Device device;
  float *data = device.Put(Counted(12));
  auto unique = CREATE_EXECUTOR();
  aclTensor *dense = Dense({3, 4}, data), *offset = Strided({2, 4}, {4, 1}, 4, 12, data), *turned = Strided({4, 3}, {1, 4}, 0, 12, data);
  EXPECT(l0op::Contiguous(dense, unique.get()) == dense, true);
  const aclTensor *view = l0op::Contiguous(offset, unique.get());
  EXPECT(view != offset && view->GetData() == data + 4 && !view->IsFromWorkspace(), true);
  EXPECT(view->GetStorageShape() == op::Shape({2, 4}), true);
  EXPECT(l0op::Contiguous(turned, unique.get())->IsFromWorkspace(), true);
  EXPECT(l0op::Contiguous(nullptr, unique.get()) == nullptr, true);
  EQUAL(Result<float>(device, {4, 3}, ACL_FLOAT, [&](aclOpExecutor *e) { return l0op::Contiguous(turned, e); }),
        {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  aclTensor *reversed = Strided({3}, {-2}, 4, 12, data);
  EQUAL(Result<float>(device, {3}, ACL_FLOAT, [&](aclOpExecutor *e) { return l0op::Contiguous(reversed, e); }), {4, 2, 0});
  for (aclTensor *tensor : {dense, offset, turned, reversed}) aclDestroyTensor(tensor);
}

template <typename T>
void Copies(Device &device, aclDataType type, const std::vector<T> &values) {
  aclTensor *turned = Strided({2, 2}, {1, 2}, 0, 4, device.Put(values), type);
  EQUAL(Result<T>(device, {2, 2}, type, [&](aclOpExecutor *e) { return l0op::Contiguous(turned, e); }),
        {values[0], values[2], values[1], values[3]});
  aclDestroyTensor(turned);
}

TEST(copies_of_every_size) {
  Device device;
  Copies<int8_t>(device, ACL_INT8, {1, 2, 3, 4});
  Copies<uint16_t>(device, ACL_BF16, {1, 2, 3, 4});
  Copies<int32_t>(device, ACL_INT32, {1, 2, 3, 4});
  Copies<double>(device, ACL_DOUBLE, {1, 2, 3, 4});
}

TEST(transpose_permutes) {
  Device device;
  aclTensor *x = Dense({2, 3, 2}, device.Put(Counted(12)));
  const std::vector<float> expected = {0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11};  // y[c][b][a] = x[a][b][c]
  EQUAL(Result<float>(device, {2, 3, 2}, ACL_FLOAT,
                      [&](aclOpExecutor *e) {
                        const int64_t perm[] = {2, 1, 0};
                        return l0op::Transpose(x, e->AllocIntArray(perm, 3), e);
                      }),
        expected);
  EQUAL(Result<float>(device, {2, 3, 2}, ACL_FLOAT,
                      [&](aclOpExecutor *e) {
                        const int32_t perm[] = {2, 1, 0};
                        aclTensor *y = e->AllocTensor(op::Shape({2, 3, 2}), op::DataType::DT_FLOAT);
                        return l0op::Transpose(x, y, e->ConvertToTensor(perm, 3, op::DataType::DT_INT64), e);
                      }),
        expected);
  auto unique = CREATE_EXECUTOR();
  const int64_t bad[] = {0, 0, 1};
  EXPECT(l0op::Transpose(x, unique->AllocIntArray(bad, 3), unique.get()) == nullptr, true);
  SAYS("perm is not a permutation of the 3 axes of [2, 3, 2]");
  aclDestroyTensor(x);
}

TEST(slices_and_padding) {
  Device device;
  aclTensor *x = Dense({3, 4}, device.Put(Counted(12)));
  EQUAL(Result<float>(device, {2, 2}, ACL_FLOAT,
                      [&](aclOpExecutor *e) {
                        const int64_t offsets[] = {1, 2}, size[] = {2, -1};
                        return l0op::Slice(x, e->AllocIntArray(offsets, 2), e->AllocIntArray(size, 2), e);
                      }),
        {6, 7, 10, 11});
  EQUAL(Result<float>(device, {4, 5}, ACL_FLOAT,
                      [&](aclOpExecutor *e) {
                        const int64_t pads[] = {1, 0, 0, 1};
                        return l0op::Pad(x, e->ConvertToTensor(pads, 4, op::DataType::DT_INT32), e);
                      }),
        {0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 4, 5, 6, 7, 0, 8, 9, 10, 11, 0});
  auto unique = CREATE_EXECUTOR();
  const int64_t offsets[] = {2, 0}, size[] = {2, 4}, pads[] = {-1, 0, 0, 0};
  EXPECT(l0op::Slice(x, unique->AllocIntArray(offsets, 2), unique->AllocIntArray(size, 2), unique.get()) == nullptr, true);
  EXPECT(l0op::Pad(x, unique->ConvertToTensor(pads, 4, op::DataType::DT_INT64), unique.get()) == nullptr, true);
  EXPECT(l0op::TransData(x, op::Format::FORMAT_FRACTAL_NZ, 1, unique.get()) == nullptr, true);
  const aclTensor *renamed = l0op::ReFormat(x, op::Format::FORMAT_NCL, unique.get());
  EXPECT(static_cast<int>(renamed->GetStorageFormat()), static_cast<int>(op::Format::FORMAT_NCL));
  EXPECT(static_cast<int>(x->GetStorageFormat()), static_cast<int>(op::Format::FORMAT_ND));
  aclDestroyTensor(x);
}

TEST(reshape_keeps_order) {
  Device device;
  aclTensor *turned = Strided({3, 2}, {1, 3}, 0, 6, device.Put(Counted(6)));
  EQUAL(Result<float>(device, {2, 3}, ACL_FLOAT,
                      [&](aclOpExecutor *e) {
                        const int64_t dims[] = {2, -1};
                        return l0op::Reshape(turned, e->AllocIntArray(dims, 2), e);
                      }),
        {0, 3, 1, 4, 2, 5});
  auto unique = CREATE_EXECUTOR();
  EXPECT(l0op::Reshape(turned, op::Shape({4}), unique.get()) == nullptr, true);
  SAYS("[4] does not have the elements of [3, 2]");
  aclDestroyTensor(turned);
}

template <typename To, typename From>
void Casts(Device &device, aclDataType from, aclDataType to, const std::vector<From> &values, const std::vector<To> &expected) {
  aclTensor *x = Dense({static_cast<int64_t>(values.size())}, device.Put(values), from);
  EQUAL(Result<To>(device, {static_cast<int64_t>(values.size())}, to,
                   [&](aclOpExecutor *e) { return l0op::Cast(x, op::ToOpDataType(to), e); }),
        expected);
  aclDestroyTensor(x);
}

TEST(casts_round_and_saturate) {
  Device device;
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  // Nearest even: 1 + 2^-11 lies between 1 and 1 + 2^-10; 65520 between 65504 and 65536.
  Casts<uint16_t, float>(device, ACL_FLOAT, ACL_FLOAT16, {1 + 0x1p-11f, 1 + 3 * 0x1p-11f, 65519, 65520, -inf},
                         {0x3C00, 0x3C02, 0x7BFF, 0x7C00, 0xFC00});
  Casts<uint16_t, float>(device, ACL_FLOAT, ACL_BF16, {1 + 0x1p-8f, 1 + 3 * 0x1p-8f, 3.4e38f}, {0x3F80, 0x3F82, 0x7F80});
  // Rounded once: 1 + 2^-11 + 2^-40 is above the midpoint, though float would round it there first.
  Casts<uint16_t, double>(device, ACL_DOUBLE, ACL_FLOAT16, {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11 - 0x1p-40}, {0x3C01, 0x3C00});
  Casts<float, uint16_t>(device, ACL_FLOAT16, ACL_FLOAT, {0x3C00, 0x0001, 0x7C00}, {1, 0x1p-24f, inf});
  Casts<int32_t, float>(device, ACL_FLOAT, ACL_INT32, {2.9f, -2.9f, 3e9f, -inf, nan}, {2, -2, 2147483647, -2147483647 - 1, 0});
  Casts<uint8_t, float>(device, ACL_FLOAT, ACL_UINT8, {-1, 255.9f, 256}, {0, 255, 255});
  Casts<int64_t, float>(device, ACL_FLOAT, ACL_INT64, {1e30f}, {std::numeric_limits<int64_t>::max()});
  Casts<float, int64_t>(device, ACL_INT64, ACL_FLOAT, {16777217, -5}, {16777216, -5});
  Casts<float, uint64_t>(device, ACL_UINT64, ACL_FLOAT, {uint64_t{1} << 63}, {0x1p63f});
  Casts<uint8_t, float>(device, ACL_FLOAT, ACL_BOOL, {0, -0.0f, 0.5f, nan}, {0, 0, 1, 1});
  auto unique = CREATE_EXECUTOR();
  aclTensor *x = Dense({1}, device.Put(std::vector<double>{1, 2}), ACL_COMPLEX64);
  EXPECT(l0op::Cast(x, op::DataType::DT_FLOAT, unique.get()) == nullptr, true);
  aclDestroyTensor(x);
}

TEST(an_executor_owns_what_it_makes) {
  Device device;
  auto unique = CREATE_EXECUTOR();
  const int64_t ints[] = {1, -2};
  const bool flags[] = {true, false};
  const float reals[] = {1.5f, -2.5f};
  EXPECT((*unique->AllocIntArray(ints, 2))[1], -2);
  EXPECT((*unique->AllocBoolArray(flags, 2))[0], true);
  EXPECT(unique->AllocFloatArray(reals, 2)->GetData()[1], -2.5f);
  EXPECT(unique->AllocScalar(2.5)->ToInt32(), 2);
  EXPECT(unique->AllocScalar(int64_t{-3})->ToFloat(), -3.0f);
  EXPECT(unique->AllocScalar(true)->ToBool(), true);
  EXPECT(unique->AllocScalar(300)->CheckOverflows<int8_t>(), true);
  EXPECT(unique->AllocScalar(100)->CheckOverflows<int8_t>(), false);
  EXPECT(static_cast<int>(unique->AllocScalar(op::bfloat16(2.0f))->GetDataType()), static_cast<int>(op::DataType::DT_BF16));
  const aclTensor *host = unique->ConvertToTensor(unique->AllocIntArray(ints, 2), op::DataType::DT_INT32);
  EXPECT(static_cast<const int32_t *>(host->GetData())[1], -2);
  EXPECT(static_cast<int>(host->GetPlacement()), static_cast<int>(op::TensorPlacement::kOnHost));
  EXPECT(host->GetTensor()->GetData<int32_t>()[0], 1);
  const aclTensor *tensors[] = {host};
  EXPECT((*unique->AllocTensorList(tensors, 1))[0] == host, true);
  EXPECT(unique->GetWorkspaceSize(), 0u);
  unique->AllocTensor(op::Shape({3, 100}), op::DataType::DT_FLOAT16);  // 600 bytes in 1024
  unique->AllocTensor(op::Shape({1}), op::DataType::DT_INT8);
  EXPECT(unique->GetWorkspaceSize(), 1536u);
  EXPECT(unique->CreateView(nullptr, op::Shape({1}), 0) == nullptr, true);
}

TEST(shapes_broadcast) {
  op::Shape out;
  EXPECT(op::BroadcastInferShape({3, 1}, {2, 1, 4}, out), true);
  EXPECT(out == op::Shape({2, 3, 4}), true);
  EXPECT(op::CheckBroadcastShape({3}, {2}), false);
  EXPECT(op::BroadcastInferShape({}, {0}, out) && out == op::Shape({0}), true);
  op::Strides strides;
  op::ToContiguousStrides({2, 3, 4}, strides);
  EXPECT(std::string(op::ToString(strides).GetString()) == "[12, 4, 1]", true);
  EXPECT(std::string(op::ToString(op::Shape({2, -1})).GetString()) == "[2, -1]", true);
}

TEST(dtypes_promote_and_cast) {
  using Type = op::DataType;
  const auto promote = [](Type a, Type b) { return static_cast<int>(op::PromoteType(a, b)); };
  EXPECT(promote(Type::DT_INT32, Type::DT_FLOAT16), static_cast<int>(Type::DT_FLOAT16));
  EXPECT(promote(Type::DT_FLOAT16, Type::DT_BF16), static_cast<int>(Type::DT_FLOAT));
  EXPECT(promote(Type::DT_UINT8, Type::DT_INT8), static_cast<int>(Type::DT_INT16));
  EXPECT(promote(Type::DT_BOOL, Type::DT_INT64), static_cast<int>(Type::DT_INT64));
  EXPECT(promote(Type::DT_FLOAT, Type::DT_COMPLEX64), static_cast<int>(Type::DT_COMPLEX64));
  EXPECT(promote(Type::DT_FLOAT, Type::DT_STRING), static_cast<int>(Type::DT_UNDEFINED));
  EXPECT(op::CanCast(Type::DT_INT32, Type::DT_FLOAT), true);
  EXPECT(op::CanCast(Type::DT_FLOAT, Type::DT_INT32), false);
  EXPECT(op::CanCast(Type::DT_COMPLEX64, Type::DT_FLOAT), false);
  EXPECT(op::TypeSize(Type::DT_INT4), 1004u);
  EXPECT(static_cast<int>(op::ToOpDataType(ACL_DT_UNDEFINED)), 28);
  EXPECT(static_cast<int>(op::ToAclDataType(Type::DT_UNDEFINED)), -1);
  EXPECT(op::IsPrivateFormat(op::Format::FORMAT_FRACTAL_NZ), true);
  EXPECT(op::IsPrivateFormat(op::Format::FORMAT_NCL), false);
}

TEST(the_platform_is_the_products) {
  GOOD(aclInit(nullptr));
  const op::PlatformInfo &info = op::GetCurrentPlatformInfo();
  EXPECT(static_cast<int>(info.GetSocVersion()), static_cast<int>(op::SocVersion::ASCEND910B));
  EXPECT(info.GetVectorCoreNum(), 48u);
  EXPECT(info.GetCubeCoreNum(), 24u);
  EXPECT(info.GetSocLongVersion() == "Ascend910B1", true);
  EXPECT(info.GetPlatformInfos()->ub, 196608u);
  platform_ascendc::PlatformAscendC *platform = platform_ascendc::PlatformAscendCManager::GetInstance();
  EXPECT(platform != nullptr && platform->GetCoreNumAiv() == 48 && platform->GetCoreNumAic() == 24, true);
  EXPECT(platform_ascendc::PlatformAscendCManager::GetInstance("Ascend910B1") == platform, true);
  EXPECT(platform_ascendc::PlatformAscendCManager::GetInstance("Ascend310P") == nullptr, true);
  GOOD(aclFinalize());
}
