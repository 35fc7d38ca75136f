// A test program of many tests: without arguments it lists them, with names it runs them and exits with the number that failed.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"

struct Tests {
  static std::map<std::string, void (*)()> &All() {
    static std::map<std::string, void (*)()> all;
    return all;
  }
  static int &Failed() {
    static int failed = 0;
    return failed;
  }
};

#define TEST(name)                                                          \
  static void name();                                                       \
  static const bool registered_##name = (Tests::All()[#name] = name, true); \
  static void name()

template <typename A, typename B>
bool Same(const char *file, int line, const char *what, const A &actual, const B &expected) {
  if (actual == expected) return true;
  ++Tests::Failed();
  const char *message = aclGetRecentErrMsg();
  std::printf("%s:%d: %s is %s, expected %s; the latest message is: %s\n", file, line, what, std::to_string(actual).c_str(),
              std::to_string(expected).c_str(), message == nullptr ? "none" : message);
  return false;
}

#define EXPECT(actual, expected) Same(__FILE__, __LINE__, #actual, (actual), (expected))
#define GOOD(call) EXPECT(call, 0)
// The latest message contains this text.
#define SAYS(text)                                                                                                                   \
  do {                                                                                                                               \
    const char *message = aclGetRecentErrMsg();                                                                                      \
    if (message == nullptr || std::strstr(message, text) == nullptr) {                                                               \
      ++Tests::Failed();                                                                                                             \
      std::printf("%s:%d: the message is: %s\n  it should contain: %s\n", __FILE__, __LINE__, message == nullptr ? "none" : message, \
                  text);                                                                                                             \
    }                                                                                                                                \
  } while (false)

// aclInit, a device and a stream; taken down again without a leak.
struct Device {
  Device() {
    GOOD(aclInit(nullptr));
    GOOD(aclrtSetDevice(0));
    GOOD(aclrtCreateStream(&stream));
  }
  ~Device() {
    for (void *buffer : buffers) aclrtFree(buffer);
    aclrtDestroyStream(stream);
    GOOD(aclrtResetDevice(0));
    GOOD(aclFinalize());
  }
  template <typename T>
  T *Put(const std::vector<T> &values) {
    void *address = nullptr;
    const size_t bytes = values.size() * sizeof(T) == 0 ? 1 : values.size() * sizeof(T);
    GOOD(aclrtMalloc(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    buffers.push_back(address);
    if (!values.empty())
      GOOD(aclrtMemcpy(address, values.size() * sizeof(T), values.data(), values.size() * sizeof(T), ACL_MEMCPY_HOST_TO_DEVICE));
    return static_cast<T *>(address);
  }
  template <typename T>
  std::vector<T> Get(const T *address, size_t count) {
    std::vector<T> values(count);
    GOOD(aclrtMemcpy(values.data(), count * sizeof(T), address, count * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST));
    return values;
  }
  void *Room(uint64_t bytes) {
    void *address = nullptr;
    if (bytes > 0) GOOD(aclrtMalloc(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    if (address != nullptr) buffers.push_back(address);
    return address;
  }
  aclrtStream stream = nullptr;
  std::vector<void *> buffers;
};

inline aclTensor *Dense(const std::vector<int64_t> &shape, void *data, aclDataType type = ACL_FLOAT) {
  return aclCreateTensor(shape.data(), shape.size(), type, nullptr, 0, ACL_FORMAT_ND, shape.data(), shape.size(), data);
}
inline aclTensor *Strided(const std::vector<int64_t> &shape, const std::vector<int64_t> &strides, int64_t offset, int64_t storage,
                          void *data, aclDataType type = ACL_FLOAT) {
  return aclCreateTensor(shape.data(), shape.size(), type, strides.data(), offset, ACL_FORMAT_ND, &storage, 1, data);
}

template <typename T>
void Equal(const char *file, int line, const std::vector<T> &actual, const std::vector<T> &expected) {
  bool same = actual.size() == expected.size();
  for (size_t i = 0; same && i < actual.size(); ++i)
    same = actual[i] == expected[i] || (actual[i] != actual[i] && expected[i] != expected[i]);
  if (same) return;
  ++Tests::Failed();
  std::printf("%s:%d: the values are", file, line);
  for (const T &value : actual) std::printf(" %s", std::to_string(value).c_str());
  std::printf("\n  expected");
  for (const T &value : expected) std::printf(" %s", std::to_string(value).c_str());
  std::printf("\n");
}
#define EQUAL(actual, ...) Equal(__FILE__, __LINE__, actual, __VA_ARGS__)

int main(int count, char **names) {
  for (int i = 1; i < count; ++i) {
    const auto found = Tests::All().find(names[i]);
    if (found == Tests::All().end()) return 100;
    found->second();
  }
  if (count == 1)
    for (const auto &test : Tests::All()) std::printf("%s\n", test.first.c_str());
  return Tests::Failed() < 99 ? Tests::Failed() : 99;
}
