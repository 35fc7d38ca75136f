// LocalTensor and GlobalTensor: typed views of the unified buffer and of global memory, with scalar access.
#pragma once
#include "core.h"
#include "memory.h"

namespace twin {
// Scalar access to global memory (gm.h): false when a law forbids it or memory is not there.
bool GlobalScalar(const char *api, Site site, int arg, const uint8_t *base, int64_t limit, int64_t byte, int64_t size, bool write);
// The argument that holds this address, or -1.
int FindArg(const void *address);
void ReadGlobal(int arg, int64_t byte, void *to, int64_t size);
}  // namespace twin

namespace AscendC {

enum class TPosition : uint8_t {
  GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC, LCM, SPM, SHM, TSCM, C2PIPE2GM, C2PIPE2LOCAL, MAX
};
using QuePosition = TPosition;

template <typename T>
class LocalTensor {
 public:
  using PrimType = T;
  LocalTensor() = default;
  LocalTensor(int64_t begin, int64_t lowest, int64_t end, int bufferIndex, TPosition where)
      : start(begin), low(lowest), limit(end), length(end - begin), buffer(bufferIndex), position(where) {}

  // Element `offset` and what follows; may leave the tensor, which the call that uses it reports.
  LocalTensor operator[](int64_t offset) const {
    LocalTensor view = *this;
    view.start += offset * static_cast<int64_t>(sizeof(T));
    return view;
  }
  template <typename U>
  LocalTensor<U> ReinterpretCast() const {
    LocalTensor<U> view(start, low, limit, buffer, position);
    view.length = length;
    return view;
  }
  T GetValue(int64_t index, twin::Site site = twin::Site::Here()) const {
    twin::Instr in("GetValue", twin::Pipe::S, site);
    const T *data = in.Read((*this)[index], "the tensor", 1, sizeof(T));
    return data != nullptr && in.Ok() ? *data : T{};
  }
  template <typename U>
  void SetValue(int64_t index, U value, twin::Site site = twin::Site::Here()) const {
    twin::Instr in("SetValue", twin::Pipe::S, site);
    T *data = in.Write((*this)[index], "the tensor", 1, sizeof(T));
    if (data != nullptr && in.Ok()) *data = static_cast<T>(value);
  }
  T operator()(int64_t index) const { return GetValue(index); }
  uint32_t GetSize() const { return static_cast<uint32_t>(length / static_cast<int64_t>(sizeof(T))); }
  uint32_t GetLength() const { return static_cast<uint32_t>(length); }
  void SetSize(int64_t size) { length = size * static_cast<int64_t>(sizeof(T)); }
  TPosition GetPosition() const { return position; }
  uint64_t GetPhyAddr(int64_t offset = 0) const { return static_cast<uint64_t>(start + offset * static_cast<int64_t>(sizeof(T))); }
  void SetUserTag(int64_t value) { tag = value; }
  int64_t GetUserTag() const { return tag; }
  bool Allocated() const { return buffer != kNone; }

  static constexpr int kNone = -2;
  int64_t start = 0;   // bytes from the start of UB
  int64_t low = 0;     // the buffer it views: bytes low..limit
  int64_t limit = 0;
  int64_t length = 0;  // bytes
  int buffer = kNone;  // index in Core::buffers, -1: none in particular
  TPosition position = TPosition::VECCALC;
  int64_t tag = 0;
};

enum class CacheMode { CACHE_MODE_DISABLE = 0, CACHE_MODE_NORMAL = 1, CACHE_MODE_LAST = 2, CACHE_MODE_PERSISTENT = 4 };
enum class CacheRwMode { READ = 1, WRITE = 2, RW = 3 };

template <typename T>
class GlobalTensor {
 public:
  using PrimType = T;
  // `size` in elements; without it the tensor reaches to the end of the kernel argument.
  void SetGlobalBuffer(T *buffer, int64_t size) {
    SetGlobalBuffer(buffer);
    limit = size * static_cast<int64_t>(sizeof(T));
    sized = true;
  }
  void SetGlobalBuffer(T *buffer) {
    address = reinterpret_cast<uint8_t *>(buffer);
    arg = twin::FindArg(address);
    start = 0;
    limit = 0;
    sized = false;
  }
  GlobalTensor operator[](int64_t offset) const {
    GlobalTensor view = *this;
    view.start += offset * static_cast<int64_t>(sizeof(T));
    return view;
  }
  T GetValue(int64_t index, twin::Site site = twin::Site::Here()) const {
    const int64_t byte = start + index * static_cast<int64_t>(sizeof(T));
    T value{};
    if (twin::GlobalScalar("GetValue", site, arg, address, Limit(), byte, sizeof(T), false)) std::memcpy(&value, address + byte, sizeof(T));
    return value;
  }
  template <typename U>
  void SetValue(int64_t index, U number, twin::Site site = twin::Site::Here()) {
    const int64_t byte = start + index * static_cast<int64_t>(sizeof(T));
    const T value = static_cast<T>(number);
    if (twin::GlobalScalar("SetValue", site, arg, address, Limit(), byte, sizeof(T), true)) std::memcpy(address + byte, &value, sizeof(T));
  }
  T operator()(int64_t index) const { return GetValue(index); }
  uint64_t GetSize() const { return static_cast<uint64_t>(limit / static_cast<int64_t>(sizeof(T))); }
  T *GetPhyAddr(int64_t offset = 0) const { return reinterpret_cast<T *>(address + start) + offset; }
  template <CacheRwMode mode = CacheRwMode::RW>
  void SetL2CacheHint(CacheMode) {}
  template <typename U>
  GlobalTensor<U> ReinterpretCast() const {
    GlobalTensor<U> view;
    view.address = address;
    view.start = start;
    view.limit = limit;
    view.arg = arg;
    view.sized = sized;
    return view;
  }
  // Bytes from `address` that belong to the tensor; -1: up to the end of the argument.
  int64_t Limit() const { return sized ? limit : -1; }

  uint8_t *address = nullptr;
  int64_t start = 0;  // bytes from address
  int64_t limit = 0;
  int arg = -1;
  bool sized = false;
};

}  // namespace AscendC
