// The parts that stateful and stateless random kernels share: reading arguments, and drawing from a given stream.
#pragma once

#include <optional>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/random/philox.h"

namespace argosy {

// TensorFlow reserves this many blocks of a stateful op's stream per output element, however many are used.
inline constexpr std::uint64_t kBlocksPerElement = 256;

// Reads a shape from a vector of sizes.
Result<Shape> random_shape(const Tensor& t);

// The `size` integers from `low` on.
struct IntRange {
  std::uint64_t low = 0, size = 0;
};
// INVALID_ARGUMENT unless low < high, both scalars.
Result<IntRange> int_range(const Tensor& low, const Tensor& high);

// The stream of a seed of two integers; the stream of a key and a counter. INVALID_ARGUMENT: wrong shapes, or an
// algorithm `alg` that is neither Philox (1) nor the device's choice (3).
Result<Philox> seeded_stream(const Tensor& seed);
Result<Philox> keyed_stream(const Tensor& key, const Tensor& counter, const Tensor& alg);
// Checks dtypes and shapes of a key and a counter, and the value of alg, as keyed_stream() does; their values are not
// read.
Status check_keyed(const Tensor& key, const Tensor& counter, const Tensor& alg);

// Writes x's rows to y in an order drawn from the stream (Fisher-Yates, from the front). REQUIRES: two rows or more.
Status shuffle_rows(KernelContext& c, const Tensor& x, const Tensor& y, const Philox& from);

// Checks the inputs logits [batch, classes] and num_samples. Returns the number of samples per row.
Result<std::int64_t> checked_samples(KernelContext& c);
// The number of blocks that a stateful op reserves for these samples: 2 * kBlocksPerElement for each sample, since a
// double takes two words. `samples` is rounded up to a multiple of 4 per row. REQUIRES: both above 0.
inline std::uint64_t blocks_for_classes(std::int64_t rows, std::int64_t samples) {
  const auto per_row = static_cast<std::uint64_t>((samples + 3) / 4 * 4) * 2;
  return static_cast<std::uint64_t>(rows) * per_row * kBlocksPerElement;
}
// Output 0: `samples` class numbers per row of input 0, by inversion of the cumulative sums of exp(logits - max).
Status draw_classes(KernelContext& c, std::int64_t samples, const Philox& from);

// The workspaces of the kernels: for shuffle_rows() the order of rows, for draw_classes() the cumulative sums of a row.
std::optional<std::uint64_t> shuffle_bytes(const KernelInit& init);
std::optional<std::uint64_t> classes_bytes(const KernelInit& init);

}  // namespace argosy
