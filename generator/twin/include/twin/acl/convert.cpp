// Conversion between dtypes: to floats rounded once to nearest even, to integers towards zero and saturating.
#include <cmath>
#include <cstring>
#include <limits>

#include "../half.h"
#include "execution.h"
#include "opdev/data_type_utils.h"

namespace twin {
namespace {

template <typename To, typename From>
To Converted(From value) {
  if constexpr (std::is_same<To, bool>::value)
    return value != From(0);
  else if constexpr (std::is_floating_point<From>::value && std::is_integral<To>::value) {
    if (std::isnan(value)) return 0;
    const From whole = std::trunc(value);
    if (whole >= std::ldexp(From(1), std::numeric_limits<To>::digits)) return std::numeric_limits<To>::max();
    if (whole <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return static_cast<To>(whole);
  } else
    return static_cast<To>(value);
}

// A value of any dtype: floats as double, integers as such.
struct Number {
  bool real;
  double d;
  int64_t i;
  bool isUnsigned;
};

Number Load(const uint8_t *at, op::DataType type) {
  const auto integer = [](int64_t value) { return Number{false, 0, value, false}; };
  const auto real = [](double value) { return Number{true, value, 0, false}; };
  switch (type) {
    case ge::DT_FLOAT: {
      float v;
      std::memcpy(&v, at, 4);
      return real(v);
    }
    case ge::DT_DOUBLE: {
      double v;
      std::memcpy(&v, at, 8);
      return real(v);
    }
    case ge::DT_FLOAT16: {
      uint16_t v;
      std::memcpy(&v, at, 2);
      return real(HalfBitsToFloat(v));
    }
    case ge::DT_BF16: {
      uint16_t v;
      std::memcpy(&v, at, 2);
      return real(Bfloat16BitsToFloat(v));
    }
    case ge::DT_INT8: return integer(static_cast<int8_t>(*at));
    case ge::DT_UINT8: return integer(*at);
    case ge::DT_BOOL: return integer(*at != 0);
    case ge::DT_INT16: {
      int16_t v;
      std::memcpy(&v, at, 2);
      return integer(v);
    }
    case ge::DT_UINT16: {
      uint16_t v;
      std::memcpy(&v, at, 2);
      return integer(v);
    }
    case ge::DT_INT32: {
      int32_t v;
      std::memcpy(&v, at, 4);
      return integer(v);
    }
    case ge::DT_UINT32: {
      uint32_t v;
      std::memcpy(&v, at, 4);
      return integer(v);
    }
    case ge::DT_UINT64: {
      int64_t v;
      std::memcpy(&v, at, 8);
      return Number{false, 0, v, true};
    }
    default: {
      int64_t v;
      std::memcpy(&v, at, 8);
      return integer(v);
    }
  }
}

template <typename To>
void Put(uint8_t *at, const Number &value) {
  const To out =
      value.real ? Converted<To>(value.d) : (value.isUnsigned ? Converted<To>(static_cast<uint64_t>(value.i)) : Converted<To>(value.i));
  std::memcpy(at, &out, sizeof out);
}

// A float of fewer bits, rounded once: to odd in float first where the value comes from double or a wide integer.
float ToFloatOdd(const Number &value) {
  const double d =
      value.real ? value.d : (value.isUnsigned ? static_cast<double>(static_cast<uint64_t>(value.i)) : static_cast<double>(value.i));
  const float near = static_cast<float>(d);
  if (static_cast<double>(near) == d || std::isnan(d) || std::isinf(near)) return near;
  uint32_t bits = BitsOf(near);
  if ((bits & 1u) != 0) return near;
  return FloatOf(std::fabs(static_cast<double>(near)) < std::fabs(d) ? bits + 1 : bits - 1);
}

void Store(uint8_t *at, op::DataType type, const Number &value) {
  switch (type) {
    case ge::DT_FLOAT: return Put<float>(at, value);
    case ge::DT_DOUBLE: return Put<double>(at, value);
    case ge::DT_FLOAT16: {
      const uint16_t bits = FloatToHalfBits(ToFloatOdd(value));
      std::memcpy(at, &bits, 2);
      return;
    }
    case ge::DT_BF16: {
      const uint16_t bits = FloatToBfloat16Bits(ToFloatOdd(value));
      std::memcpy(at, &bits, 2);
      return;
    }
    case ge::DT_INT8: return Put<int8_t>(at, value);
    case ge::DT_UINT8: return Put<uint8_t>(at, value);
    case ge::DT_BOOL: return Put<bool>(at, value);
    case ge::DT_INT16: return Put<int16_t>(at, value);
    case ge::DT_UINT16: return Put<uint16_t>(at, value);
    case ge::DT_INT32: return Put<int32_t>(at, value);
    case ge::DT_UINT32: return Put<uint32_t>(at, value);
    case ge::DT_UINT64: return Put<uint64_t>(at, value);
    default: return Put<int64_t>(at, value);
  }
}

}  // namespace

bool Convertible(op::DataType type) { return op::IsFloatingType(type) || op::IsIntegralType(type) || type == ge::DT_BOOL; }

int64_t HostInteger(const uint8_t *at, op::DataType type) { return Load(at, type).i; }

aclnnStatus ConvertHost(const void *value, uint64_t size, op::DataType from, uint8_t *to, op::DataType type) {
  if (!Convertible(from) || !Convertible(type)) return ACLNN_ERR_PARAM_INVALID;
  const int64_t step = ge::GetSizeByDataType(from), stride = ge::GetSizeByDataType(type);
  for (uint64_t i = 0; i < size; ++i)
    Store(to + static_cast<int64_t>(i) * stride, type, Load(static_cast<const uint8_t *>(value) + static_cast<int64_t>(i) * step, from));
  return 0;
}

}  // namespace twin

aclTensor *aclOpExecutor::HostTensor(const void *value, uint64_t size, op::DataType dataType, op::DataType from) {
  if (value == nullptr && size > 0) return nullptr;
  aclTensor *tensor = AllocHostTensor(op::Shape{static_cast<int64_t>(size)}, dataType);
  if (tensor == nullptr) return nullptr;
  return twin::ConvertHost(value, size, from, static_cast<uint8_t *>(tensor->GetData()), dataType) == 0 ? tensor : nullptr;
}
