// Truths as bits.
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/array/array_registration.h"

namespace argosy {

namespace {

// Eight elements along the last axis become one.
Status bitpack_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  const PartialShape& x = c.input(0);
  if (!x.has_rank()) return ok_status();
  if (x.rank() == 0) return invalid_argument("CompareAndBitpack: input should be at least a vector, not a scalar");
  std::vector<std::int64_t> sizes = x.sizes();
  if (sizes.back() >= 0 && sizes.back() % 8 != 0) {
    return invalid_argument("CompareAndBitpack: the last axis of ", x, " must have a multiple of 8 elements");
  }
  if (sizes.back() >= 0) sizes.back() /= 8;
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

}  // namespace

void define_bit_masks(OpRegistry& ops) {
  ops.add({.name = "CompareAndBitpack",
           .doc = "Which elements are above a threshold, eight to a byte, the first in the highest bit.",
           .inputs = {"input: T", "threshold: T"},
           .outputs = {"output: uint8"},
           .attrs = {"T: {bool, half, float, double, int8, int16, int32, int64}"},
           .shape = bitpack_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "i.. 1, - -> i.. 1"});
}

}  // namespace argosy
