// Fills tensors with random numbers from a Philox stream, on the calling thread's team. Element i depends on the stream
// and on i alone, never on the number of threads. Layout and arithmetic are TensorFlow's: block g of the stream gives
// elements 4g … 4g+3, or two elements of 64 bits.
#pragma once

#include "argosy/ops/random/philox.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

enum class Distribution {
  kUniform,          // [0, 1)
  kNormal,           // mean 0, deviation 1 (Box-Muller)
  kTruncatedNormal,  // the same, by rejection of |x| >= 2; a group from element i on uses the blocks from 64 i on
};

// Fills `to` with the stream's elements from `first` on. REQUIRES: a floating dtype. `plain`: block by block with the
// standard library's functions, instead of vectorised; the results agree but for the last digits.
Status fill_random(const Tensor& to, Distribution distribution, const Philox& from, bool plain = false,
                   std::int64_t first = 0);
// Fills `to` with integers low + word mod range; integers of 64 bits use two words. REQUIRES: int32, int64, uint32 or
// uint64. A range of 0 means all integers of the dtype.
Status fill_random_ints(const Tensor& to, std::uint64_t low, std::uint64_t range, const Philox& from);

// words[4 i …] = block (i * step) of the stream, for i < blocks.
void philox_blocks(const Philox& from, std::int64_t blocks, std::uint64_t step, std::uint32_t* words);

namespace internal {
// Vectorised: converts n words to n numbers. REQUIRES: `n` is a multiple of 4.
void uniform_floats(const std::uint32_t* words, std::int64_t n, float* to);
void normal_floats(const std::uint32_t* words, std::int64_t n, float* to);
}  // namespace internal

}  // namespace argosy
