// Converts the volumes of an op to channels last, the layout that kernels compute in. Private to this folder.
#pragma once

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/conv3d/conv3d_geometry.h"

namespace argosy::windows3d {

// Returns the shape with channels last of an op's volume.
Shape last_of(const Shape& shape, bool channels_first);

// The volumes of one run of a kernel. Volumes in NCDHW are copied, into scratch memory of the run.
class Layouts {
 public:
  Layouts(KernelContext& c, bool channels_first) : c_(c), first_(channels_first) {}

  Shape last(const Shape& shape) const { return last_of(shape, first_); }
  Result<Shape> own(const Shape& last) const;
  Result<Tensor> read(const Tensor& volume);
  // Returns the tensor to write output 0 into, with channels last; finish() copies it to the op's layout.
  Result<Tensor> write(const Shape& last);
  void finish();

 private:
  Result<Tensor> scratch(DType dtype, const Shape& shape);

  KernelContext& c_;
  const bool first_;
  Tensor written_, output_;
};

}  // namespace argosy::windows3d
