// RandomNumbers: single random numbers from a Philox stream, as TensorFlow's SimplePhilox draws them. Candidate
// samplers and k-means use it.
#pragma once

#include <cstdint>

#include "argosy/ops/random/philox.h"

namespace argosy {

// Not thread-safe.
class RandomNumbers {
 public:
  explicit RandomNumbers(const Philox& from) : words_(from) {}
  std::uint64_t below(std::uint64_t n);         // uniform in [0, n), from 64-bit words
  std::uint32_t below_narrow(std::uint32_t n);  // uniform in [0, n), from 32-bit words
  float unit_float();                           // uniform in [0, 1)
  double unit_double();

 private:
  std::uint64_t word64();
  PhiloxWords words_;
};

}  // namespace argosy
