#include <algorithm>
#include <limits>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/conv3d/conv3d_layouts.h"
#include "argosy/ops/conv3d/window_cells.h"
#include "argosy/ops/conv3d/windowed_kernel.h"
#include "argosy/ops/elementwise/functions/functors.h"

namespace argosy::windows3d {

namespace {

// Pools of volumes.
class Pool final : public Windowed, public Workspace {
 public:
  using Windowed::Windowed;
  Status run(KernelContext& c) override {
    Layouts layouts(c, attributes_.channels_first);
    ARGOSY_RETURN_IF_ERROR(op_ == "MaxPool3DGrad"       ? max_back(c, layouts)
                           : op_ == "MaxPool3DGradGrad" ? pick(c, layouts)
                           : op_ == "AvgPool3DGrad"     ? average_back(c, layouts)
                                                        : fold(c, layouts));
    layouts.finish();
    return ok_status();
  }

  // Volumes with channels first are copied.
  std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override {
    if (!attributes_.channels_first) return 0;
    std::optional<std::uint64_t> all = bytes_for(init.output_shapes[0], element_bytes(init.output_dtypes[0]));
    for (std::size_t i = op_ == "AvgPool3DGrad" ? 1 : 0; i < init.input_shapes.size(); ++i) {
      const auto one = bytes_for(init.input_shapes[i], element_bytes(init.input_dtypes[i]));
      all = all && one ? std::optional(*all + *one) : std::nullopt;
    }
    return all;
  }

 private:
  Status fold(KernelContext& c, Layouts& layouts) {
    Shape shape;
    ARGOSY_ASSIGN_OR_RETURN(const Geometry g, geometry(layouts.last(c.input(0).shape()), {}, shape));
    ARGOSY_ASSIGN_OR_RETURN(const Tensor from, layouts.read(c.input(0)));
    ARGOSY_ASSIGN_OR_RETURN(const Tensor y, layouts.write(shape));
    if (y.elements() == 0) return ok_status();
    const bool most = op_ == "MaxPool3D";
    return dispatch<FloatTypes>(y.dtype(), op_, [&]<typename T>() {
      using S = scalar::compute_t<T>;
      parallel_for(g.batch * g.windows(), 64, [&](std::int64_t begin, std::int64_t end) {
        std::vector<S> fold(static_cast<std::size_t>(g.channels));
        for (std::int64_t i = begin; i < end; ++i) {
          const T* const x = from.data<T>() + i / g.windows() * g.cells() * g.channels;
          std::fill(fold.begin(), fold.end(), most ? -std::numeric_limits<S>::infinity() : S(0));
          std::int64_t count = 0;
          for_window(g, i % g.windows(), [&](std::int64_t cell, std::int64_t) {
            ++count;
            for (std::int64_t k = 0; k < g.channels; ++k) {
              S& to = fold[static_cast<std::size_t>(k)];
              const auto v = static_cast<S>(x[cell * g.channels + k]);
              to = most ? scalar::Maximum::call(to, v) : to + v;
            }
          });
          for (std::int64_t k = 0; k < g.channels; ++k) {
            const S v = fold[static_cast<std::size_t>(k)];
            y.data<T>()[i * g.channels + k] = static_cast<T>(most ? v : v / static_cast<S>(count));
          }
        }
      });
      return ok_status();
    });
  }

  // Calls found(output element, input element) for the first element of each window that equals its maximum.
  template <typename T, typename Found>
  static void find_greatest(const Geometry& g, const T* x, const T* y, const Found& found) {
    for (std::int64_t i = 0; i < g.batch * g.windows(); ++i) {
      const std::int64_t offset = i / g.windows() * g.cells() * g.channels;
      for (std::int64_t k = 0; k < g.channels; ++k) {
        const auto wanted = static_cast<scalar::compute_t<T>>(y[i * g.channels + k]);
        std::int64_t at = -1;
        for_window(g, i % g.windows(), [&](std::int64_t cell, std::int64_t) {
          if (at < 0 && static_cast<scalar::compute_t<T>>(x[offset + cell * g.channels + k]) == wanted) at = cell;
        });
        if (at >= 0) found(i * g.channels + k, offset + at * g.channels + k);
      }
    }
  }

  Status max_back(KernelContext& c, Layouts& layouts) {
    Shape shape;
    const Shape image = layouts.last(c.input(0).shape());
    ARGOSY_ASSIGN_OR_RETURN(const Geometry g, geometry(image, {}, shape));
    ARGOSY_ASSIGN_OR_RETURN(const Shape own, layouts.own(shape));
    ARGOSY_RETURN_IF_ERROR(expect(c.input(1), own, "orig_output"));
    ARGOSY_RETURN_IF_ERROR(expect(c.input(2), own, "grad"));
    ARGOSY_ASSIGN_OR_RETURN(const Tensor dx, layouts.write(image));
    if (c.input(0).dtype() != dx.dtype()) return unsupported_dtype(op_, c.input(0).dtype());
    ARGOSY_ASSIGN_OR_RETURN(const Tensor x, layouts.read(c.input(0)));
    ARGOSY_ASSIGN_OR_RETURN(const Tensor y, layouts.read(c.input(1)));
    ARGOSY_ASSIGN_OR_RETURN(const Tensor dy, layouts.read(c.input(2)));
    return dispatch<FloatTypes>(dx.dtype(), op_, [&]<typename T>() {
      std::fill_n(dx.data<T>(), dx.elements(), T(0.0f));
      if (shape.elements() == 0) return ok_status();
      find_greatest(g, x.data<T>(), y.data<T>(), [&](std::int64_t out, std::int64_t in) {
        T& to = dx.data<T>()[in];
        to = to + dy.data<T>()[out];
      });
      return ok_status();
    });
  }

  Status pick(KernelContext& c, Layouts& layouts) {
    Shape shape;
    ARGOSY_ASSIGN_OR_RETURN(const Geometry g, geometry(layouts.last(c.input(0).shape()), {}, shape));
    ARGOSY_ASSIGN_OR_RETURN(const Shape own, layouts.own(shape));
    ARGOSY_RETURN_IF_ERROR(expect(c.input(1), own, "orig_output"));
    ARGOSY_RETURN_IF_ERROR(expect(c.input(2), c.input(0).shape(), "grad"));
    ARGOSY_ASSIGN_OR_RETURN(const Tensor to, layouts.write(shape));
    ARGOSY_ASSIGN_OR_RETURN(const Tensor x, layouts.read(c.input(0)));
    ARGOSY_ASSIGN_OR_RETURN(const Tensor y, layouts.read(c.input(1)));
    ARGOSY_ASSIGN_OR_RETURN(const Tensor d, layouts.read(c.input(2)));
    return dispatch<RealTypes>(to.dtype(), op_, [&]<typename T>() {
      std::fill_n(to.data<T>(), to.elements(), T(0));
      if (shape.elements() == 0) return ok_status();
      find_greatest(g, x.data<T>(), y.data<T>(),
                    [&](std::int64_t out, std::int64_t in) { to.data<T>()[out] = d.data<T>()[in]; });
      return ok_status();
    });
  }

  Status average_back(KernelContext& c, Layouts& layouts) {
    if (c.input(0).shape().rank() != 1) {
      return invalid_argument(op_, ": orig_input_shape must be a vector, not of shape ", c.input(0).shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(const Shape given, to_shape(c.input(0), "AvgPool3DGrad: orig_input_shape"));
    const Shape image = layouts.last(given);
    Shape shape;
    ARGOSY_ASSIGN_OR_RETURN(const Geometry g, geometry(image, {}, shape));
    ARGOSY_ASSIGN_OR_RETURN(const Shape own, layouts.own(shape));
    ARGOSY_RETURN_IF_ERROR(expect(c.input(1), own, "grad"));
    ARGOSY_ASSIGN_OR_RETURN(const Tensor dy, layouts.read(c.input(1)));
    ARGOSY_ASSIGN_OR_RETURN(const Tensor dx, layouts.write(image));
    return dispatch<FloatTypes>(dx.dtype(), op_, [&]<typename T>() {
      using S = scalar::compute_t<T>;
      std::vector<S> sums(static_cast<std::size_t>(dx.elements()), S(0));
      for (std::int64_t i = 0; i < (shape.elements() == 0 ? 0 : g.batch * g.windows()); ++i) {
        S* const to = sums.data() + i / g.windows() * g.cells() * g.channels;
        std::int64_t count = 0;
        for_window(g, i % g.windows(), [&](std::int64_t, std::int64_t) { ++count; });
        for_window(g, i % g.windows(), [&](std::int64_t cell, std::int64_t) {
          for (std::int64_t k = 0; k < g.channels; ++k) {
            to[cell * g.channels + k] += static_cast<S>(dy.data<T>()[i * g.channels + k]) / static_cast<S>(count);
          }
        });
      }
      for (std::int64_t i = 0; i < dx.elements(); ++i)
        dx.data<T>()[i] = static_cast<T>(sums[static_cast<std::size_t>(i)]);
      return ok_status();
    });
  }
};

}  // namespace

void add_pools(KernelRegistry& kernels) {
  for (const char* op : {"MaxPool3D", "MaxPool3DGrad", "MaxPool3DGradGrad", "AvgPool3D", "AvgPool3DGrad"}) {
    kernels.add(op, "cpu", Windowed::make<Pool>);
  }
}

}  // namespace argosy::windows3d
