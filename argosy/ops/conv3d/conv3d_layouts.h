// Volumes with channels last, whatever layout an op has them in: what kernels compute with. Private to this folder.
#pragma once

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/conv3d/conv3d_geometry.h"

namespace argosy::windows3d {

// A volume's shape with channels last, from the op's.
Shape last_of(const Shape& shape, bool channels_first);

// Volumes of one kernel's call. Those of NCDHW are copied, into memory that lasts as long as the call's scratch.
class Layouts {
 public:
  Layouts(KernelContext& c, bool channels_first) : c_(c), first_(channels_first) {}

  Shape last(const Shape& shape) const { return last_of(shape, first_); }
  Result<Shape> own(const Shape& last) const;
  Result<Tensor> read(const Tensor& volume);
  // Output 0, to be written with channels last; finish() puts it in order.
  Result<Tensor> write(const Shape& last);
  void finish();

 private:
  Result<Tensor> scratch(DType dtype, const Shape& shape);

  KernelContext& c_;
  const bool first_;
  Tensor written_, output_;
};

}  // namespace argosy::windows3d
