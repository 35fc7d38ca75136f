// Matmul and REGIST_MATMUL_OBJ: the public calls, as a vector core of a mix kernel sees them. What they do is in cube.h.
#pragma once
#include "cube.h"

namespace twin {

#if defined(ASCENDC_CUBE_ONLY)
constexpr bool kCubeOnly = true;
#else
constexpr bool kCubeOnly = false;
#endif

}  // namespace twin

namespace AscendC {

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto &MM_CFG = CFG_NORM,
          class MM_CB = MatmulCallBackFunc<nullptr, nullptr>>
class Matmul {
  using SrcAT = typename A_TYPE::T;
  using SrcBT = typename B_TYPE::T;
  using DstT = typename C_TYPE::T;
  using BiasT = typename BIAS_TYPE::T;
  using Site = twin::Site;

 public:
  Matmul() : job(kTraits) {}

  void Init(const TCubeTiling *__restrict cubeTiling, TPipe * = nullptr, Site site = Site::Here()) { job.Init(cubeTiling, site); }
  void SetOrgShape(int orgM, int orgN, int orgK) { job.SetOrg(orgM, orgN, orgK, orgK, 0); }
  void SetOrgShape(int orgM, int orgN, int orgKa, int orgKb, int orgKc = 0) { job.SetOrg(orgM, orgN, orgKa, orgKb, orgKc); }
  void SetSingleShape(int singleM, int singleN, int singleK) { job.SetSingle(singleM, singleN, singleK); }
  void SetTail(int tailM = -1, int tailN = -1, int tailK = -1) { job.SetSingle(tailM, tailN, tailK); }

  void SetTensorA(const GlobalTensor<SrcAT> &gm, bool isTransposeA = false, Site site = Site::Here()) {
    job.a.Point(twin::BytesOf(gm), isTransposeA, site);
    job.SetA(site);
  }
  void SetTensorA(const LocalTensor<SrcAT> &leftMatrix, bool isTransposeA = false, Site site = Site::Here()) {
    job.a.Point(twin::BytesOf(leftMatrix), isTransposeA, site);
    job.SetA(site);
  }
  void SetTensorB(const GlobalTensor<SrcBT> &gm, bool isTransposeB = false, Site site = Site::Here()) {
    job.b.Point(twin::BytesOf(gm), isTransposeB, site);
    job.SetB(site);
  }
  void SetTensorB(const LocalTensor<SrcBT> &rightMatrix, bool isTransposeB = false, Site site = Site::Here()) {
    job.b.Point(twin::BytesOf(rightMatrix), isTransposeB, site);
    job.SetB(site);
  }
  void SetBias(const GlobalTensor<BiasT> &biasGlobal, Site site = Site::Here()) {
    job.bias.Point(twin::BytesOf(biasGlobal), false, site);
    job.SetBias(site);
  }
  void SetBias(const LocalTensor<BiasT> &inputBias, Site site = Site::Here()) {
    job.bias.Point(twin::BytesOf(inputBias), false, site);
    job.SetBias(site);
  }
  void DisableBias() { job.NoBias(); }
  void ClearBias() { job.NoBias(); }
  void SetHF32(bool enableHF32 = false, int32_t transMode = 0, Site site = Site::Here()) { job.SetHf32(enableHF32, transMode, site); }

  template <class T>
  void SetWorkspace(GlobalTensor<T> &addr) {
    job.space = twin::BytesOf(addr);
  }
  template <class T>
  void SetWorkspace(__gm__ const T *addr, int size) {
    GlobalTensor<T> space;
    space.SetGlobalBuffer(const_cast<__gm__ T *>(addr), size);
    job.space = twin::BytesOf(space);
  }
  template <bool sync = true>
  bool Iterate(bool enPartialSum = false, Site site = Site::Here()) {
    return sync ? job.Iterate(enPartialSum, site) : job.IterateLater(enPartialSum, site);
  }
  template <bool sync = true>
  void IterateAll(const GlobalTensor<DstT> &gm, int64_t enAtomic = 0, bool enSequentialWrite = false, bool waitIterateAll = false,
                  bool fakeMsg = false, Site site = Site::Here()) {
    (void)fakeMsg;
    job.All(twin::BytesOf(gm), enAtomic, enSequentialWrite, sync, waitIterateAll, site);
  }
  void WaitIterateAll(Site site = Site::Here()) { job.WaitAll(site); }
  template <bool sync = true>
  void GetTensorC(const GlobalTensor<DstT> &gm, int64_t enAtomic = 0, bool enSequentialWrite = false, Site site = Site::Here()) {
    static_assert(sync, "a tile of Iterate<false> is in the workspace; GetTensorC<false>() says where");
    job.Fetch(twin::BytesOf(gm), enAtomic, enSequentialWrite, site);
  }
  template <bool sync = true, bool doPad = false>
  void GetTensorC(const LocalTensor<DstT> &c, int64_t enAtomic = 0, bool enSequentialWrite = false, Site site = Site::Here()) {
    if constexpr (sync)
      job.Fetch(twin::BytesOf(c), enAtomic, enSequentialWrite, site);
    else
      job.FetchLater(twin::BytesOf(c), enAtomic, site);
  }
  // Where the next tile of Iterate<false> lies in the workspace.
  template <bool sync = true>
  GlobalTensor<DstT> GetTensorC(int64_t enAtomic = 0, bool enSequentialWrite = false, Site site = Site::Here()) {
    static_assert(!sync, "GetTensorC without a destination is asynchronous only");
    (void)enSequentialWrite;
    return job.NextSlot("GetTensorC", enAtomic, site).template ReinterpretCast<DstT>();
  }
  void WaitGetTensorC() { job.WaitFetch(); }
  void End(Site site = Site::Here()) { job.End(site); }

  // REGIST_MATMUL_OBJ.
  void TwinRegister(int number, Site site) { job.Register(number, site); }

 private:
  static constexpr twin::CubeTraits kTraits{twin::CubeTypeOf<A_TYPE>(),
                                            twin::CubeTypeOf<B_TYPE>(),
                                            twin::CubeTypeOf<C_TYPE>(),
                                            twin::CubeTypeOf<BIAS_TYPE>(),
                                            MM_CFG,
                                            twin::kCubeOnly};
  twin::CubeObject job;
};

}  // namespace AscendC
namespace matmul = AscendC;

namespace twin {

inline void RegisterNext(Site, int) {}
template <class Object>
void RegisterNext(Site site, int number, Object &object) {
  object.TwinRegister(number, site);
}
template <class Object, class... Rest>
void RegisterNext(Site site, int number, Object &object, const TCubeTiling *tiling, Rest &&...rest) {
  object.TwinRegister(number, site);
  object.Init(tiling, nullptr, site);
  RegisterNext(site, number + 1, rest...);
}

template <class... Objects>
void RegisterObjects(Site site, AscendC::TPipe *, const void *workspace, Objects &&...objects) {
  BeginRegistration(site, workspace, kCubeOnly);
  RegisterNext(site, 0, objects...);
}

}  // namespace twin

// A vector core's objects: on its cube core the macro serves their requests and ends the kernel. With ASCENDC_CUBE_ONLY the
// objects are those of the cube core itself.
#define REGIST_MATMUL_OBJ(tpipe, workspace, ...)      \
  if (!::twin::kCubeOnly && ::twin::OnCube()) return; \
  ::twin::RegisterObjects(::twin::Site::Here(), tpipe, workspace, __VA_ARGS__)
