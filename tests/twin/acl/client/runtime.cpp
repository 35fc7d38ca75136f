// Devices, contexts, memory, streams, events: values, codes and messages.
#include "check.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

TEST(nothing_works_before_init) {
  aclrtStream stream = nullptr;
  void *address = nullptr;
  EXPECT(aclrtSetDevice(0), ACL_ERROR_UNINITIALIZE);
  SAYS("aclInit has not been called");
  EXPECT(aclrtCreateStream(&stream), ACL_ERROR_UNINITIALIZE);
  EXPECT(aclrtMalloc(&address, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_UNINITIALIZE);
  EXPECT(aclFinalize(), ACL_ERROR_UNINITIALIZE);
}

TEST(init_and_finalize_happen_once) {
  GOOD(aclInit(nullptr));
  EXPECT(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  GOOD(aclnnInit(nullptr));
  GOOD(aclFinalize());
  EXPECT(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
  EXPECT(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_REPEAT_FINALIZE);
  EXPECT(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), 0);
}

TEST(a_thread_needs_a_device) {
  Device device;
  std::thread([] {
    aclrtStream stream = nullptr;
    EXPECT(aclrtCreateStream(&stream), ACL_ERROR_RT_CONTEXT_NULL);
    SAYS("this thread has no device");
    EXPECT(aclrtSynchronizeDevice(), ACL_ERROR_RT_CONTEXT_NULL);
    GOOD(aclrtSetDevice(0));
    GOOD(aclrtCreateStream(&stream));
    GOOD(aclrtDestroyStream(stream));
    GOOD(aclrtResetDevice(0));
  }).join();
}

TEST(devices_are_numbered) {
  GOOD(aclInit(nullptr));
  uint32_t count = 0;
  GOOD(aclrtGetDeviceCount(&count));
  EXPECT(count, 1u);
  EXPECT(aclrtSetDevice(1), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT(aclrtResetDevice(0), ACL_ERROR_RT_CONTEXT_NULL);
  int32_t id = -1;
  EXPECT(aclrtGetDevice(&id), ACL_ERROR_RT_CONTEXT_NULL);
  GOOD(aclrtSetDevice(0));
  GOOD(aclrtGetDevice(&id));
  EXPECT(id, 0);
  aclrtRunMode mode = ACL_DEVICE;
  GOOD(aclrtGetRunMode(&mode));
  EXPECT(static_cast<int>(mode), 1);
  int64_t cores = 0;
  GOOD(aclGetDeviceCapability(0, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &cores));
  EXPECT(cores, 48);
  GOOD(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, &cores));
  EXPECT(cores, 24);
  EXPECT(aclGetDeviceCapability(7, ACL_DEVICE_INFO_AI_CORE_NUM, &cores), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT(std::string(aclrtGetSocName()) == "Ascend910B1", true);
  GOOD(aclrtResetDevice(0));
  GOOD(aclFinalize());
}

TEST(contexts_are_chosen_by_thread) {
  Device device;
  aclrtContext first = nullptr, second = nullptr, now = nullptr;
  GOOD(aclrtGetCurrentContext(&first));
  GOOD(aclrtCreateContext(&second, 0));
  GOOD(aclrtGetCurrentContext(&now));
  EXPECT(now == second, true);
  GOOD(aclrtSetCurrentContext(first));
  std::thread([&] {
    GOOD(aclrtSetCurrentContext(second));
    GOOD(aclrtSynchronizeDevice());
  }).join();
  GOOD(aclrtDestroyContext(second));
  EXPECT(aclrtDestroyContext(second), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT(aclrtSetCurrentContext(second), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST(fresh_memory_is_not_zero) {
  Device device;
  const std::vector<uint8_t> fresh = device.Get(static_cast<const uint8_t *>(device.Room(1000)), 1000);
  for (const uint8_t byte : fresh)
    if (!EXPECT(byte != 0, true)) return;
}

// The most memory this program has held, in KiB; what its parent held before it started does not count.
static long MostMemoryInKib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      status >> word;
      return std::strtol(word.c_str(), nullptr, 10);
    }
  return 0;
}

TEST(large_memory_takes_room_where_it_is_used) {
  Device device;
  const size_t bytes = (size_t{3} << 30) + 5;
  uint8_t *buffer = static_cast<uint8_t *>(device.Room(bytes));
  const uint8_t written = 9;
  GOOD(aclrtMemcpy(buffer + bytes - 2, 1, &written, 1, ACL_MEMCPY_HOST_TO_DEVICE));
  const std::vector<uint8_t> last = device.Get(buffer + bytes - 3, 3);
  EXPECT(last[0] != 0 && last[2] != 0, true);
  EXPECT(last[1], 9);
  EXPECT(device.Get(buffer + (bytes / 2), 1)[0] != 0, true);
  EXPECT(device.Get(buffer + bytes - 2 - (size_t{16} << 20), 1)[0], last[0]);  // one chunk is not another
  EXPECT(MostMemoryInKib() < 1024 * 1024, true);
}

TEST(copies_carry_bytes_in_every_direction) {
  Device device;
  const std::vector<int32_t> values = {1, -2, 3};
  int32_t *a = device.Put(values), *b = device.Put(std::vector<int32_t>{0, 0, 0});
  GOOD(aclrtMemcpy(b, 12, a, 12, ACL_MEMCPY_DEVICE_TO_DEVICE));
  EQUAL(device.Get(b, 3), values);
  std::vector<int32_t> host(3);
  GOOD(aclrtMemcpy(host.data(), 12, values.data(), 12, ACL_MEMCPY_HOST_TO_HOST));
  EQUAL(host, values);
  GOOD(aclrtMemcpy(host.data(), 12, b + 1, 8, ACL_MEMCPY_DEFAULT));
  EQUAL(host, {-2, 3, 3});
  GOOD(aclrtMemset(b, 12, 0x01, 4));
  EQUAL(device.Get(b, 3), {0x01010101, -2, 3});
  const std::vector<int32_t> rows = {1, 2, 3, 4, 5, 6};
  int32_t *grid = device.Put(std::vector<int32_t>(4, 0));
  GOOD(aclrtMemcpy2d(grid, 8, rows.data(), 12, 8, 2, ACL_MEMCPY_HOST_TO_DEVICE));
  EQUAL(device.Get(grid, 4), {1, 2, 4, 5});
}

TEST(copies_stay_inside_both_buffers) {
  Device device;
  uint8_t *buffer = device.Put(std::vector<uint8_t>(10, 1));
  std::vector<uint8_t> host(64);
  EXPECT(aclrtMemcpy(buffer, 11, host.data(), 11, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  SAYS("has 10 bytes");
  EXPECT(aclrtMemcpy(buffer, 11, host.data(), 10, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT(aclrtMemcpy(buffer, 4, host.data(), 5, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  SAYS("count 5 is more than destMax 4");
  EXPECT(aclrtMemcpy(host.data(), 64, buffer + 4, 7, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_RT_PARAM_INVALID);
  SAYS("6 from there on");
  EXPECT(aclrtMemcpy(host.data(), 64, buffer, 4, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_RT_PARAM_INVALID);
  SAYS("which the host cannot access");
  EXPECT(aclrtMemcpy(host.data(), 64, host.data() + 32, 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_RT_PARAM_INVALID);
  SAYS("not an address of device memory");
  EXPECT(aclrtMemcpyAsync(buffer, 11, host.data(), 11, ACL_MEMCPY_HOST_TO_DEVICE, device.stream), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT(aclrtMemcpy(nullptr, 4, buffer, 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_INVALID_PARAM);
  EXPECT(aclrtMemset(buffer, 11, 0, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT(aclrtMemsetAsync(buffer, 10, 0, 11, device.stream), ACL_ERROR_RT_PARAM_INVALID);
  void *pinned = nullptr;
  GOOD(aclrtMallocHost(&pinned, 8));
  EXPECT(aclrtMemcpy(pinned, 9, buffer, 9, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_RT_PARAM_INVALID);
  SAYS("host buffer");
  GOOD(aclrtMemcpy(pinned, 8, buffer, 8, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT(static_cast<uint8_t *>(pinned)[7], 1);
  GOOD(aclrtFreeHost(pinned));
  EXPECT(aclrtFreeHost(pinned), ACL_ERROR_RT_PARAM_INVALID);
}

TEST(memory_is_freed_once) {
  Device device;
  void *buffer = nullptr;
  GOOD(aclrtMalloc(&buffer, 100, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT(aclrtFree(static_cast<uint8_t *>(buffer) + 32), ACL_ERROR_RT_PARAM_INVALID);
  SAYS("inside device buffer #1");
  GOOD(aclrtFree(buffer));
  EXPECT(aclrtFree(buffer), ACL_ERROR_RT_PARAM_INVALID);
  SAYS("device buffer #1 of 100 bytes was freed");
  uint8_t byte = 0;
  EXPECT(aclrtMemcpy(&byte, 1, buffer, 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_RT_PARAM_INVALID);
  SAYS("was freed");
  EXPECT(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
}

TEST(memory_has_limits) {
  Device device;
  size_t free = 0, total = 0, after = 0;
  GOOD(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  EXPECT(total, size_t{64} << 30);
  EXPECT(free, total);
  device.Room(1 << 20);
  GOOD(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
  EXPECT(free - after, size_t{1} << 20);
  void *buffer = nullptr;
  EXPECT(aclrtMalloc(&buffer, total, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_DEVICE_OOM);
  EXPECT(aclrtMalloc(&buffer, std::numeric_limits<size_t>::max(), ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_DEVICE_OOM);
  EXPECT(aclrtMalloc(&buffer, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
  EXPECT(aclrtMalloc(nullptr, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
}

struct Gate {
  aclrtEvent event = nullptr;
  static void Sleep(void *) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }
};

TEST(a_stream_runs_in_order) {
  Device device;
  int32_t *buffer = device.Put(std::vector<int32_t>{0});
  static const int32_t values[] = {5, 6};
  int32_t seen[2] = {};
  GOOD(aclrtLaunchCallback(Gate::Sleep, nullptr, ACL_CALLBACK_BLOCK, device.stream));
  for (int i = 0; i < 2; ++i) {
    GOOD(aclrtMemcpyAsync(buffer, 4, &values[i], 4, ACL_MEMCPY_HOST_TO_DEVICE, device.stream));
    GOOD(aclrtMemcpyAsync(&seen[i], 4, buffer, 4, ACL_MEMCPY_DEVICE_TO_HOST, device.stream));
  }
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  GOOD(aclrtSynchronizeStream(device.stream));
  GOOD(aclrtStreamQuery(device.stream, &status));
  EXPECT(static_cast<int>(status), 0);
  EXPECT(seen[0], 5);
  EXPECT(seen[1], 6);
}

static void Block(void *flag) {
  while (!static_cast<std::atomic<bool> *>(flag)->load()) std::this_thread::yield();
}

TEST(waiting_can_time_out) {
  Device device;
  std::atomic<bool> open{false};
  GOOD(aclrtLaunchCallback(Block, &open, ACL_CALLBACK_BLOCK, device.stream));
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  GOOD(aclrtStreamQuery(device.stream, &status));
  EXPECT(static_cast<int>(status), 1);
  EXPECT(aclrtSynchronizeStreamWithTimeout(device.stream, 1), ACL_ERROR_RT_WAIT_TIMEOUT);
  EXPECT(aclrtSynchronizeDeviceWithTimeout(1), ACL_ERROR_RT_WAIT_TIMEOUT);
  EXPECT(aclrtSynchronizeStreamWithTimeout(device.stream, -2), ACL_ERROR_RT_PARAM_INVALID);
  open = true;
  GOOD(aclrtSynchronizeStream(device.stream));
}

TEST(events_order_streams) {
  Device device;
  aclrtStream other = nullptr;
  aclrtEvent event = nullptr;
  GOOD(aclrtCreateStreamWithConfig(&other, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
  GOOD(aclrtCreateEvent(&event));
  std::atomic<bool> open{false};
  int32_t *buffer = device.Put(std::vector<int32_t>{1});
  static const int32_t value = 9;
  int32_t seen = 0;
  GOOD(aclrtLaunchCallback(Block, &open, ACL_CALLBACK_BLOCK, device.stream));
  GOOD(aclrtMemcpyAsync(buffer, 4, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE, device.stream));
  GOOD(aclrtRecordEvent(event, device.stream));
  GOOD(aclrtStreamWaitEvent(other, event));
  GOOD(aclrtMemcpyAsync(&seen, 4, buffer, 4, ACL_MEMCPY_DEVICE_TO_HOST, other));
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  GOOD(aclrtQueryEventStatus(event, &status));
  EXPECT(static_cast<int>(status), 0);
  EXPECT(aclrtSynchronizeEventWithTimeout(event, 1), ACL_ERROR_RT_WAIT_TIMEOUT);
  open = true;
  GOOD(aclrtSynchronizeStream(other));
  EXPECT(seen, 9);
  GOOD(aclrtQueryEventStatus(event, &status));
  EXPECT(static_cast<int>(status), 1);
  GOOD(aclrtDestroyEvent(event));
  GOOD(aclrtDestroyStream(other));
}

TEST(events_have_times) {
  Device device;
  aclrtEvent start = nullptr, end = nullptr;
  GOOD(aclrtCreateEventWithFlag(&start, ACL_EVENT_TIME_LINE));
  GOOD(aclrtCreateEventExWithFlag(&end, ACL_EVENT_TIME_LINE));
  float ms = -1;
  EXPECT(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  GOOD(aclrtRecordEvent(start, device.stream));
  GOOD(aclrtLaunchCallback(Gate::Sleep, nullptr, ACL_CALLBACK_BLOCK, device.stream));
  GOOD(aclrtRecordEvent(end, device.stream));
  GOOD(aclrtSynchronizeEvent(end));
  GOOD(aclrtEventElapsedTime(&ms, start, end));
  EXPECT(ms >= 50, true);
  GOOD(aclrtDestroyEvent(start));
  GOOD(aclrtDestroyEvent(end));
  EXPECT(aclrtRecordEvent(end, device.stream), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST(handles_are_checked) {
  Device device;
  int local = 0;
  EXPECT(aclrtSynchronizeStream(&local), ACL_ERROR_RT_INVALID_HANDLE);
  SAYS("is not a stream");
  EXPECT(aclrtDestroyStream(&local), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT(aclrtDestroyStream(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT(aclrtSynchronizeEvent(&local), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT(aclrtLaunchCallback(nullptr, nullptr, ACL_CALLBACK_BLOCK, device.stream), ACL_ERROR_INVALID_PARAM);
  GOOD(aclrtSynchronizeStream(nullptr));  // the default stream
}

TEST(memory_in_use_must_not_be_freed) {
  Device device;
  void *buffer = nullptr;
  GOOD(aclrtMalloc(&buffer, 16, ACL_MEM_MALLOC_HUGE_FIRST));
  GOOD(aclrtMemsetAsync(buffer, 16, 1, 16, device.stream));
  GOOD(aclrtFree(buffer));
  EXPECT(aclrtSynchronizeStream(device.stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  SAYS("was freed before anybody waited for the work that writes it");
}

TEST(a_wait_through_an_event_counts) {
  Device device;
  aclrtStream other = nullptr;
  aclrtEvent event = nullptr;
  void *buffer = nullptr;
  GOOD(aclrtCreateStream(&other));
  GOOD(aclrtCreateEvent(&event));
  GOOD(aclrtMalloc(&buffer, 16, ACL_MEM_MALLOC_HUGE_FIRST));
  GOOD(aclrtMemsetAsync(buffer, 16, 1, 16, device.stream));
  GOOD(aclrtRecordEvent(event, device.stream));
  GOOD(aclrtStreamWaitEvent(other, event));
  GOOD(aclrtSynchronizeStream(other));
  GOOD(aclrtFree(buffer));
  GOOD(aclrtSynchronizeStream(device.stream));
  GOOD(aclrtDestroyEvent(event));
  GOOD(aclrtDestroyStream(other));
}

TEST(leaks_are_told) {
  GOOD(aclInit(nullptr));
  GOOD(aclrtSetDevice(0));
  void *buffer = nullptr, *host = nullptr;
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  GOOD(aclrtMalloc(&buffer, 48, ACL_MEM_MALLOC_HUGE_FIRST));
  GOOD(aclrtMallocHost(&host, 8));
  GOOD(aclrtCreateStream(&stream));
  GOOD(aclrtCreateEvent(&event));
  const int64_t dims[] = {2};
  aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, buffer);
  aclCreateIntArray(dims, 1);
  const aclError code = aclFinalize();
  const char *strict = std::getenv("OPWRIGHT_LEAKS");
  EXPECT(code, strict == nullptr ? 0 : ACL_ERROR_FAILURE);
  if (strict != nullptr) SAYS("1 device buffer #1 (48 bytes); 1 host buffer #2 (8 bytes); 1 stream; 1 event; 1 aclTensor; 1 aclIntArray");
  GOOD(aclInit(nullptr));
  GOOD(aclFinalize());
}

TEST(halves_convert) {
  EXPECT(aclFloatToFloat16(1.0f), 0x3C00);
  EXPECT(aclFloatToFloat16(65519.0f), 0x7BFF);
  EXPECT(aclFloatToFloat16(65520.0f), 0x7C00);
  EXPECT(aclFloatToFloat16(-0.0f), 0x8000);
  EXPECT(aclFloatToFloat16(0x1p-24f), 1);
  EXPECT(aclFloatToFloat16(0x1p-25f), 0);
  EXPECT(aclFloat16ToFloat(0x3555), 0.333251953125f);
  EXPECT(aclDataTypeSize(ACL_BF16), 2u);
  EXPECT(aclDataTypeSize(ACL_COMPLEX128), 16u);
  EXPECT(aclDataTypeSize(ACL_INT4), 0u);
  int32_t major = 0, minor = 0, patch = 0;
  GOOD(aclrtGetVersion(&major, &minor, &patch));
  EXPECT(major, 1);
}
