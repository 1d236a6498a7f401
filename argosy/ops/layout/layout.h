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
Value transpose(Value x);              // axes in reverse order
Value transpose(Value x, Value perm);  // axis i of the result is axis perm[i] of x
// y[x[i]] = i.
Value invert_permutation(Value x);

// One after the other along `axis`.
Value concat(const std::vector<Value>& values, int axis);
// Into `num` equal pieces, or pieces of given sizes (one may be -1: the rest).
std::vector<Value> split(Value x, int num, int axis = 0);
// Parts of these sizes along an axis; one of them may be -1, the rest.
std::vector<Value> split(Value x, const std::vector<std::int64_t>& sizes, int axis = 0);
// Along a new axis; and back.
Value stack(const std::vector<Value>& values, int axis = 0);
std::vector<Value> unstack(Value x, int num, int axis = 0);  // the `num` parts along an axis, without that axis

// `size` elements per axis from `begin` on; size -1: the rest.
Value slice(Value x, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& size);
// Size[i] elements from begin[i] on along axis i; size -1: all that are left.
Value slice(Value x, Value begin, Value size);

// What may stand between the brackets of x[...], as in NumPy.
struct Slice {
  std::optional<std::int64_t> begin = {}, end = {};  // below 0: from the end; unset: the end that `step` comes from
  std::int64_t step = 1;                             // below 0: backwards
};
struct NewAxis {};
struct Ellipsis {};
inline constexpr NewAxis kNewAxis;                                   // a new axis of size 1
inline constexpr Ellipsis kEllipsis;                                 // all axes that are not named
using Index = std::variant<std::int64_t, Slice, NewAxis, Ellipsis>;  // one index of index()
// x[0, 1:-1, ..., newaxis] is index(x, {0, Slice{1, -1}, kEllipsis, kNewAxis}).
Value index(Value x, const std::vector<Index>& indices);

// paddings[axis] = {before, after}; mode "CONSTANT", "REFLECT" or "SYMMETRIC".
Value pad(Value x, const std::vector<std::pair<std::int64_t, std::int64_t>>& paddings,
          std::string_view mode = "CONSTANT", double constant_value = 0);

// multiples[axis] copies side by side.
Value tile(Value x, const std::vector<std::int64_t>& multiples);
Value reverse(Value x, const std::vector<int>& axes);  // the elements in reverse order along these axes
// The first lengths[b] elements of row b reversed along seq_axis.
Value reverse_sequence(Value x, Value lengths, int seq_axis, int batch_axis = 0);
// Shifted along axes, with what falls off coming back at the other end.
Value roll(Value x, const std::vector<std::int64_t>& shifts, const std::vector<int>& axes);

// Blocks of pixels become channels.
Value space_to_depth(Value x, int block_size, std::string_view data_format = "NHWC");
// Channels become blocks of pixels.
Value depth_to_space(Value x, int block_size, std::string_view data_format = "NHWC");
Value space_to_batch(Value x, Value block_shape,
                     Value paddings);                           // blocks of a padded image become images of the batch
Value batch_to_space(Value x, Value block_shape, Value crops);  // the way back; `crops` are cut off

// Batches of matrices with x on their diagonals; the diagonals of a batch of matrices; those replaced.
Value matrix_diag(Value diagonal);
Value matrix_diag_part(Value x);                 // the main diagonal of the last two axes
Value matrix_set_diag(Value x, Value diagonal);  // x, with this main diagonal
// Everything outside a band becomes zero; a negative width keeps the whole triangle.
Value matrix_band_part(Value x, std::int64_t num_lower, std::int64_t num_upper);

}  // namespace argosy
