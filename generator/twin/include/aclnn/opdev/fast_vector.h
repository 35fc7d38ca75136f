// op::FVector: a vector; the number is the room the interface keeps in place.
#pragma once
#include <cstddef>
#include <vector>

namespace op {
template <typename T, size_t N = 10>
class FVector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
};
}  // namespace op
