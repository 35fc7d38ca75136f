// What host code learns of the chip: the platform's figures and the interface that reads them (host.md section 5).
#pragma once
#include <cstdint>
#include <string>

namespace fe {
enum class LocalMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, RESERVED };

// Figures of the chip, as the platform files give them.
class PlatFormInfos {
 public:
  uint32_t aiv = 0, aic = 0, socVersion = 0;
  uint64_t ub = 0, l1 = 0, l0a = 0, l0b = 0, l0c = 0, l2 = 0, hbm = 0;
  uint32_t arch = 0;
  std::string soc;
  uint32_t GetCoreNum() const { return aiv; }
  bool GetPlatformRes(const std::string &label, const std::string &key, std::string &value) const {
    if (label == "SoCInfo" && key == "vector_core_cnt") value = std::to_string(aiv);
    else if (label == "SoCInfo" && key == "cube_core_cnt") value = std::to_string(aic);
    else if (label == "AICoreSpec" && key == "ub_size") value = std::to_string(ub);
    else if (label == "version" && key == "SoC_version") value = soc;
    else return false;
    return true;
  }
  void GetLocalMemSize(const LocalMemType &type, uint64_t &size) const {
    const uint64_t sizes[] = {l0a, l0b, l0c, l1, l2, ub, hbm};
    size = type < LocalMemType::RESERVED ? sizes[static_cast<int>(type)] : 0;
  }
};
}  // namespace fe

// The figures of the product the process runs on; absent where there is no runtime.
extern "C" __attribute__((weak)) fe::PlatFormInfos *TwinCurrentPlatform();

namespace platform_ascendc {
enum class CoreMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, FB = 7, BT = 8, RESERVED };
enum class SocVersion { ASCEND910 = 0, ASCEND910B = 1, ASCEND310P = 2, ASCEND310B = 3, ASCEND950 = 4, ASCEND910_95 = 4, RESERVED_VERSION = 99999 };

class PlatformAscendC {
 public:
  explicit PlatformAscendC(fe::PlatFormInfos *platform) : info(platform) {}
  uint32_t GetCoreNum() const { return info->aiv; }
  uint32_t GetCoreNumAic() const { return info->aic; }
  uint32_t GetCoreNumAiv() const { return info->aiv; }
  uint32_t GetCoreNumVector() const { return 0; }
  uint32_t GetLibApiWorkSpaceSize() const { return 16u * 1024u * 1024u; }
  uint32_t GetResCubeGroupWorkSpaceSize() const { return 0; }
  uint32_t GetResGroupBarrierWorkSpaceSize() const { return 0; }
  uint32_t CalcTschBlockDim(uint32_t sliceNum, uint32_t aicCoreNum, uint32_t aivCoreNum) const {
    if (aicCoreNum == 0 || aivCoreNum == 0 || aicCoreNum > aivCoreNum) return sliceNum;
    const uint32_t ratio = aivCoreNum / aicCoreNum;
    return (sliceNum + ratio - 1) / ratio;
  }
  void GetCoreMemSize(const CoreMemType &type, uint64_t &size) const {
    switch (type) {
      case CoreMemType::UB: size = info->ub; break;
      case CoreMemType::L1: size = info->l1; break;
      case CoreMemType::L0_A: size = info->l0a; break;
      case CoreMemType::L0_B: size = info->l0b; break;
      case CoreMemType::L0_C: size = info->l0c; break;
      case CoreMemType::L2: size = info->l2; break;
      case CoreMemType::HBM: size = info->hbm; break;
      default: size = 0;
    }
  }
  void GetCoreMemBw(const CoreMemType &type, uint64_t &bandwidth) const { bandwidth = type == CoreMemType::L2 ? 110 : (type == CoreMemType::HBM ? 32 : 0); }
  SocVersion GetSocVersion() const { return static_cast<SocVersion>(info->socVersion); }

 private:
  fe::PlatFormInfos *info;
};

// The platform outside a context; null where there is no runtime, or for another chip than its own.
class PlatformAscendCManager {
 public:
  static PlatformAscendC *GetInstance() {
    static PlatformAscendC platform(TwinCurrentPlatform == nullptr ? nullptr : TwinCurrentPlatform());
    return TwinCurrentPlatform == nullptr ? nullptr : &platform;
  }
  static PlatformAscendC *GetInstance(const char *soc) {
    return TwinCurrentPlatform != nullptr && soc != nullptr && TwinCurrentPlatform()->soc == soc ? GetInstance() : nullptr;
  }
};
}  // namespace platform_ascendc
