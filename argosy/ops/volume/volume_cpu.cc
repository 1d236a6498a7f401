#include <algorithm>
#include <limits>

#include "argosy/base/parallel.h"
#include "argosy/op/kernel.h"
#include "argosy/ops/elementwise/functors.h"
#include "argosy/ops/volume/walk.h"

namespace argosy {

void add_conv3d(KernelRegistry& kernels);  // conv_cpu.cc

namespace {

using volume::Geometry;
using Sizes = std::vector<std::int64_t>;

class Windowed : public Kernel {
 public:
  Windowed(std::string op, volume::Attributes attributes) : op_(std::move(op)), attributes_(std::move(attributes)) {}
  template <typename K>
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(volume::Attributes a, volume::read_attributes(init.op.name, init.attrs));
    return std::unique_ptr<Kernel>(std::make_unique<K>(init.op.name, std::move(a)));
  }

 protected:
  // Windows over an input of this shape, and the output's shape.
  Result<Geometry> geometry(const Shape& x, const Sizes& filter, Shape& y) const {
    if (x.rank() != attributes_.spatial + 2) {
      return invalid_argument(op_, ": the input must have ", attributes_.spatial + 2, " axes, not shape ", x);
    }
    ARGOSY_ASSIGN_OR_RETURN(const Geometry g,
                            volume::place_windows(op_, attributes_, Sizes(x.sizes().begin(), x.sizes().end()), filter));
    ARGOSY_ASSIGN_OR_RETURN(y, Shape::make(volume::output_sizes(g, attributes_, g.channels)));
    return g;
  }
  Status expect(const Tensor& t, const Shape& shape, const char* what) const {
    if (t.shape() == shape) return ok_status();
    return invalid_argument(op_, ": ", what, " has shape ", t.shape(), ", not ", shape);
  }

  const std::string op_;
  const volume::Attributes attributes_;
};

class Pool final : public Windowed {
 public:
  using Windowed::Windowed;
  Status run(KernelContext& c) override {
    if (op_.ends_with("Grad")) return op_.starts_with("Max") ? max_back(c) : average_back(c);
    Shape shape;
    ARGOSY_ASSIGN_OR_RETURN(const Geometry g, geometry(c.input(0).shape(), {}, shape));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (y->elements() == 0) return ok_status();
    const bool most = op_ == "MaxPool3D";
    return dispatch<FloatTypes>(y->dtype(), op_, [&]<typename T>() {
      using S = scalar::compute_t<T>;
      parallel_for(g.batch * g.windows(), 64, [&](std::int64_t begin, std::int64_t end) {
        std::vector<S> fold(static_cast<std::size_t>(g.channels));
        for (std::int64_t i = begin; i < end; ++i) {
          const T* const x = c.input(0).data<T>() + i / g.windows() * g.cells() * g.channels;
          std::fill(fold.begin(), fold.end(), most ? -std::numeric_limits<S>::infinity() : S(0));
          std::int64_t count = 0;
          volume::for_window(g, i % g.windows(), [&](std::int64_t cell, std::int64_t) {
            ++count;
            for (std::int64_t k = 0; k < g.channels; ++k) {
              S& to = fold[static_cast<std::size_t>(k)];
              const auto v = static_cast<S>(x[cell * g.channels + k]);
              to = most ? scalar::Maximum::call(to, v) : to + v;
            }
          });
          for (std::int64_t k = 0; k < g.channels; ++k) {
            const S v = fold[static_cast<std::size_t>(k)];
            y->data<T>()[i * g.channels + k] = static_cast<T>(most ? v : v / static_cast<S>(count));
          }
        }
      });
      return ok_status();
    });
  }

 private:
  // To the first of each window that is as great as its result.
  Status max_back(KernelContext& c) {
    Shape shape;
    ARGOSY_ASSIGN_OR_RETURN(const Geometry g, geometry(c.input(0).shape(), {}, shape));
    ARGOSY_RETURN_IF_ERROR(expect(c.input(1), shape, "orig_output"));
    ARGOSY_RETURN_IF_ERROR(expect(c.input(2), shape, "grad"));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, c.input(0).shape()));
    if (c.input(0).dtype() != dx->dtype()) return unsupported_dtype(op_, c.input(0).dtype());
    return dispatch<FloatTypes>(dx->dtype(), op_, [&]<typename T>() {
      std::fill_n(dx->data<T>(), dx->elements(), T(0.0f));
      for (std::int64_t i = 0; i < (shape.elements() == 0 ? 0 : g.batch * g.windows()); ++i) {
        const std::int64_t offset = i / g.windows() * g.cells() * g.channels;
        const T* const x = c.input(0).data<T>() + offset;
        for (std::int64_t k = 0; k < g.channels; ++k) {
          const auto wanted = static_cast<float>(c.input(1).data<T>()[i * g.channels + k]);
          std::int64_t found = -1;
          volume::for_window(g, i % g.windows(), [&](std::int64_t cell, std::int64_t) {
            if (found < 0 && static_cast<float>(x[cell * g.channels + k]) == wanted) found = cell;
          });
          if (found < 0) continue;
          T& to = dx->data<T>()[offset + found * g.channels + k];
          to = to + c.input(2).data<T>()[i * g.channels + k];
        }
      }
      return ok_status();
    });
  }

  Status average_back(KernelContext& c) {
    if (c.input(0).shape().rank() != 1) {
      return invalid_argument(op_, ": orig_input_shape must be a vector, not of shape ", c.input(0).shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(const Shape x, to_shape(c.input(0), "AvgPool3DGrad: orig_input_shape"));
    Shape shape;
    ARGOSY_ASSIGN_OR_RETURN(const Geometry g, geometry(x, {}, shape));
    ARGOSY_RETURN_IF_ERROR(expect(c.input(1), shape, "grad"));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, x));
    return dispatch<FloatTypes>(dx->dtype(), op_, [&]<typename T>() {
      using S = scalar::compute_t<T>;
      std::vector<S> sums(static_cast<std::size_t>(dx->elements()), S(0));
      for (std::int64_t i = 0; i < (shape.elements() == 0 ? 0 : g.batch * g.windows()); ++i) {
        S* const to = sums.data() + i / g.windows() * g.cells() * g.channels;
        std::int64_t count = 0;
        volume::for_window(g, i % g.windows(), [&](std::int64_t, std::int64_t) { ++count; });
        volume::for_window(g, i % g.windows(), [&](std::int64_t cell, std::int64_t) {
          for (std::int64_t k = 0; k < g.channels; ++k) {
            to[cell * g.channels + k] +=
                static_cast<S>(c.input(1).data<T>()[i * g.channels + k]) / static_cast<S>(count);
          }
        });
      }
      for (std::int64_t i = 0; i < dx->elements(); ++i)
        dx->data<T>()[i] = static_cast<T>(sums[static_cast<std::size_t>(i)]);
      return ok_status();
    });
  }
};

class Dilation final : public Windowed {
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
  // The first of the cells with the greatest sum; at least one lies inside.
  struct Best {
    std::int64_t cell = 0, filter_cell = 0;
  };
  template <typename T>
  static Best greatest(const Geometry& g, std::int64_t window, const T* x, const T* filter, std::int64_t k) {
    Best best;
    bool any = false;
    T most{};
    volume::for_window(g, window, [&](std::int64_t cell, std::int64_t filter_cell) {
      const T sum = static_cast<T>(x[cell * g.channels + k] + filter[filter_cell * g.channels + k]);
      if (any && !(sum > most)) return;
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

void add_kernels_cpu_volume(KernelRegistry& kernels) {
  add_conv3d(kernels);
  for (const char* op : {"MaxPool3D", "MaxPool3DGrad", "AvgPool3D", "AvgPool3DGrad"}) {
    kernels.add(op, "cpu", Windowed::make<Pool>);
  }
  for (const char* op : {"Dilation2D", "Dilation2DBackpropInput", "Dilation2DBackpropFilter"}) {
    kernels.add(op, "cpu", Windowed::make<Dilation>);
  }
}

}  // namespace argosy
