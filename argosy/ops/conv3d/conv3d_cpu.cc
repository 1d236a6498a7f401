#include <algorithm>
#include <cmath>
#include <type_traits>

#include "argosy/ops/conv3d/window_cells.h"
#include "argosy/ops/conv3d/windowed_kernel.h"

namespace argosy {

namespace {

using windows3d::Geometry;

class Dilation final : public windows3d::Windowed {
 public:
  using Windowed::Windowed;
  Status run(KernelContext& c) override {
    const Tensor& filter = c.input(1);
    if (filter.shape().rank() != 3 || c.input(0).shape().rank() != 4 || filter.shape()[2] != c.input(0).shape()[3]) {
      return invalid_argument(op_, ": input ", c.input(0).shape(), " and filter ", filter.shape(),
                              " must be [batch, height, width, channels] and [height, width, channels]");
    }
    Shape shape;
    ARGOSY_ASSIGN_OR_RETURN(const Geometry g,
                            geometry(c.input(0).shape(), {filter.shape()[0], filter.shape()[1]}, shape));
    const bool to_input = op_ == "Dilation2DBackpropInput", to_filter = op_ == "Dilation2DBackpropFilter";
    if (to_input || to_filter) ARGOSY_RETURN_IF_ERROR(expect(c.input(2), shape, "out_backprop"));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, to_input    ? c.input(0).shape()
                                                           : to_filter ? filter.shape()
                                                                       : shape));
    return dispatch<RealTypes>(out->dtype(), op_, [&]<typename T>() {
      if (to_input || to_filter) std::fill_n(out->data<T>(), out->elements(), T(0));
      const std::int64_t all = shape.elements() == 0 ? 0 : g.batch * g.windows();
      for (std::int64_t i = 0; i < all; ++i) {
        const std::int64_t offset = i / g.windows() * g.cells() * g.channels;
        for (std::int64_t k = 0; k < g.channels; ++k) {
          const Best best = greatest<T>(g, i % g.windows(), c.input(0).data<T>() + offset, filter.data<T>(), k);
          if (to_input || to_filter) {
            T& to = out->data<T>()[to_input ? offset + best.cell * g.channels + k : best.filter_cell * g.channels + k];
            to = static_cast<T>(to + c.input(2).data<T>()[i * g.channels + k]);
          } else {
            out->data<T>()[i * g.channels + k] = value<T>(best, c.input(0).data<T>() + offset, filter.data<T>(), g, k);
          }
        }
      }
      return ok_status();
    });
  }

 private:
  // The first cell with the greatest sum; at least one lies inside. As in TensorFlow, NaN is never the greatest.
  struct Best {
    std::int64_t cell = 0, filter_cell = 0;
  };
  template <typename T>
  static bool is_nan(T v) {
    if constexpr (std::is_integral_v<T>) {
      return false;
    } else {
      return std::isnan(static_cast<float>(v));
    }
  }
  template <typename T>
  static Best greatest(const Geometry& g, std::int64_t window, const T* x, const T* filter, std::int64_t k) {
    Best best;
    bool any = false;
    T most{};
    windows3d::for_window(g, window, [&](std::int64_t cell, std::int64_t filter_cell) {
      const T sum = static_cast<T>(x[cell * g.channels + k] + filter[filter_cell * g.channels + k]);
      if (any && (is_nan(sum) || !(is_nan(most) || sum > most))) return;
      any = true;
      most = sum;
      best = {cell, filter_cell};
    });
    return best;
  }
  template <typename T>
  static T value(const Best& best, const T* x, const T* filter, const Geometry& g, std::int64_t k) {
    return static_cast<T>(x[best.cell * g.channels + k] + filter[best.filter_cell * g.channels + k]);
  }
};

}  // namespace

void add_kernels_cpu_conv3d(KernelRegistry& kernels) {
  windows3d::add_conv3d(kernels);
  windows3d::add_pools(kernels);
  for (const char* op : {"Dilation2D", "Dilation2DBackpropInput", "Dilation2DBackpropFilter"}) {
    kernels.add(op, "cpu", windows3d::Windowed::make<Dilation>);
  }
}

}  // namespace argosy
