// The base of kernels that slide a window over volumes or images. Private to this folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/conv3d/conv3d_geometry.h"

namespace argosy::windows3d {

using Sizes = std::vector<std::int64_t>;

class Windowed : public Kernel {
 public:
  Windowed(std::string op, windows3d::Attributes attributes) : op_(std::move(op)), attributes_(std::move(attributes)) {}
  template <typename K>
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(windows3d::Attributes a, windows3d::read_attributes(init.op.name, init.attrs));
    return std::unique_ptr<Kernel>(std::make_unique<K>(init.op.name, std::move(a)));
  }

 protected:
  // Returns the windows over an input of shape `x`, and sets `y` to the output's shape. Both shapes have channels last.
  Result<Geometry> geometry(const Shape& x, const Sizes& filter, Shape& y) const {
    if (x.rank() != attributes_.spatial + 2) {
      return invalid_argument(op_, ": the input must have ", attributes_.spatial + 2, " axes, not shape ", x);
    }
    ARGOSY_ASSIGN_OR_RETURN(const Geometry g, windows3d::place_windows(
                                                  op_, attributes_, Sizes(x.sizes().begin(), x.sizes().end()), filter));
    ARGOSY_ASSIGN_OR_RETURN(y, Shape::make(windows3d::output_sizes(g, attributes_, g.channels)));
    return g;
  }
  Status expect(const Tensor& t, const Shape& shape, const char* what) const {
    if (t.shape() == shape) return ok_status();
    return invalid_argument(op_, ": ", what, " has shape ", t.shape(), ", not ", shape);
  }

  const std::string op_;
  const windows3d::Attributes attributes_;
};

void add_conv3d(KernelRegistry& kernels);
void add_pools(KernelRegistry& kernels);

}  // namespace argosy::windows3d
