// Tensors, scalars, arrays, lists: what is stored, what is refused, how often they may be destroyed.
#include "check.h"

static std::vector<int64_t> Taken(int64_t *values, uint64_t number) {
  const std::vector<int64_t> copy(values, values + number);
  delete[] values;
  return copy;
}

TEST(a_tensor_keeps_its_view) {
  const int64_t view[] = {2, 3}, strides[] = {1, 2}, storage[] = {10};
  int data = 0;
  aclTensor *tensor = aclCreateTensor(view, 2, ACL_BF16, strides, 4, ACL_FORMAT_NCL, storage, 1, &data);
  int64_t *values = nullptr;
  uint64_t number = 0;
  GOOD(aclGetViewShape(tensor, &values, &number));
  EQUAL(Taken(values, number), {2, 3});
  GOOD(aclGetViewStrides(tensor, &values, &number));
  EQUAL(Taken(values, number), {1, 2});
  GOOD(aclGetStorageShape(tensor, &values, &number));
  EQUAL(Taken(values, number), {10});
  int64_t offset = 0;
  GOOD(aclGetViewOffset(tensor, &offset));
  EXPECT(offset, 4);
  aclFormat format = ACL_FORMAT_ND;
  GOOD(aclGetFormat(tensor, &format));
  EXPECT(static_cast<int>(format), static_cast<int>(ACL_FORMAT_NCL));
  aclDataType type = ACL_FLOAT;
  GOOD(aclGetDataType(tensor, &type));
  EXPECT(static_cast<int>(type), static_cast<int>(ACL_BF16));
  void *address = nullptr;
  GOOD(aclGetRawTensorAddr(tensor, &address));
  EXPECT(address == &data, true);
  GOOD(aclSetRawTensorAddr(tensor, nullptr));
  GOOD(aclGetRawTensorAddr(tensor, &address));
  EXPECT(address == nullptr, true);
  GOOD(aclInitTensor(tensor, storage, 1, ACL_INT8, nullptr, 0, ACL_FORMAT_ND, storage, 1, &data));
  GOOD(aclGetViewStrides(tensor, &values, &number));
  EQUAL(Taken(values, number), {1});
  GOOD(aclDestroyTensor(tensor));
}

TEST(without_strides_a_tensor_is_row_major) {
  const int64_t view[] = {2, 3, 4};
  aclTensor *tensor = aclCreateTensor(view, 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, view, 3, nullptr);
  aclTensor *scalar = aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
  int64_t *values = nullptr;
  uint64_t number = 9;
  GOOD(aclGetViewStrides(tensor, &values, &number));
  EQUAL(Taken(values, number), {12, 4, 1});
  GOOD(aclGetViewShape(scalar, &values, &number));
  EQUAL(Taken(values, number), {});
  GOOD(aclDestroyTensor(tensor));
  GOOD(aclDestroyTensor(scalar));
}

TEST(senseless_tensors_are_refused) {
  const int64_t bad[] = {2, -3}, many[26] = {};
  EXPECT(aclCreateTensor(bad, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, bad, 2, nullptr) == nullptr, true);
  SAYS("viewDims[1] is -3");
  EXPECT(aclCreateTensor(many, 26, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, many, 26, nullptr) == nullptr, true);
  SAYS("26 dims, at most 25");
  EXPECT(aclCreateTensor(nullptr, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, many, 1, nullptr) == nullptr, true);
  EXPECT(aclCreateIntArray(nullptr, 2) == nullptr, true);
  EXPECT(aclCreateScalar(nullptr, ACL_FLOAT) == nullptr, true);
  EXPECT(aclGetViewOffset(nullptr, nullptr), 161001);
  uint64_t size = 0;
  EXPECT(aclGetIntArraySize(nullptr, &size), 161001);
}

TEST(destroying_twice_or_nothing_is_harmless) {
  const int64_t values[] = {1, 2};
  const bool flags[] = {true, false};
  const float reals[] = {1, 2, 3};
  float one = 1;
  GOOD(aclDestroyTensor(nullptr));
  GOOD(aclDestroyScalar(nullptr));
  GOOD(aclDestroyTensorList(nullptr));
  aclTensor *tensor = Dense({2}, nullptr);
  aclScalar *scalar = aclCreateScalar(&one, ACL_FLOAT);
  aclIntArray *ints = aclCreateIntArray(values, 2);
  aclBoolArray *bools = aclCreateBoolArray(flags, 2);
  aclFloatArray *floats = aclCreateFloatArray(reals, 3);
  uint64_t size = 0;
  GOOD(aclGetIntArraySize(ints, &size));
  EXPECT(size, 2u);
  GOOD(aclGetBoolArraySize(bools, &size));
  EXPECT(size, 2u);
  GOOD(aclGetFloatArraySize(floats, &size));
  EXPECT(size, 3u);
  for (int i = 0; i < 2; ++i) {
    GOOD(aclDestroyTensor(tensor));
    GOOD(aclDestroyScalar(scalar));
    GOOD(aclDestroyIntArray(ints));
    GOOD(aclDestroyBoolArray(bools));
    GOOD(aclDestroyFloatArray(floats));
  }
  int local = 0;
  EXPECT(aclDestroyTensor(reinterpret_cast<aclTensor *>(&local)), 161002);
  SAYS("is not one that is alive");
}

TEST(a_list_destroys_its_members) {
  GOOD(aclInit(nullptr));
  aclTensor *members[] = {Dense({2}, nullptr), Dense({3}, nullptr)};
  aclTensorList *list = aclCreateTensorList(members, 2);
  uint64_t size = 0;
  GOOD(aclGetTensorListSize(list, &size));
  EXPECT(size, 2u);
  GOOD(aclDestroyTensorList(list));
  GOOD(aclDestroyTensor(members[0]));  // as some programs do
  float one = 1;
  const aclScalar *scalars[] = {aclCreateScalar(&one, ACL_FLOAT)};
  aclScalarList *scalarList = aclCreateScalarList(scalars, 1);
  GOOD(aclGetScalarListSize(scalarList, &size));
  EXPECT(size, 1u);
  GOOD(aclDestroyScalarList(scalarList));
  GOOD(aclFinalize());  // with OPWRIGHT_LEAKS=fail: nothing is left
}
