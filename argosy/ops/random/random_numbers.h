// Numbers out of a Philox stream, drawn the way TensorFlow's kernels draw them one by one: candidate samplers, k-means.
#pragma once

#include <cstdint>

#include "argosy/ops/random/philox.h"

namespace argosy {

// Not thread-safe.
class RandomNumbers {
 public:
  explicit RandomNumbers(const Philox& from) : words_(from) {}
  std::uint64_t below(std::uint64_t n);         // even in [0, n), of 64-bit words
  std::uint32_t below_narrow(std::uint32_t n);  // of 32-bit words
  float unit_float();                           // [0, 1)
  double unit_double();

 private:
  std::uint64_t word64();
  PhiloxWords words_;
};

}  // namespace argosy
