#include <cmath>
#include <limits>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/fractional_pool/fractional_windows.h"

namespace argosy {

namespace {

using Types = TypeList<float, double, std::int32_t, std::int64_t>;
using Places = std::vector<std::int64_t>;

struct Span {
  std::int64_t begin, end;
};
// An axis of the input, and the boundaries of its windows.
struct Axis {
  Places places;
  std::int64_t size = 0;
  // Returns window i: it ends at the next one's start, or one element later if `overlapping`.
  Span window(std::int64_t i, bool overlapping) const {
    const auto at = static_cast<std::size_t>(i);
    return {places[at], std::min(places[at + 1] + (overlapping ? 1 : 0), size)};
  }
};

// Calls fn(row, column) for every pixel of the window of output (i, j).
template <typename Fn>
void for_window(const Axis& rows, const Axis& columns, std::int64_t i, std::int64_t j, bool overlapping, Fn&& fn) {
  const Span r = rows.window(i, overlapping), s = columns.window(j, overlapping);
  for (std::int64_t row = r.begin; row < r.end; ++row) {
    for (std::int64_t column = s.begin; column < s.end; ++column) fn(row, column);
  }
}

class Pool final : public Kernel {
 public:
  explicit Pool(const KernelInit& init)
      : op_(init.op.name),
        max_(op_ == "FractionalMaxPool"),
        ratios_(init.attrs.get<std::vector<float>>("pooling_ratio")),
        pseudo_random_(init.attrs.get_bool("pseudo_random")),
        overlapping_(init.attrs.get_bool("overlapping")),
        deterministic_(init.attrs.get_bool("deterministic")),
        seed_(init.attrs.get_int("seed")),
        seed2_(init.attrs.get_int("seed2")) {
    if (!deterministic_ || seed_ != 0 || seed2_ != 0) return;
    seed_ = static_cast<std::int64_t>(system_random_source().next());
    seed2_ = static_cast<std::int64_t>(system_random_source().next());
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    auto kernel = std::make_unique<Pool>(init);
    ARGOSY_RETURN_IF_ERROR(kernel->check());
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    if (x.shape().rank() != 4) return invalid_argument(op_, ": value must be 4-dimensional, not of shape ", x.shape());
    Places sizes;
    for (int i = 0; i < 4; ++i) {
      sizes.push_back(static_cast<std::int64_t>(
          std::floor(static_cast<float>(x.shape()[i]) / ratios_[static_cast<std::size_t>(i)])));
      if (sizes.back() > 0) continue;
      return invalid_argument(op_, ": Pooling ratio is higher than input dimension size for dimension ", i,
                              ". Input dim size: ", x.shape()[i],
                              " pooling ratio: ", ratios_[static_cast<std::size_t>(i)]);
    }
    SharedPhilox generator(seed_, seed2_);
    const Axis rows{fractional::draw_windows(x.shape()[1], sizes[1], pseudo_random_, generator), x.shape()[1]};
    const Axis columns{fractional::draw_windows(x.shape()[2], sizes[2], pseudo_random_, generator), x.shape()[2]};
    for (const auto& [i, places] : {std::pair{1, &rows.places}, {2, &columns.places}}) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const told, c.output(i, {static_cast<std::int64_t>(places->size())}));
      std::copy(places->begin(), places->end(), told->data<std::int64_t>());
    }
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    return dispatch<Types>(x.dtype(), op_, [&]<typename T>() {
      parallel_for(shape[0] * shape[1], 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t line = begin; line < end; ++line) pool_line<T>(x, *y, line, rows, columns);
      });
      return ok_status();
    });
  }

 private:
  Status check() const {
    if (ratios_.size() != 4) return invalid_argument(op_, ": pooling_ratio field must specify 4 dimensions");
    for (const float ratio : ratios_) {
      if (!(ratio >= 1)) return invalid_argument(op_, ": pooling_ratio cannot be smaller than 1, got: ", ratio);
    }
    if (ratios_[0] != 1 || ratios_[3] != 1) {
      return unimplemented(op_, " is not yet supported on the batch nor channel dimension.");
    }
    if (!deterministic_ && (seed_ != 0 || seed2_ != 0)) {
      return invalid_argument(op_, ": Both seed and seed2 should be 0 if deterministic is false.");
    }
    return ok_status();
  }

  // Computes row `line` of the output, counted over all images.
  template <typename T>
  void pool_line(const Tensor& x, Tensor& y, std::int64_t line, const Axis& rows, const Axis& columns) const {
    const std::int64_t height = x.shape()[1], width = x.shape()[2], channels = x.shape()[3];
    const std::int64_t image = line / y.shape()[1], i = line % y.shape()[1];
    const T* const from = x.data<T>() + image * height * width * channels;
    for (std::int64_t j = 0; j < y.shape()[2]; ++j) {
      T* const to = y.data<T>() + (line * y.shape()[2] + j) * channels;
      std::fill_n(to, channels, max_ ? std::numeric_limits<T>::lowest() : T(0));
      std::int64_t count = 0;
      for_window(rows, columns, i, j, overlapping_, [&](std::int64_t row, std::int64_t column) {
        const T* const at = from + (row * width + column) * channels;
        for (std::int64_t k = 0; k < channels; ++k) {
          if (max_) {
            if (to[k] < at[k]) to[k] = at[k];
          } else if constexpr (std::is_integral_v<T>) {
            using U = std::make_unsigned_t<T>;  // wraps round
            to[k] = static_cast<T>(static_cast<U>(to[k]) + static_cast<U>(at[k]));
          } else {
            to[k] += at[k];
          }
        }
        ++count;
      });
      for (std::int64_t k = 0; !max_ && k < channels; ++k) to[k] = static_cast<T>(to[k] / static_cast<T>(count));
    }
  }

  const std::string op_;
  const bool max_;
  const std::vector<float> ratios_;
  const bool pseudo_random_, overlapping_, deterministic_;
  std::int64_t seed_, seed2_;
};

class PoolGradient final : public Kernel {
 public:
  PoolGradient(std::string op, bool overlapping)
      : op_(std::move(op)), max_(op_ == "FractionalMaxPoolGrad"), overlapping_(overlapping) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<PoolGradient>(init.op.name, init.attrs.get_bool("overlapping")));
  }

  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, input_shape(c));
    const Tensor& dy = c.input(max_ ? 2 : 1);
    if (dy.shape().rank() != 4)
      return invalid_argument(op_, ": out_backprop must be 4-dimensional, not of shape ", dy.shape());
    ARGOSY_ASSIGN_OR_RETURN(const Axis rows, axis(c, max_ ? 3 : 2, dy.shape()[1], shape[1]));
    ARGOSY_ASSIGN_OR_RETURN(const Axis columns, axis(c, max_ ? 4 : 3, dy.shape()[2], shape[2]));
    if (dy.shape()[0] > shape[0] || dy.shape()[3] != shape[3]) {
      return invalid_argument(op_, ": out_backprop of shape ", dy.shape(), " does not come of an input of shape ",
                              shape);
    }
    if (max_ && c.input(1).shape() != dy.shape()) {
      return invalid_argument(op_, ": orig_output of shape ", c.input(1).shape(), ", out_backprop of shape ",
                              dy.shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, shape));
    return dispatch<Types>(dy.dtype(), op_, [&]<typename T>() {
      return max_ ? spread_to_maxima<T>(c, rows, columns, *dx) : spread_evenly<T>(c, dy, rows, columns, *dx);
    });
  }

 private:
  Result<Shape> input_shape(const KernelContext& c) const {
    if (max_) {
      if (c.input(0).shape().rank() == 4) return c.input(0).shape();
      return invalid_argument(op_, ": orig_input should be a tensor of rank 4, not of shape ", c.input(0).shape());
    }
    const Tensor& t = c.input(0);
    if (t.shape() != Shape{4}) {
      return invalid_argument(op_, ": original input tensor shape must be 1-dimensional and 4 elements, not ",
                              t.shape());
    }
    const std::int64_t* const sizes = t.data<std::int64_t>();
    for (const int i : {1, 2}) {
      if (sizes[i] == 0) return invalid_argument(op_, ": axis ", i, " of the input must not be 0");
    }
    return Shape::make(std::span(sizes, 4));
  }

  // Reads the boundaries of the windows of an axis, clamped to the input.
  Result<Axis> axis(const KernelContext& c, int i, std::int64_t windows, std::int64_t size) const {
    const Tensor& t = c.input(i);
    if (t.shape().rank() != 1)
      return invalid_argument(op_, ": a pooling sequence must be a vector, not of shape ", t.shape());
    if (t.elements() <= windows) {
      return invalid_argument(op_, ": a pooling sequence of ", t.elements(), " numbers for ", windows, " windows");
    }
    Axis held{.size = size};
    for (std::int64_t k = 0; k <= windows; ++k) {
      const std::int64_t place = t.data<std::int64_t>()[k];
      if (place < 0) return invalid_argument(op_, ": sequence tensor values must not be negative, got ", place);
      held.places.push_back(std::min(place, size));
    }
    return held;
  }

  template <typename T>
  Status spread_to_maxima(KernelContext& c, const Axis& rows, const Axis& columns, Tensor& dx) const {
    const Shape& in = dx.shape();
    const Tensor &x = c.input(0), &y = c.input(1), &dy = c.input(2);
    const std::int64_t channels = in[3];
    std::fill_n(dx.data<T>(), dx.elements(), T(0));
    for (std::int64_t line = 0; line < dy.shape()[0] * dy.shape()[1]; ++line) {
      const std::int64_t image = line / dy.shape()[1] * in[1] * in[2];
      for (std::int64_t j = 0; j < dy.shape()[2]; ++j) {
        for (std::int64_t k = 0; k < channels; ++k) {
          const std::int64_t out = (line * dy.shape()[2] + j) * channels + k;
          T most = std::numeric_limits<T>::lowest();
          std::int64_t at = -1;  // the first of equal ones
          for_window(rows, columns, line % dy.shape()[1], j, overlapping_, [&](std::int64_t row, std::int64_t column) {
            const std::int64_t place = (image + row * in[2] + column) * channels + k;
            if (at >= 0 && !(x.data<T>()[place] > most)) return;
            if (x.data<T>()[place] >= most) {
              most = x.data<T>()[place];
              at = place;
            }
          });
          if (!(most == y.data<T>()[out])) {
            return invalid_argument(op_, ": orig_output is not what orig_input gives: element ", out, " is not ", most);
          }
          if (at >= 0) dx.data<T>()[at] = static_cast<T>(dx.data<T>()[at] + dy.data<T>()[out]);
        }
      }
    }
    return ok_status();
  }

  // Summed up in float64, whatever the dtype.
  template <typename T>
  Status spread_evenly(KernelContext& c, const Tensor& dy, const Axis& rows, const Axis& columns, Tensor& dx) const {
    const Shape& in = dx.shape();
    const std::int64_t channels = in[3];
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(dx.elements()) * sizeof(double)));
    auto* const sums = reinterpret_cast<double*>(memory.data());
    std::fill_n(sums, dx.elements(), 0.0);
    for (std::int64_t line = 0; line < dy.shape()[0] * dy.shape()[1]; ++line) {
      const std::int64_t image = line / dy.shape()[1] * in[1] * in[2], i = line % dy.shape()[1];
      for (std::int64_t j = 0; j < dy.shape()[2]; ++j) {
        const T* const from = dy.data<T>() + (line * dy.shape()[2] + j) * channels;
        std::int64_t count = 0;
        for_window(rows, columns, i, j, overlapping_, [&](std::int64_t, std::int64_t) { ++count; });
        for_window(rows, columns, i, j, overlapping_, [&](std::int64_t row, std::int64_t column) {
          double* const to = sums + (image + row * in[2] + column) * channels;
          for (std::int64_t k = 0; k < channels; ++k)
            to[k] += static_cast<double>(from[k]) / static_cast<double>(count);
        });
      }
    }
    for (std::int64_t i = 0; i < dx.elements(); ++i) dx.data<T>()[i] = static_cast<T>(sums[i]);
    return ok_status();
  }

  const std::string op_;
  const bool max_, overlapping_;
};

// Means are summed up in float64.
std::optional<std::uint64_t> gradient_bytes(const KernelInit& init) {
  return init.op.name == "FractionalMaxPoolGrad" ? 0 : bytes_for(init.output_shapes[0], sizeof(double));
}

}  // namespace

void add_kernels_cpu_fractional_pool(KernelRegistry& kernels) {
  for (const char* kind : {"Max", "Avg"}) {
    kernels.add(str_cat("Fractional", kind, "Pool"), "cpu", Pool::make);
    kernels.add(str_cat("Fractional", kind, "PoolGrad"), "cpu", with_workspace<PoolGradient::make, gradient_bytes>);
  }
}

}  // namespace argosy
