// Messages: errors go to aclGetRecentErrMsg, everything to stderr from the level OPWRIGHT_LOG asks for (host.md section 3).
#pragma once
#include "object.h"
#include "op_errno.h"

namespace twin {
enum class LogLevel { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3, kEvent = 4 };
// `report`: whether the message is kept for aclGetRecentErrMsg, with the tag of its code.
TWIN_ACL_API __attribute__((format(printf, 6, 7))) void Log(LogLevel level, bool report, int code, const char *file, int line, const char *format, ...);
}  // namespace twin

#define OP_LOGE(errcode, fmt, args...) ::twin::Log(::twin::LogLevel::kError, true, static_cast<int>(errcode), __FILE__, __LINE__, "" fmt, ##args)
#define OP_LOGE_WITHOUT_REPORT(errcode, fmt, args...) \
  ::twin::Log(::twin::LogLevel::kError, false, static_cast<int>(errcode), __FILE__, __LINE__, "" fmt, ##args)
#define OP_LOGW(fmt, args...) ::twin::Log(::twin::LogLevel::kWarning, false, 0, __FILE__, __LINE__, "" fmt, ##args)
#define OP_LOGI(fmt, args...) ::twin::Log(::twin::LogLevel::kInfo, false, 0, __FILE__, __LINE__, "" fmt, ##args)
#define OP_LOGD(fmt, args...) ::twin::Log(::twin::LogLevel::kDebug, false, 0, __FILE__, __LINE__, "" fmt, ##args)
#define OP_EVENT(fmt, args...) ::twin::Log(::twin::LogLevel::kEvent, false, 0, __FILE__, __LINE__, "" fmt, ##args)

#define CHECK_RET(cond, return_expr)                                     \
  do {                                                                   \
    if (!(cond)) {                                                       \
      OP_LOGE(ACLNN_ERR_INNER, "check %s failed", #cond);                \
      return return_expr;                                                \
    }                                                                    \
  } while (false)
#define CHECK_RET_CODE(statement, fmt, args...)                          \
  do {                                                                   \
    const aclnnStatus twinStatus = (statement);                          \
    if (twinStatus != ACLNN_SUCCESS) {                                   \
      OP_LOGE(twinStatus, fmt, ##args);                                  \
      return twinStatus;                                                 \
    }                                                                    \
  } while (false)
#define CHECK_COND(cond, ret, fmt, args...)                              \
  do {                                                                   \
    if (!(cond)) {                                                       \
      OP_LOGE(ret, fmt, ##args);                                         \
      return ret;                                                        \
    }                                                                    \
  } while (false)
#define OP_CHECK(cond, log_expr, return_expr)                            \
  do {                                                                   \
    if (!(cond)) {                                                       \
      log_expr;                                                          \
      return_expr;                                                       \
    }                                                                    \
  } while (false)
#define OP_CHECK_NO_RETURN(cond, log_expr)                               \
  do {                                                                   \
    if (!(cond)) {                                                       \
      log_expr;                                                          \
    }                                                                    \
  } while (false)
#define OP_CHECK_NOTNULL(pointer)                                        \
  do {                                                                   \
    if ((pointer) == nullptr) {                                          \
      OP_LOGE(ACLNN_ERR_INNER_NULLPTR, "%s is null", #pointer);          \
      return ACLNN_ERR_INNER_NULLPTR;                                    \
    }                                                                    \
  } while (false)
