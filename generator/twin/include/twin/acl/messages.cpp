// Messages of a thread's latest failing call, and conversions of 16-bit floats.
#include <cstdio>
#include <cstring>

#include "../half.h"
#include "runtime.h"

namespace twin {
namespace acl {
namespace {

struct Messages {
  std::string text;
  std::string shown;  // what the last pointer handed out points to
};
thread_local Messages messages;
thread_local aclError lastError = 0;

}  // namespace

std::string Format(const char *format, std::va_list args) {
  std::va_list again;
  va_copy(again, args);
  const int length = std::vsnprintf(nullptr, 0, format, args);
  std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
  if (length > 0) std::vsnprintf(&text[0], text.size() + 1, format, again);
  va_end(again);
  return text;
}

aclError Fail(aclError code, const char *format, ...) {
  std::va_list args;
  va_start(args, format);
  const std::string text = Format(format, args);
  va_end(args);
  messages.text = (code >= 500000 ? "EZ9999: " : "EE1001: ") + text;
  lastError = code;
  return code;
}

void AddMessage(const std::string &text) {
  if (!messages.text.empty()) messages.text += '\n';
  messages.text += text;
}

void ClearMessages() { messages.text.clear(); }

}  // namespace acl
}  // namespace twin

extern "C" {

TWIN_ACL_EXPORT const char *aclGetRecentErrMsg(void) {
  twin::acl::Messages &mine = twin::acl::messages;
  if (mine.text.empty()) return nullptr;
  mine.shown = mine.text;
  return mine.shown.c_str();
}

TWIN_ACL_EXPORT aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  return level == ACL_RT_THREAD_LEVEL ? twin::acl::lastError : ACL_ERROR_RT_PARAM_INVALID;
}

TWIN_ACL_EXPORT aclError aclrtGetLastError(aclrtLastErrLevel level) {
  const aclError last = aclrtPeekAtLastError(level);
  if (level == ACL_RT_THREAD_LEVEL) twin::acl::lastError = 0;
  return last;
}

TWIN_ACL_EXPORT float aclFloat16ToFloat(aclFloat16 value) { return twin::HalfBitsToFloat(value); }
TWIN_ACL_EXPORT aclFloat16 aclFloatToFloat16(float value) { return twin::FloatToHalfBits(value); }

TWIN_ACL_EXPORT size_t aclDataTypeSize(aclDataType dataType) {
  switch (dataType) {
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL: return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16: return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32: return 4;
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
    case ACL_COMPLEX64: return 8;
    case ACL_COMPLEX128: return 16;
    default: return 0;
  }
}

}  // extern "C"
