#include "argosy/ops/conv3d/conv3d_layouts.h"

#include <algorithm>

#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy::windows3d {

namespace {

constexpr int kRank = 5;

// Converts between volumes with channels first and channels last.
void transpose(const Tensor& to, const Tensor& from, bool to_last) {
  const Shape& last = to_last ? to.shape() : from.shape();
  const std::int64_t channels = last[4], cells = last[1] * last[2] * last[3];
  Region region;
  region.add(last[0], cells * channels, cells * channels);
  region.add(cells, to_last ? channels : 1, to_last ? 1 : channels);
  region.add(channels, to_last ? 1 : cells, to_last ? cells : 1);
  copy_region(to, 0, from, 0, region);
}

}  // namespace

Shape last_of(const Shape& shape, bool channels_first) {
  if (!channels_first || shape.rank() != kRank) return shape;
  return {shape[0], shape[2], shape[3], shape[4], shape[1]};
}

Result<Shape> Layouts::own(const Shape& last) const {
  if (!first_ || last.rank() != kRank) return last;
  return Shape::make(channels_second(std::vector<std::int64_t>(last.sizes().begin(), last.sizes().end())));
}

Result<Tensor> Layouts::scratch(DType dtype, const Shape& shape) {
  const auto bytes = static_cast<std::size_t>(shape.elements()) * element_bytes(dtype);
  ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c_.scratch(bytes));
  return Tensor(dtype, shape, memory);
}

Result<Tensor> Layouts::read(const Tensor& volume) {
  if (!first_ || volume.shape().rank() != kRank) return volume;
  if (volume.elements() == 0) return volume.reshaped(last(volume.shape()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor copy, scratch(volume.dtype(), last(volume.shape())));
  transpose(copy, volume, true);
  return copy;
}

Result<Tensor> Layouts::write(const Shape& last) {
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, own(last));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c_.output(0, shape));
  if (!first_) return *out;
  if (out->elements() == 0) return out->reshaped(last);
  output_ = *out;
  ARGOSY_ASSIGN_OR_RETURN(written_, scratch(out->dtype(), last));
  return written_;
}

void Layouts::finish() {
  if (written_.dtype() != DType::kInvalid) transpose(output_, written_, false);
}

}  // namespace argosy::windows3d
