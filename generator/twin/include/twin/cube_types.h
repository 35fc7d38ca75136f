// Types of the Matmul interface: formats, layouts, configurations, and what the cube needs to know of an object's types.
#pragma once
#include "../kernel_tiling/kernel_tiling.h"
#include "launch.h"

enum class CubeFormat { ND = 0, NZ, ZN, ZZ, NN, ND_ALIGN, SCALAR, VECTOR, ROW_MAJOR = ND, COLUMN_MAJOR = 8 };
enum class LayoutMode { NONE = 0, BSNGD, SBNGD, BNGS1S2, NORMAL };
enum class BatchMode : uint8_t { NONE = 0, BATCH_LESS_THAN_L1, BATCH_LARGE_THAN_L1, SINGLE_LARGE_THAN_L1 };
enum class IterateOrder : uint8_t { ORDER_M = 0, ORDER_N, UNDEF };
enum class ScheduleType : uint8_t { INNER_PRODUCT = 0, OUTER_PRODUCT };

struct MatmulConfig {
  bool doNorm = false, doBasicBlock = false, doMultiDataLoad = false, doSpecialMDL = false, doIBShareNorm = false;
  uint32_t basicM = 0, basicN = 0, basicK = 0;
  bool intrinsicsCheck = false, enVecND2NZ = false, enableMixDualMaster = false;
  bool enUnitFlag = true, enableInit = true, enableEnd = true, enableGetTensorC = true, enableSetOrgShape = true, enableSetBias = true,
       enableSetTail = true, enableQuantVector = true;
  IterateOrder iterateOrder = IterateOrder::UNDEF;
  ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
};

constexpr MatmulConfig GetNormalConfig(bool intrinsicsLimit = false, bool = false, bool isVecND2NZ = false,
                                       BatchMode = BatchMode::BATCH_LESS_THAN_L1, bool = true,
                                       IterateOrder iterateOrder = IterateOrder::UNDEF,
                                       ScheduleType scheduleType = ScheduleType::INNER_PRODUCT, bool enUnitFlag = true,
                                       bool enableMixDualMaster = false) {
  MatmulConfig config;
  config.doNorm = true;
  config.intrinsicsCheck = intrinsicsLimit;
  config.enVecND2NZ = isVecND2NZ;
  config.iterateOrder = iterateOrder;
  config.scheduleType = scheduleType;
  config.enUnitFlag = enUnitFlag;
  config.enableMixDualMaster = enableMixDualMaster;
  return config;
}
constexpr MatmulConfig GetMDLConfig(bool intrinsicsLimit = false, bool = false, uint32_t = 0, bool isVecND2NZ = false, bool = false,
                                    bool = false, bool enUnitFlag = false, bool = true, bool = true, bool = false,
                                    bool enableMixDualMaster = false, bool = false) {
  MatmulConfig config;
  config.doMultiDataLoad = true;
  config.intrinsicsCheck = intrinsicsLimit;
  config.enVecND2NZ = isVecND2NZ;
  config.enUnitFlag = enUnitFlag;
  config.enableMixDualMaster = enableMixDualMaster;
  return config;
}
constexpr MatmulConfig GetSpecialMDLConfig(bool intrinsicsLimit = false, bool = false, uint32_t = 0, bool isVecND2NZ = false, bool = false,
                                           bool = false) {
  MatmulConfig config = GetMDLConfig(intrinsicsLimit, false, 0, isVecND2NZ);
  config.doSpecialMDL = true;
  return config;
}
constexpr MatmulConfig GetBasicConfig(uint32_t basicM, uint32_t basicN, uint32_t basicK, bool intrinsicsLimit = false, bool = false,
                                      BatchMode = BatchMode::BATCH_LESS_THAN_L1) {
  MatmulConfig config = GetNormalConfig(intrinsicsLimit);
  config.doBasicBlock = true;
  config.basicM = basicM;
  config.basicN = basicN;
  config.basicK = basicK;
  return config;
}
constexpr MatmulConfig GetIBShareNormConfig(bool intrinsicsLimit = false, bool = false, bool isVecND2NZ = false,
                                            BatchMode = BatchMode::BATCH_LESS_THAN_L1, bool = false, bool enUnitFlag = true) {
  MatmulConfig config = GetNormalConfig(intrinsicsLimit, false, isVecND2NZ);
  config.doIBShareNorm = true;
  config.enUnitFlag = enUnitFlag;
  return config;
}
inline constexpr MatmulConfig CFG_NORM = GetNormalConfig();
inline constexpr MatmulConfig CFG_MDL = GetMDLConfig();
inline constexpr MatmulConfig MM_CFG_BB = GetBasicConfig(128, 128, 128);
inline constexpr MatmulConfig CFG_IBSHARE_NORM = GetIBShareNormConfig();

namespace AscendC {

template <TPosition POSITION, CubeFormat FORMAT, typename TYPE, bool ISTRANS = false, LayoutMode LAYOUT = LayoutMode::NONE,
          bool IBSHARE = false, TPosition SRCPOS = TPosition::GM>
struct MatmulType {
  static constexpr TPosition pos = POSITION;
  static constexpr CubeFormat format = FORMAT;
  using T = TYPE;
  static constexpr bool isTrans = ISTRANS;
  static constexpr LayoutMode layout = LAYOUT;
  static constexpr bool ibShare = IBSHARE;
  static constexpr TPosition srcPos = SRCPOS;
};

template <auto, auto>
struct MatmulCallBackFunc {};

}  // namespace AscendC

namespace twin {

enum class CubeDtype : uint8_t { kOther, kF16, kBf16, kF32, kI8, kI32 };
template <typename T>
constexpr CubeDtype CubeDtypeOf() {
  if constexpr (std::is_same_v<T, half>)
    return CubeDtype::kF16;
  else if constexpr (std::is_same_v<T, bfloat16_t>)
    return CubeDtype::kBf16;
  else if constexpr (std::is_same_v<T, float>)
    return CubeDtype::kF32;
  else if constexpr (std::is_same_v<T, int8_t>)
    return CubeDtype::kI8;
  else if constexpr (std::is_same_v<T, int32_t>)
    return CubeDtype::kI32;
  else
    return CubeDtype::kOther;
}
inline int64_t CubeSize(CubeDtype dtype) {
  return dtype == CubeDtype::kI8 ? 1 : (dtype == CubeDtype::kF16 || dtype == CubeDtype::kBf16 ? 2 : 4);
}
inline const char *CubeDtypeName(CubeDtype dtype) {
  static constexpr const char *kNames[] = {"another type", "half", "bfloat16_t", "float", "int8_t", "int32_t"};
  return kNames[static_cast<int>(dtype)];
}

// One MatmulType, at run time.
struct CubeType {
  AscendC::TPosition position;
  CubeFormat format;
  CubeDtype dtype;
  bool transposable;
};
template <class Type>
constexpr CubeType CubeTypeOf() {
  return CubeType{Type::pos, Type::format, CubeDtypeOf<typename Type::T>(), Type::isTrans};
}

// The types and configuration of one Matmul.
struct CubeTraits {
  CubeType a, b, c, bias;
  MatmulConfig config;
  bool cubeOnly;  // ASCENDC_CUBE_ONLY: the object works on a cube core, not for a vector core
};

}  // namespace twin
