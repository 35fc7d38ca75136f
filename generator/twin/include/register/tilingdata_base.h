// Tiling data declared field by field with macros (host.md section 5).
#pragma once
#include "../twin/host.h"

namespace optiling {

// Fields laid out in order, each aligned to its own size, structures and the whole to 8, as a C structure would be.
class TilingDef {
 public:
  virtual ~TilingDef() = default;
  void SaveToBuffer(void *buffer, size_t capacity) const {
    if (capacity < GetDataSize()) return;
    std::memset(buffer, 0, GetDataSize());
    std::memcpy(buffer, Bytes(), bytes.size());
    for (const TwinInner &inner : structures) Of(inner).SaveToBuffer(static_cast<uint8_t *>(buffer) + inner.at, Of(inner).GetDataSize());
  }
  size_t GetDataSize() const { return (bytes.size() + 7) / 8 * 8; }
  // From now on the fields are in this memory, of GetDataSize() bytes.
  void SetDataPtr(void *memory) {
    where = static_cast<uint8_t *>(memory);
    for (const TwinInner &inner : structures) const_cast<TilingDef &>(Of(inner)).SetDataPtr(where + inner.at);
  }
  const char *GetTilingClassName() const { return className; }
  // Name of every field and its bytes, in order.
  const std::vector<std::pair<std::string, size_t>> &GetFieldInfo() const { return fields; }

 protected:
  size_t Place(const char *name, size_t size, size_t align) {
    bytes.resize((bytes.size() + align - 1) / align * align + size);
    fields.emplace_back(name, size);
    return bytes.size() - size;
  }
  // A structure among the fields, a member of this object.
  size_t Place(const char *name, const TilingDef &member) {
    TwinInner inner;
    inner.at = Place(name, member.GetDataSize(), 8);
    inner.member = reinterpret_cast<const char *>(&member) - reinterpret_cast<const char *>(this);
    structures.push_back(inner);
    return inner.at;
  }
  uint8_t *Bytes() { return where == nullptr ? bytes.data() : where; }
  const uint8_t *Bytes() const { return where == nullptr ? bytes.data() : where; }
  const char *className = "";

 private:
  struct TwinInner {
    size_t at;         // bytes from the start of the data
    ptrdiff_t member;  // bytes from the start of the object, which may be copied
  };
  const TilingDef &Of(const TwinInner &inner) const {
    return *reinterpret_cast<const TilingDef *>(reinterpret_cast<const char *>(this) + inner.member);
  }
  std::vector<uint8_t> bytes;
  uint8_t *where = nullptr;
  std::vector<std::pair<std::string, size_t>> fields;
  std::vector<TwinInner> structures;
};

}  // namespace optiling

#define BEGIN_TILING_DATA_DEF(name)  \
  class name : public TilingDef {    \
   public:                           \
    name() { className = #name; }

#define TILING_DATA_FIELD_DEF(type, field)                                                   \
  void set_##field(type value) { std::memcpy(Bytes() + field##_at, &value, sizeof(value)); } \
  type get_##field() const {                                                                 \
    type value;                                                                              \
    std::memcpy(&value, Bytes() + field##_at, sizeof(value));                                \
    return value;                                                                            \
  }                                                                                          \
                                                                                             \
 private:                                                                                    \
  size_t field##_at = Place(#field, sizeof(type), sizeof(type));                             \
                                                                                             \
 public:

#define TILING_DATA_FIELD_DEF_ARR(type, number, field)                                                       \
  void set_##field(const type *value) { std::memcpy(Bytes() + field##_at, value, sizeof(type) * (number)); } \
  type *get_##field() { return reinterpret_cast<type *>(Bytes() + field##_at); }                             \
                                                                                                             \
 private:                                                                                                    \
  size_t field##_at = Place(#field, sizeof(type) * (number), sizeof(type));                                  \
                                                                                                             \
 public:

#define TILING_DATA_FIELD_DEF_STRUCT(type, field) \
  type field;                                     \
                                                  \
 private:                                         \
  size_t field##_at = Place(#field, field);       \
                                                  \
 public:

#define END_TILING_DATA_DEF }
#define REGISTER_TILING_DATA_CLASS(op, name) static_assert(sizeof(name) > 0, "tiling data of " #op);
