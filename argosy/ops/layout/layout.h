// Ops that move elements and compute nothing: transpose, concat, split, slices, pad, tile, reverse, diagonals.
// Names and defaults are those of tf.*.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Axes in the order perm says: y's axis i is x's axis perm[i]. Without perm: reversed.
Value transpose(Value x, const std::vector<int>& perm);
Value transpose(Value x);
Value transpose(Value x, Value perm);
// y[x[i]] = i.
Value invert_permutation(Value x);

// One after the other along `axis`.
Value concat(const std::vector<Value>& values, int axis);
// Into `num` equal pieces, or pieces of given sizes (one may be -1: the rest).
std::vector<Value> split(Value x, int num, int axis = 0);
std::vector<Value> split(Value x, const std::vector<std::int64_t>& sizes, int axis = 0);
// Along a new axis; and back.
Value stack(const std::vector<Value>& values, int axis = 0);
std::vector<Value> unstack(Value x, int num, int axis = 0);

// `size` elements per axis from `begin` on; size -1: the rest.
Value slice(Value x, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& size);
Value slice(Value x, Value begin, Value size);

// What may stand between the brackets of x[...], as in NumPy.
struct Slice {
  std::optional<std::int64_t> begin = {}, end = {};
  std::int64_t step = 1;
};
struct NewAxis {};
struct Ellipsis {};
inline constexpr NewAxis kNewAxis;
inline constexpr Ellipsis kEllipsis;
using Index = std::variant<std::int64_t, Slice, NewAxis, Ellipsis>;
// x[0, 1:-1, ..., newaxis] is index(x, {0, Slice{1, -1}, kEllipsis, kNewAxis}).
Value index(Value x, const std::vector<Index>& indices);

// paddings[axis] = {before, after}; mode "CONSTANT", "REFLECT" or "SYMMETRIC".
Value pad(Value x, const std::vector<std::pair<std::int64_t, std::int64_t>>& paddings,
          std::string_view mode = "CONSTANT", double constant_value = 0);

// multiples[axis] copies side by side.
Value tile(Value x, const std::vector<std::int64_t>& multiples);
Value reverse(Value x, const std::vector<int>& axes);
// The first lengths[b] elements of row b reversed along seq_axis.
Value reverse_sequence(Value x, Value lengths, int seq_axis, int batch_axis = 0);
// Shifted along axes, with what falls off coming back at the other end.
Value roll(Value x, const std::vector<std::int64_t>& shifts, const std::vector<int>& axes);

Value space_to_depth(Value x, int block_size, std::string_view data_format = "NHWC");
Value depth_to_space(Value x, int block_size, std::string_view data_format = "NHWC");
Value space_to_batch(Value x, Value block_shape, Value paddings);
Value batch_to_space(Value x, Value block_shape, Value crops);

// Batches of matrices with x on their diagonals; the diagonals of a batch of matrices; those replaced.
Value matrix_diag(Value diagonal);
Value matrix_diag_part(Value x);
Value matrix_set_diag(Value x, Value diagonal);
// Everything outside a band becomes zero; a negative width keeps the whole triangle.
Value matrix_band_part(Value x, std::int64_t num_lower, std::int64_t num_upper);

}  // namespace argosy
