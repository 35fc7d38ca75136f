// Eight host threads and two streams: different operators at once, every result right.
#include "check.h"

#include <atomic>
#include <thread>

#include "aclnn_add_one.h"
#include "aclnn_probe.h"

static std::vector<float> AddOne(Device &device, aclrtStream stream, const std::vector<float> &x, double addend) {
  const std::vector<int64_t> shape = {static_cast<int64_t>(x.size())};
  void *in = nullptr, *out = nullptr, *workspace = nullptr;
  GOOD(aclrtMalloc(&in, x.size() * 4, ACL_MEM_MALLOC_HUGE_FIRST));
  GOOD(aclrtMalloc(&out, x.size() * 4, ACL_MEM_MALLOC_HUGE_FIRST));
  GOOD(aclrtMemcpyAsync(in, x.size() * 4, x.data(), x.size() * 4, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  aclTensor *source = Dense(shape, in), *target = Dense(shape, out);
  uint64_t size = 0;
  aclOpExecutor *executor = nullptr;
  GOOD(aclnnAddOneGetWorkspaceSize(source, nullptr, addend, target, &size, &executor));
  GOOD(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
  GOOD(aclnnAddOne(workspace, size, executor, stream));
  GOOD(aclrtSynchronizeStream(stream));
  const std::vector<float> result = device.Get(static_cast<float *>(out), x.size());
  for (void *buffer : {in, out, workspace}) GOOD(aclrtFree(buffer));
  GOOD(aclDestroyTensor(source));
  GOOD(aclDestroyTensor(target));
  return result;
}

static std::vector<float> Probe(Device &device, aclrtStream stream, const std::vector<float> &x, const std::vector<float> &w) {
  const std::vector<int64_t> shape = {static_cast<int64_t>(x.size())};
  const int64_t two = 2;
  char text[] = "";
  void *in = nullptr, *more = nullptr, *out = nullptr, *workspace = nullptr;
  for (void **buffer : {&in, &more, &out}) GOOD(aclrtMalloc(buffer, x.size() * 4, ACL_MEM_MALLOC_HUGE_FIRST));
  GOOD(aclrtMemcpyAsync(in, x.size() * 4, x.data(), x.size() * 4, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  GOOD(aclrtMemcpyAsync(more, x.size() * 4, w.data(), x.size() * 4, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  aclTensor *a = Dense(shape, in), *b = Dense(shape, more), *y = Dense(shape, out);
  aclIntArray *axes = aclCreateIntArray(&two, 1);
  uint64_t size = 0;
  aclOpExecutor *executor = nullptr;
  GOOD(aclnnProbeGetWorkspaceSize(a, nullptr, b, 0, axes, text, y, nullptr, &size, &executor));
  GOOD(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
  GOOD(aclnnProbe(workspace, size, executor, stream));
  GOOD(aclrtSynchronizeStream(stream));
  const std::vector<float> result = device.Get(static_cast<float *>(out), x.size());
  for (void *buffer : {in, more, out, workspace}) GOOD(aclrtFree(buffer));
  for (aclTensor *tensor : {a, b, y}) GOOD(aclDestroyTensor(tensor));
  GOOD(aclDestroyIntArray(axes));
  return result;
}

TEST(eight_threads_share_two_streams) {
  Device device;
  aclrtStream streams[2] = {device.stream, nullptr};
  GOOD(aclrtCreateStream(&streams[1]));
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0), refused(8, 0);
  for (int id = 0; id < 8; ++id) {
    threads.emplace_back([&, id] {
      aclrtSetDevice(0);
      for (int round = 0; round < 4; ++round) {
        std::vector<float> x, w;
        for (int i = 0; i < 70; ++i) {
          x.push_back(static_cast<float>(id * 100 + round * 10 + i));
          w.push_back(static_cast<float>(i - id));
        }
        const bool add = (id + round) % 2 == 0;
        const std::vector<float> y = add ? AddOne(device, streams[id % 2], x, id) : Probe(device, streams[id % 2], x, w);
        for (size_t i = 0; i < x.size(); ++i)
          wrong[static_cast<size_t>(id)] += y[i] != (add ? x[i] + static_cast<float>(id) : x[i] * 2.75f + w[i]);
        uint64_t size = 0;
        aclOpExecutor *executor = nullptr;
        refused[static_cast<size_t>(id)] += aclnnAddOneGetWorkspaceSize(nullptr, nullptr, 1, nullptr, &size, &executor) == 161001 &&
                                            std::string(aclGetRecentErrMsg()).find("x is null") != std::string::npos;
      }
      aclrtResetDevice(0);
    });
  }
  for (std::thread &thread : threads) thread.join();
  EQUAL(wrong, std::vector<int>(8, 0));
  EQUAL(refused, std::vector<int>(8, 4));
  GOOD(aclrtDestroyStream(streams[1]));
}

TEST(a_thread_waits_for_what_another_queued) {
  Device device;
  aclrtStream other = nullptr;
  aclrtEvent event = nullptr;
  GOOD(aclrtCreateStream(&other));
  GOOD(aclrtCreateEvent(&event));
  int32_t *buffer = device.Put(std::vector<int32_t>{0});
  std::vector<int32_t> seen(20, 0);
  for (int32_t i = 0; i < 20; ++i) {
    std::thread([&] {
      aclrtSetDevice(0);
      aclrtMemsetAsync(buffer, 4, i + 1, 4, device.stream);
      aclrtRecordEvent(event, device.stream);
      aclrtResetDevice(0);
    }).join();
    GOOD(aclrtStreamWaitEvent(other, event));
    GOOD(aclrtMemcpyAsync(&seen[static_cast<size_t>(i)], 4, buffer, 4, ACL_MEMCPY_DEVICE_TO_HOST, other));
    GOOD(aclrtSynchronizeStream(other));
    if (!EXPECT(seen[static_cast<size_t>(i)], (i + 1) * 0x01010101)) break;
  }
  GOOD(aclrtDestroyEvent(event));
  GOOD(aclrtDestroyStream(other));
}
