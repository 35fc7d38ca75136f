// Tiling data declared field by field with macros (host.md section 5).
#pragma once
#include "../twin/host.h"

namespace optiling {

// Fields laid out in order, each aligned to its own size, structures and the whole to 8, as a C structure would be.
class TilingDef {
 public:
  void SaveToBuffer(void *buffer, size_t capacity) const {
    if (capacity < GetDataSize()) return;
    std::memset(buffer, 0, GetDataSize());
    std::memcpy(buffer, bytes.data(), bytes.size());
  }
  size_t GetDataSize() const { return (bytes.size() + 7) / 8 * 8; }

 protected:
  size_t Place(size_t size, size_t align) {
    bytes.resize((bytes.size() + align - 1) / align * align);
    bytes.resize(bytes.size() + size);
    return bytes.size() - size;
  }
  std::vector<uint8_t> bytes;
};

}  // namespace optiling

#define BEGIN_TILING_DATA_DEF(name) \
  class name : public TilingDef {   \
   public:                          \
    name() {}

#define TILING_DATA_FIELD_DEF(type, field)                                                           \
  void set_##field(type value) { std::memcpy(bytes.data() + field##_at, &value, sizeof(value)); }    \
  type get_##field() const {                                                                         \
    type value;                                                                                      \
    std::memcpy(&value, bytes.data() + field##_at, sizeof(value));                                   \
    return value;                                                                                    \
  }                                                                                                  \
                                                                                                     \
 private:                                                                                            \
  size_t field##_at = Place(sizeof(type), sizeof(type));                                             \
                                                                                                     \
 public:

#define TILING_DATA_FIELD_DEF_ARR(type, number, field)                                                                          \
  void set_##field(const type *value) { std::memcpy(bytes.data() + field##_at, value, sizeof(type) * (number)); }               \
  type *get_##field() { return reinterpret_cast<type *>(bytes.data() + field##_at); }                                           \
                                                                                                                                \
 private:                                                                                                                       \
  size_t field##_at = Place(sizeof(type) * (number), sizeof(type));                                                             \
                                                                                                                                \
 public:

#define END_TILING_DATA_DEF }
#define REGISTER_TILING_DATA_CLASS(op, name) static_assert(sizeof(name) > 0, "tiling data of " #op);
