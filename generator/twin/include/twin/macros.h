// Keywords and macros of the device compiler, as an ordinary compiler understands them.
#pragma once
#include <cstdint>

#define __aicore__
#define __global__
#define __gm__
#define __ubuf__
#define __cbuf__
#define __inout_pipe__(pipe)
#define __mix__(cube, vector)
#define __vector__
#define __cube__
#define __schedmode__(mode)
// Conditions of "if", without parentheses of their own.
#define ASCEND_IS_AIV (!::twin::OnCube())
#define ASCEND_IS_AIC (::twin::OnCube())
#define GM_ADDR __gm__ uint8_t *

// Kernel types of KERNEL_TASK_TYPE_DEFAULT, under their own names.
#define KERNEL_TASK_TYPE_DEFAULT(type) ::twin::DeclareKernelType<::twin::KernelType::type>()
#define KERNEL_TASK_TYPE(key, type) ::twin::DeclareKernelType<::twin::KernelType::type, static_cast<uint64_t>(key)>()

#define TILING_KEY_IS(key) (::twin::TilingKey() == static_cast<uint64_t>(key))
#define REGISTER_TILING_DEFAULT(type) using TwinTilingDefault [[maybe_unused]] = type
#define REGISTER_TILING_FOR_TILINGKEY(condition, type) static_assert(sizeof(type) > 0, "a tiling structure")
#define GET_TILING_DATA_WITH_STRUCT(type, name, address) \
  type name;                                             \
  ::twin::CopyTiling(&name, sizeof(type), address, ::twin::Site::Here())
#define GET_TILING_DATA(name, address) GET_TILING_DATA_WITH_STRUCT(TwinTilingDefault, name, address)
#define GET_TILING_DATA_MEMBER(type, member, name, address)     \
  decltype(type::member) name;                                  \
  do {                                                          \
    GET_TILING_DATA_WITH_STRUCT(type, twinWhole##name, address); \
    name = twinWhole##name.member;                              \
  } while (false)
#define COPY_TILING_DATA(name, address) ::twin::CopyTiling(&name, sizeof(name), address, ::twin::Site::Here())

#define ASCENDC_ASSERT(condition, action)
#define ASSERT(condition)

namespace twin {
enum class KernelType : int {
  KERNEL_TYPE_AIV_ONLY = 0,
  KERNEL_TYPE_AIC_ONLY = 1,
  KERNEL_TYPE_MIX_AIV_1_0 = 2,
  KERNEL_TYPE_MIX_AIC_1_0 = 3,
  KERNEL_TYPE_MIX_AIC_1_1 = 4,
  KERNEL_TYPE_MIX_AIC_1_2 = 5,
  KERNEL_TYPE_AICORE = 6,
  KERNEL_TYPE_VECTORCORE = 7,
  KERNEL_TYPE_MIX_AICORE = 8,
  KERNEL_TYPE_MIX_VECTOR_CORE = 9
};
}  // namespace twin
