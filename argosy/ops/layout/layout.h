// Ops that move elements and compute nothing: transpose, concat, split, slices, pad, tile, reverse, diagonals. Names
// and defaults are those of tf.*.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Permutes axes: axis i of the result is axis perm[i] of x. Without perm, axes are reversed.
Value transpose(Value x, const std::vector<int>& perm);
Value transpose(Value x);              // axes in reverse order
Value transpose(Value x, Value perm);  // axis i of the result is axis perm[i] of x
// The inverse of a permutation: y[x[i]] = i.
Value invert_permutation(Value x);

// Concatenates values along `axis`.
Value concat(const std::vector<Value>& values, int axis);
// Splits x into `num` equal parts along `axis`.
std::vector<Value> split(Value x, int num, int axis = 0);
// Parts of these sizes along an axis; one of them may be -1, the rest.
std::vector<Value> split(Value x, const std::vector<std::int64_t>& sizes, int axis = 0);
// stack() joins values along a new axis; unstack() is the inverse.
Value stack(const std::vector<Value>& values, int axis = 0);
std::vector<Value> unstack(Value x, int num, int axis = 0);  // the `num` parts along an axis, without that axis

// `size` elements along each axis, from `begin` on; size -1: all that are left.
Value slice(Value x, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& size);
// size[i] elements along axis i, from begin[i] on; -1: all that are left.
Value slice(Value x, Value begin, Value size);

// A slice between the brackets of x[...], as in NumPy.
struct Slice {
  std::optional<std::int64_t> begin = {}, end = {};  // below 0: from the end; unset: all, as in NumPy
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

// Repeats x multiples[axis] times along each axis.
Value tile(Value x, const std::vector<std::int64_t>& multiples);
Value reverse(Value x, const std::vector<int>& axes);  // the elements in reverse order along these axes
// Reverses the first lengths[b] elements of row b along seq_axis.
Value reverse_sequence(Value x, Value lengths, int seq_axis, int batch_axis = 0);
// Shifts elements along axes; those shifted out come back at the other end.
Value roll(Value x, const std::vector<std::int64_t>& shifts, const std::vector<int>& axes);

// Moves blocks of pixels to channels.
Value space_to_depth(Value x, int block_size, std::string_view data_format = "NHWC");
// Moves channels to blocks of pixels.
Value depth_to_space(Value x, int block_size, std::string_view data_format = "NHWC");
Value space_to_batch(Value x, Value block_shape,
                     Value paddings);                           // blocks of a padded image become images of the batch
Value batch_to_space(Value x, Value block_shape, Value crops);  // the inverse; cuts off `crops`

// Matrices, zero except for their main diagonals, the last axis of `diagonal`.
Value matrix_diag(Value diagonal);
Value matrix_diag_part(Value x);                 // the main diagonal of the last two axes
Value matrix_set_diag(Value x, Value diagonal);  // x, with this main diagonal
// Sets everything outside a band to zero. A negative width keeps the whole triangle.
Value matrix_band_part(Value x, std::int64_t num_lower, std::int64_t num_upper);

}  // namespace argosy
