// Tensors of random numbers out of a Philox stream, on the calling thread's team: element i depends on the stream and
// on i alone, never on the number of threads. Layout and arithmetic are TensorFlow's: block g of the stream gives
// elements 4g … 4g+3 (two of 64 bits).
#pragma once

#include "argosy/ops/random/philox.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

enum class Distribution {
  kUniform,          // [0, 1)
  kNormal,           // mean 0, deviation 1 (Box-Muller)
  kTruncatedNormal,  // the same, drawn again until below 2 in size; element group g has stream blocks 256 g on
};

// Elements `first` and on of what the stream gives. REQUIRES: a floating dtype. `plain`: one block after the other with
// the standard library's functions, instead of a vector of blocks at a time; results agree to the last digits.
Status fill_random(const Tensor& to, Distribution distribution, const Philox& from, bool plain = false,
                   std::int64_t first = 0);
// Integers low + word mod range; of 64 bits, out of two words. REQUIRES: int32, int64, uint32 or uint64; range > 0,
// or 0 for all there are.
Status fill_random_ints(const Tensor& to, std::uint64_t low, std::uint64_t range, const Philox& from);

// words[4 i …] = block (i * step) of the stream, for i < blocks.
void philox_blocks(const Philox& from, std::int64_t blocks, std::uint64_t step, std::uint32_t* words);

namespace internal {
// Vector code: words to numbers. `n` is a multiple of 4.
void uniform_floats(const std::uint32_t* words, std::int64_t n, float* to);
void normal_floats(const std::uint32_t* words, std::int64_t n, float* to);
}  // namespace internal

}  // namespace argosy
