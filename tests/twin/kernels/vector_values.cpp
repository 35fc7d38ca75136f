// Fills, copies, casts, comparisons and selections. p: call, form (0 count, 1 mask, 2 bits), dtype, then the call's own numbers.
#include "vector_frame.h"

template <typename T>
__aicore__ inline void Fill(Frame &frame, const int64_t *p) {
  const int64_t form = p[1];
  const uint64_t bits[2] = {static_cast<uint64_t>(p[3]), static_cast<uint64_t>(p[4])};
  const uint64_t mask = static_cast<uint64_t>(p[3]);
  LocalTensor<T> dst = frame.Result<T>()[p[10]], src = frame.Source<T>(0)[p[11]];
  if (p[12] != 0) src = frame.Result<T>()[p[11]];
  const T value = static_cast<T>(static_cast<float>(p[9]) / 4.0f);
  if (p[0] == 1) {
    if (form == 0) Duplicate(dst, value, p[3]);
    if (form == 1) Duplicate(dst, value, mask, p[5], p[6], p[7]);
    if (form == 2) Duplicate(dst, value, bits, p[5], p[6], p[7]);
  }
  if constexpr (std::is_same<T, half>::value || std::is_same<T, float>::value || std::is_same<T, int16_t>::value ||
                std::is_same<T, int32_t>::value) {
    if (p[0] == 2) {
      if (form == 0) CreateVecIndex(dst, value, p[3]);
      if (form == 1) CreateVecIndex(dst, value, mask, p[5], p[6], p[7]);
      if (form == 2) CreateVecIndex(dst, value, bits, p[5], p[6], p[7]);
    }
  }
  if (p[0] == 3) Brcb(dst, src, p[5], BrcbRepeatParams(p[6], p[7]));
  if (p[0] == 4) {
    const CopyRepeatParams params(p[6], p[13], p[7], p[14]);
    if (form == 1) Copy(dst, src, mask, p[5], params);
    if (form == 2) Copy(dst, src, bits, p[5], params);
  }
}

template <typename T>
__aicore__ inline void CompareAll(Frame &frame, const int64_t *p) {
  const int64_t form = p[1];
  const CMPMODE mode = static_cast<CMPMODE>(p[8]);
  const uint64_t bits[2] = {static_cast<uint64_t>(p[3]), static_cast<uint64_t>(p[4])};
  const uint64_t mask = static_cast<uint64_t>(p[3]);
  LocalTensor<T> a = frame.Source<T>(0), b = frame.Source<T>(1);
  LocalTensor<uint8_t> dst = frame.Result<uint8_t>();
  const T value = static_cast<T>(static_cast<float>(p[9]) / 4.0f);
  const BinaryRepeatParams binary(1, 1, 1, 8, p[6], p[7]);
  const UnaryRepeatParams unary(1, 1, 8, p[6]);
  if (p[0] == 10) {
    if (form == 0) Compare(dst, a, b, mode, p[3]);
    if (form == 1) Compare(dst, a, b, mode, mask, p[5], binary);
    if (form == 2) Compare(dst, a, b, mode, bits, p[5], binary);
  }
  if (p[0] == 11) {
    if (form == 0) CompareScalar(dst, a, value, mode, p[3]);
    if (form == 1) CompareScalar(dst, a, value, mode, mask, p[5], unary);
    if (form == 2) CompareScalar(dst, a, value, mode, bits, p[5], unary);
    if (form == 3) Compares(dst, a, value, mode, p[3]);
  }
  if (p[0] == 12) {
    Compare(a, b, mode, mask, binary);
    PipeBarrier<PIPE_V>();
    GetCmpMask(dst);
  }
}

template <typename T>
__aicore__ inline void SelectAll(Frame &frame, const int64_t *p) {
  const int64_t form = p[1];
  const SELMODE mode = static_cast<SELMODE>(p[8]);
  const uint64_t bits[2] = {static_cast<uint64_t>(p[3]), static_cast<uint64_t>(p[4])};
  const uint64_t mask = static_cast<uint64_t>(p[3]);
  LocalTensor<T> a = frame.Source<T>(0), b = frame.Source<T>(1), dst = frame.Result<T>();
  LocalTensor<uint8_t> selected = frame.Source<uint8_t>(2);
  if (p[12] != 0) selected = frame.Result<uint8_t>();
  const T value = static_cast<T>(static_cast<float>(p[9]) / 4.0f);
  const BinaryRepeatParams binary(1, 1, 1, 8, p[6], p[7]);
  TBuf<> more;
  if (p[13] != 0) GetTPipePtr()->InitBuffer(more, p[13]);
  if (p[0] == 20) {
    if (form == 0) Select(dst, selected, a, b, mode, p[3]);
    if (form == 1) Select(dst, selected, a, b, mode, mask, p[5], binary);
    if (form == 2) Select(dst, selected, a, b, mode, bits, p[5], binary);
  }
  if (p[0] == 21) {
    if (form == 0) Select(dst, selected, a, value, mode, p[3]);
    if (form == 1) Select(dst, selected, a, value, mode, mask, p[5], binary);
    if (form == 2) Select(dst, selected, a, value, mode, bits, p[5], binary);
  }
  if (p[0] == 22) {
    SetCmpMask(selected);
    PipeBarrier<PIPE_V>();
    SetVectorMask<T>(static_cast<int32_t>(mask));
    Select<T, SELMODE::VSEL_CMPMASK_SPR>(dst, a, b, p[5], binary);
    ResetMask();
  }
}

template <typename T>
__aicore__ inline void OfType(Frame &frame, const int64_t *p) {
  if (p[0] < 10) {
    Fill<T>(frame, p);
  } else if (p[0] < 20) {
    CompareAll<T>(frame, p);
  } else {
    SelectAll<T>(frame, p);
  }
}

__aicore__ inline void Cases(Frame &frame, const int64_t *p) {
  if (p[2] == 0) OfType<float>(frame, p);
  if (p[2] == 1) OfType<half>(frame, p);
  if (p[2] == 2) OfType<int32_t>(frame, p);
  if (p[2] == 3) Fill<bfloat16_t>(frame, p);
  if (p[2] == 4) Fill<int16_t>(frame, p);
}

extern "C" __global__ __aicore__ void vector_values(GM_ADDR x0, GM_ADDR x1, GM_ADDR x2, GM_ADDR old, GM_ADDR out, GM_ADDR workspace,
                                                    GM_ADDR tiling) {
  (void)workspace;
  VECTOR_BODY(Cases)
}
