// The two phases: results, codes of every failure, lifetimes of executors, workspace and tensors.
#include "check.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "aclnn_probe.h"
#include "aclnnop/aclnn_add_one.h"

// A call of Probe: y = x * scale + w (+ bias), with scale = 3 - 1 + 0.25 + 0.5 + 2 = 4.75 from axes, weights and text.
struct Probe {
  Device device;
  std::vector<float> x = {1, 2, 3, 4, 5, 6}, w = {10, 20, 30, 40, 50, 60};
  std::vector<int64_t> shape = {2, 3};
  float *xData = device.Put(x), *wData = device.Put(w), *yData = device.Put(std::vector<float>(6, 0)),
        *extraData = device.Put(std::vector<float>(2, 1));
  aclTensor *xTensor = Dense(shape, xData), *wTensor = Dense(shape, wData), *yTensor = Dense(shape, yData), *biasTensor = nullptr,
            *extraTensor = nullptr;
  int64_t numbers[2] = {3, -1};
  aclIntArray *axes = aclCreateIntArray(numbers, 2);
  char text[3] = "ab";
  uint64_t size = 0;
  aclOpExecutor *executor = nullptr;

  Probe() = default;
  Probe(const Probe &) = delete;
  Probe &operator=(const Probe &) = delete;
  ~Probe() {
    for (aclTensor *tensor : {xTensor, wTensor, yTensor, biasTensor, extraTensor}) aclDestroyTensor(tensor);
    aclDestroyIntArray(axes);
  }
  aclnnStatus Plan(int64_t mode) {
    return aclnnProbeGetWorkspaceSize(xTensor, biasTensor, wTensor, mode, axes, text, yTensor, extraTensor, &size, &executor);
  }
  aclnnStatus Launch() { return aclnnProbe(device.Room(size), size, executor, device.stream); }
  aclError Run(int64_t mode) {
    if (!GOOD(Plan(mode)) || !GOOD(Launch())) return -1;
    return aclrtSynchronizeStream(device.stream);
  }
  std::vector<float> Expected(float bias = 0) const {
    std::vector<float> values;
    for (size_t i = 0; i < x.size(); ++i) values.push_back(x[i] * 4.75f + w[i] + bias);
    return values;
  }
};

TEST(a_call_computes) {
  Probe p;
  GOOD(p.Run(0));
  EQUAL(p.device.Get(p.yData, 6), p.Expected());
}

TEST(an_optional_input_counts_by_position) {
  Probe p;
  p.biasTensor = Dense(p.shape, p.device.Put(std::vector<float>(6, 100)));
  GOOD(p.Run(0));
  EQUAL(p.device.Get(p.yData, 6), p.Expected(100));
}

TEST(parts_of_a_launch_come_in_any_order) {
  Probe p;
  GOOD(p.Run(8));  // with weights 1.5 and the flag: scale 3 - 1 + 1.5 + 2 + 0.5 = 6
  std::vector<float> expected;
  for (size_t i = 0; i < 6; ++i) expected.push_back(p.x[i] * 6 + p.w[i]);
  EQUAL(p.device.Get(p.yData, 6), expected);
}

TEST(workspace_counts_the_systems_part_and_intermediates) {
  Probe p;
  GOOD(p.Plan(0));
  EXPECT(p.size, (uint64_t{16} << 20) + 512);  // 24 bytes of result, in 512
  const uint64_t without = p.size;
  GOOD(aclDestroyAclOpExecutor(p.executor));
  GOOD(p.Plan(7));
  EXPECT(p.size, without + 1024);
  GOOD(aclDestroyAclOpExecutor(p.executor));
}

TEST(an_initial_value_is_written_where_atomics_are_needed) {
  Probe p;
  p.extraTensor = Dense({2}, p.extraData);
  GOOD(p.Run(0));
  EQUAL(p.device.Get(p.extraData, 2), {1, 1});
  GOOD(p.Run(6));
  EQUAL(p.device.Get(p.extraData, 2), {7, 7});
}

TEST(parameter_errors_come_from_the_first_phase) {
  Probe p;
  EXPECT(aclnnProbeGetWorkspaceSize(nullptr, nullptr, p.wTensor, 0, p.axes, p.text, p.yTensor, nullptr, &p.size, &p.executor), 161001);
  SAYS("EZ1001: expected x not to be null");
  EXPECT(aclnnProbeGetWorkspaceSize(p.xTensor, nullptr, p.wTensor, 0, p.axes, p.text, p.yTensor, nullptr, nullptr, &p.executor), 161001);
  SAYS("workspaceSize is null");
  EXPECT(aclnnProbeGetWorkspaceSize(p.xTensor, nullptr, p.wTensor, 0, p.axes, p.text, p.yTensor, nullptr, &p.size, nullptr), 161001);
  SAYS("executor is null");
  aclTensor *wrong = Dense({2, 3}, p.xData, ACL_INT32), *other = Dense({3, 2}, p.xData);
  EXPECT(aclnnProbeGetWorkspaceSize(wrong, nullptr, p.wTensor, 0, p.axes, p.text, p.yTensor, nullptr, &p.size, &p.executor), 161002);
  SAYS("tensor x has dtype DT_INT32, supported are [DT_FLOAT, DT_FLOAT16]");
  EXPECT(aclnnProbeGetWorkspaceSize(p.xTensor, nullptr, other, 0, p.axes, p.text, p.yTensor, nullptr, &p.size, &p.executor), 161002);
  SAYS("shapes of x [2, 3] and w [3, 2] differ");
  GOOD(p.Plan(0));
  EXPECT(aclGetRecentErrMsg() == nullptr, true);  // a call that succeeds forgets
  GOOD(aclDestroyAclOpExecutor(p.executor));
  aclDestroyTensor(wrong);
  aclDestroyTensor(other);
}

TEST(inner_errors_come_from_the_first_phase) {
  Probe p;
  EXPECT(p.Plan(3), 561103);
  SAYS("Probe: its tiling function refused the call");
  EXPECT(p.Plan(4), 561103);
  SAYS("chose 0 blocks, possible are 1 to ");
  EXPECT(p.Plan(5), 561103);
  SAYS("chose 1000 blocks");
  EXPECT(p.Plan(10), 561103);
  SAYS("attribute weights is of kind 'F' in its definition, 'f' is launched");
  EXPECT(p.Plan(11), 561103);
  SAYS("2 inputs are launched, its definition has 3");
  aclDestroyTensor(p.xTensor);
  p.xTensor = Dense({2, 3}, p.xData, ACL_FLOAT16);
  EXPECT(p.Plan(0), 561103);
  SAYS("no combination of its definition has x DT_FLOAT16, w DT_FLOAT; y DT_FLOAT");
  for (aclTensor **tensor : {&p.xTensor, &p.wTensor, &p.yTensor}) {
    aclDestroyTensor(*tensor);
    *tensor = Dense({1, 2, 3}, p.xData);
  }
  EXPECT(p.Plan(0), 561103);
  SAYS("its shape inference refused the call");
}

TEST(a_view_must_be_made_contiguous) {
  Probe p;
  aclDestroyTensor(p.xTensor);
  p.xTensor = Strided({2, 3}, {1, 2}, 0, 6, p.xData);
  EXPECT(p.Plan(9), 561103);
  SAYS("x is a view");
  GOOD(p.Run(0));
  EQUAL(p.device.Get(p.yData, 6), {1 * 4.75f + 10, 3 * 4.75f + 20, 5 * 4.75f + 30, 2 * 4.75f + 40, 4 * 4.75f + 50, 6 * 4.75f + 60});
}

TEST(views_of_inputs_and_outputs) {
  Probe p;
  float *wide = p.device.Put(std::vector<float>(12, -1));
  aclDestroyTensor(p.xTensor);
  aclDestroyTensor(p.yTensor);
  p.xTensor = Strided({2, 3}, {0, 1}, 3, 6, p.xData);  // the second row, twice
  p.yTensor = Strided({2, 3}, {1, 4}, 1, 12, wide);
  GOOD(p.Run(0));
  std::vector<float> expected(12, -1);
  const float x[] = {4, 5, 6};
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 3; ++j) expected[1 + i + 4 * j] = x[j] * 4.75f + p.w[3 * i + j];
  EQUAL(p.device.Get(wide, 12), expected);
}

TEST(an_offset_alone_needs_no_copy) {
  Probe p;
  const std::vector<float> shifted = {0, 0, 1, 2, 3, 4, 5, 6};
  aclDestroyTensor(p.xTensor);
  p.xTensor = Strided({2, 3}, {3, 1}, 2, 8, p.device.Put(shifted));
  GOOD(p.Plan(0));
  EXPECT(p.size, (uint64_t{16} << 20) + 512);
  GOOD(p.Launch());
  GOOD(aclrtSynchronizeStream(p.device.stream));
  EQUAL(p.device.Get(p.yData, 6), p.Expected());
}

TEST(nothing_to_do_needs_no_workspace) {
  Probe p;
  for (aclTensor **tensor : {&p.xTensor, &p.wTensor, &p.yTensor}) {
    aclDestroyTensor(*tensor);
    *tensor = Dense({0, 3}, nullptr);
  }
  GOOD(p.Plan(0));
  EXPECT(p.size, 0u);
  GOOD(aclnnProbe(nullptr, 0, p.executor, p.device.stream));
  GOOD(aclrtSynchronizeStream(p.device.stream));
}

TEST(a_breach_is_told_when_the_stream_is_waited_for) {
  Probe p;
  float *more = p.device.Put(std::vector<float>{8});
  GOOD(p.Plan(1));
  GOOD(p.Launch());
  GOOD(aclrtMemsetAsync(more, 4, 0, 4, p.device.stream));
  EXPECT(aclrtSynchronizeStream(p.device.stream), 507015);
  SAYS("aclnnProbe: kernel of Probe");
  SAYS("gm-bounds");
  EXPECT(aclrtSynchronizeStream(p.device.stream), 507015);  // it sticks
  EXPECT(aclrtSynchronizeDevice(), 507015);
  float value = 0;
  EXPECT(aclrtMemcpy(&value, 4, more, 4, ACL_MEMCPY_DEVICE_TO_HOST), 507015);
  GOOD(aclrtDestroyStream(p.device.stream));
  GOOD(aclrtCreateStream(&p.device.stream));
  EQUAL(p.device.Get(more, 1), {8});  // what was queued behind it did not run
  GOOD(p.Run(0));
  EQUAL(p.device.Get(p.yData, 6), p.Expected());
}

static std::atomic<int> exceptions{0};

TEST(an_exception_is_told_to_a_callback) {
  Probe p;
  GOOD(aclrtSetExceptionInfoCallback([](aclrtExceptionInfo *info) { exceptions += info != nullptr; }));
  GOOD(p.Run(0));
  EXPECT(exceptions.load(), 0);
  EXPECT(p.Run(1), 507015);
  EXPECT(exceptions.load(), 1);
  GOOD(aclrtSetExceptionInfoCallback(nullptr));
}

TEST(a_kernel_that_does_not_end_times_out) {
  Probe p;
  GOOD(aclrtSetOpExecuteTimeOut(1));
  EXPECT(p.Run(2), 507014);
  SAYS("the kernel did not end within 1 s");
  GOOD(aclrtSetOpExecuteTimeOut(0));
}

TEST(memory_that_does_not_hold_a_tensor_is_found) {
  Probe p;
  aclDestroyTensor(p.xTensor);
  p.xTensor = Dense(p.shape, p.xData + 1);
  EXPECT(p.Run(0), 507015);
  SAYS("x: elements 0 to 5 of its storage are not in one device buffer: device buffer #1 has 24 bytes, 20 from there on");
  GOOD(aclrtDestroyStream(p.device.stream));
  GOOD(aclrtCreateStream(&p.device.stream));
  aclDestroyTensor(p.xTensor);
  p.xTensor = Dense(p.shape, p.x.data());
  EXPECT(p.Run(0), 507015);
  SAYS("not an address of device memory");
}

TEST(workspace_is_checked) {
  Probe p;
  GOOD(p.Plan(0));
  void *room = p.device.Room(p.size - 1);
  EXPECT(aclnnProbe(nullptr, p.size, p.executor, p.device.stream), 161001);
  SAYS("workspace is null");
  EXPECT(aclnnProbe(room, p.size - 1, p.executor, p.device.stream), 161002);
  GOOD(aclnnProbe(room, p.size, p.executor, p.device.stream));
  EXPECT(aclrtSynchronizeStream(p.device.stream), 507015);
  SAYS("the workspace: device buffer");
}

TEST(an_executor_runs_once) {
  Probe p;
  GOOD(p.Run(0));
  EXPECT(p.Launch(), 161002);
  SAYS("an executor runs once");
  GOOD(aclDestroyAclOpExecutor(p.executor));  // as newer examples do
  GOOD(aclDestroyAclOpExecutor(p.executor));
  GOOD(aclDestroyAclOpExecutor(nullptr));
  int local = 0;
  EXPECT(aclDestroyAclOpExecutor(reinterpret_cast<aclOpExecutor *>(&local)), 161002);
  EXPECT(aclnnProbe(nullptr, 0, nullptr, p.device.stream), 161001);
  EXPECT(aclSetAclOpExecutorRepeatable(p.executor), 161002);
}

TEST(a_repeatable_executor_takes_other_addresses) {
  Probe p;
  float *x2 = p.device.Put(std::vector<float>(6, 1)), *y2 = p.device.Put(std::vector<float>(6, 0)),
        *y3 = p.device.Put(std::vector<float>(6, 0));
  GOOD(p.Plan(0));
  EXPECT(aclSetInputTensorAddr(p.executor, 0, p.xTensor, x2), 161002);
  SAYS("not repeatable");
  GOOD(aclSetAclOpExecutorRepeatable(p.executor));
  GOOD(p.Launch());
  GOOD(aclrtSynchronizeStream(p.device.stream));
  GOOD(aclSetInputTensorAddr(p.executor, 0, p.xTensor, x2));
  GOOD(AclSetOutputTensorAddr(p.executor, 0, p.yTensor, y2));
  GOOD(p.Launch());
  GOOD(aclrtSynchronizeStream(p.device.stream));
  GOOD(aclSetTensorAddr(p.executor, 3, p.yTensor, y3));  // x, bias, w, y
  GOOD(p.Launch());
  GOOD(aclrtSynchronizeStream(p.device.stream));
  EXPECT(aclSetInputTensorAddr(p.executor, 1, p.xTensor, x2), 161002);  // bias is absent
  EXPECT(aclSetInputTensorAddr(p.executor, 0, nullptr, x2), 161001);
  GOOD(aclDestroyAclOpExecutor(p.executor));
  EXPECT(p.Launch(), 161002);
  EQUAL(p.device.Get(p.yData, 6), p.Expected());
  std::vector<float> expected;
  for (const float w : p.w) expected.push_back(4.75f + w);
  EQUAL(p.device.Get(y2, 6), expected);
  EQUAL(p.device.Get(y3, 6), expected);
}

TEST(tensors_live_until_the_second_phase_returns) {
  Probe p;
  GOOD(p.Plan(0));
  GOOD(p.Launch());
  GOOD(aclDestroyTensor(p.xTensor));
  GOOD(aclrtSynchronizeStream(p.device.stream));
  EQUAL(p.device.Get(p.yData, 6), p.Expected());
  p.xTensor = Dense(p.shape, p.xData);
  GOOD(p.Plan(0));
  GOOD(aclDestroyTensor(p.xTensor));
  EXPECT(p.Launch(), 361001);
  SAYS("tensor x was destroyed between the two phases");
  GOOD(aclDestroyAclOpExecutor(p.executor));
  p.xTensor = nullptr;
}

TEST(workspace_lives_until_the_stream_is_waited_for) {
  Probe p;
  GOOD(p.Plan(0));
  void *workspace = nullptr;
  GOOD(aclrtMalloc(&workspace, p.size, ACL_MEM_MALLOC_HUGE_FIRST));
  GOOD(aclnnProbe(workspace, p.size, p.executor, p.device.stream));
  GOOD(aclrtFree(workspace));
  EXPECT(aclrtSynchronizeStream(p.device.stream), 507015);
  SAYS("was freed before anybody waited");
}

TEST(a_launch_needs_a_stream_of_its_device) {
  Probe p;
  GOOD(p.Plan(0));
  void *workspace = p.device.Room(p.size);
  int local = 0;
  EXPECT(aclnnProbe(workspace, p.size, p.executor, &local), 361001);
  SAYS("is not a stream");
  GOOD(aclnnProbe(workspace, p.size, p.executor, nullptr));  // the default stream
  GOOD(aclrtSynchronizeStream(nullptr));
  EQUAL(p.device.Get(p.yData, 6), p.Expected());
}

TEST(a_product_without_configuration_has_no_kernel) {
  Probe p;  // run with OPWRIGHT_SOC=Ascend950
  EXPECT(std::string(aclrtGetSocName()) == "Ascend950PR", true);
  EXPECT(p.Plan(0), 561103);
  SAYS("Probe: its definition has no configuration for Ascend950PR");
  aclTensor *out = Dense(p.shape, p.yData);
  EXPECT(aclnnAddOneGetWorkspaceSize(p.xTensor, nullptr, 1.5, out, &p.size, &p.executor), 561103);
  SAYS("no kernel of AddOne was built for Ascend950PR");
  aclDestroyTensor(out);
}

TEST(an_unknown_product_is_refused) {  // run with OPWRIGHT_SOC=Ascend1
  EXPECT(aclInit(nullptr), ACL_ERROR_INVALID_PARAM);
  SAYS("OPWRIGHT_SOC is Ascend1, known products are Ascend910B, ");
}

TEST(a_result_is_read_without_waiting) {
  Probe p;
  GOOD(p.Plan(0));
  GOOD(p.Launch());
  EQUAL(p.device.Get(p.yData, 6), p.Expected());  // right, but told on stderr
}
