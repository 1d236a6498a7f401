// What stateful and stateless random kernels share: reading arguments, and drawing once a stream is there.
#pragma once

#include <optional>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/random/philox.h"

namespace argosy {

// TensorFlow sets this many blocks of a stateful op's stream aside per output element, whatever is used of them.
inline constexpr std::uint64_t kBlocksPerElement = 256;

// A vector of sizes.
Result<Shape> random_shape(const Tensor& t);

// `size` integers from `low` on.
struct IntRange {
  std::uint64_t low = 0, size = 0;
};
// INVALID_ARGUMENT unless low < high, both scalars.
Result<IntRange> int_range(const Tensor& low, const Tensor& high);

// The stream that a seed of two integers stands for; that of a key and a counter, if the algorithm `alg` is one we
// have.
Result<Philox> seeded_stream(const Tensor& seed);
Result<Philox> keyed_stream(const Tensor& key, const Tensor& counter, const Tensor& alg);
// Are these a key and a counter, of an algorithm that we have? Their values are not looked at, but alg's.
Status check_keyed(const Tensor& key, const Tensor& counter, const Tensor& alg);

// y's rows are x's in an order drawn from the stream (Fisher-Yates, from the front). REQUIRES: two rows or more.
Status shuffle_rows(KernelContext& c, const Tensor& x, const Tensor& y, const Philox& from);

// Inputs logits [batch, classes] and num_samples, checked: how many samples per row.
Result<std::int64_t> checked_samples(KernelContext& c);
// How much of a stateful op's stream is set aside for so many samples: doubles take two words each, so twice the
// samples, rounded up to whole blocks per row. REQUIRES: both above 0.
inline std::uint64_t blocks_for_classes(std::int64_t rows, std::int64_t samples) {
  const auto per_row = static_cast<std::uint64_t>((samples + 3) / 4 * 4) * 2;
  return static_cast<std::uint64_t>(rows) * per_row * kBlocksPerElement;
}
// Output 0: `samples` class numbers per row of input 0, by inversion of the cumulative sums of exp(logits - max).
Status draw_classes(KernelContext& c, std::int64_t samples, const Philox& from);

// Their workspaces: the order of rows, the cumulative sums of a row.
std::optional<std::uint64_t> shuffle_bytes(const KernelInit& init);
std::optional<std::uint64_t> classes_bytes(const KernelInit& init);

}  // namespace argosy
