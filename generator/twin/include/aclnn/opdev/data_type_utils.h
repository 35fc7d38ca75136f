// Questions about data types (host.md section 3).
#pragma once
#include <initializer_list>

#include "common_types.h"

namespace op {
TWIN_ACL_API ge::AscendString ToString(DataType type);
TWIN_ACL_API ge::AscendString ToString(const std::initializer_list<DataType> &types);
TWIN_ACL_API bool CheckType(DataType type, const std::initializer_list<DataType> &allowed);
TWIN_ACL_API bool IsFloatingType(DataType type);
TWIN_ACL_API bool IsIntegralType(DataType type);
TWIN_ACL_API bool IsComplexType(DataType type);
// The type two operands are computed in; DT_UNDEFINED when there is none.
TWIN_ACL_API DataType PromoteType(DataType a, DataType b);
TWIN_ACL_API bool CanCast(DataType from, DataType to);
// Bytes of an element; sub-byte types: 1000 + bits.
TWIN_ACL_API size_t TypeSize(DataType type);
TWIN_ACL_API DataType ToOpDataType(aclDataType type);
TWIN_ACL_API aclDataType ToAclDataType(DataType type);
TWIN_ACL_API int64_t CalcShapeBytes(int64_t size, DataType type, bool ceil = false);
}  // namespace op
