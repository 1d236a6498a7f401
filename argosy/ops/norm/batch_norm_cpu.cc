#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "argosy/base/parallel.h"
#include "argosy/ops/elementwise/kernels.h"
#include "argosy/ops/norm/norm_ops.h"
#include "argosy/ops/norm/rows.h"

namespace argosy {

namespace {

// Where channel c of x is: outer x channels x inner; inner is 1 where channels come last.
struct Layout {
  std::int64_t outer = 1, channels = 0, inner = 1;
  std::int64_t count() const { return outer * inner; }  // elements of one channel
};

struct Options {
  std::string op;
  float epsilon = 0, factor = 1;
  bool training = true, channels_first = false;
  int rank = 4;

  static Options read(const KernelInit& init) {
    const std::string& format = init.attrs.get_string("data_format");
    return {init.op.name,
            init.attrs.get_float("epsilon"),
            init.attrs.get_or<float>("exponential_avg_factor", 1),
            init.attrs.get_bool("is_training"),
            format[1] == 'C',
            static_cast<int>(format.size())};
  }
  Result<Layout> layout(const Shape& x) const {
    if (x.rank() != rank) {
      return invalid_argument(op, ": x must have rank ", rank, ", not shape ", x).with_id("ARG-SHAPE-004");
    }
    const int axis = channels_first ? 1 : rank - 1;
    Layout l{.channels = x[axis]};
    for (int i = 0; i < rank; ++i) {
      if (i < axis) l.outer *= x[i];
      if (i > axis) l.inner *= x[i];
    }
    return l;
  }
};

Status must_be_channels(KernelContext& c, const Options& o, int i, std::int64_t channels) {
  const Shape& shape = c.input(i).shape();
  if (shape.rank() == 1 && shape[0] == channels) return ok_status();
  return invalid_argument(o.op, ": input ", i, " must be a vector of ", channels,
                          " numbers, one a channel, not of shape ", shape)
      .with_id("ARG-SHAPE-014");
}

// Blocks of rows, few enough to be cheap to merge; their number does not depend on the team.
std::int64_t blocks_of(const Layout& l) {
  return std::clamp<std::int64_t>(l.count() * l.channels / (1 << 14), 1, std::min<std::int64_t>(32, l.count()));
}

// Mean and sum of squared distances of every channel, by block, then merged (Chan, Golub and LeVeque 1979).
Status find_moments(KernelContext& c, const Layout& l, const float* x, float* mean, float* squares) {
  const std::int64_t blocks = blocks_of(l), n = l.channels;
  if (blocks == 1) {
    norm_rows::moments(l.count(), n, x, mean, squares);
    return ok_status();
  }
  ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(2 * blocks * n) * sizeof(float)));
  auto* const means = reinterpret_cast<float*>(memory.data());
  float* const parts = means + blocks * n;
  const auto first_row = [&](std::int64_t b) { return l.count() * b / blocks; };
  parallel_for(blocks, 2, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      norm_rows::moments(first_row(b + 1) - first_row(b), n, x + first_row(b) * n, means + b * n, parts + b * n);
    }
  });
  std::copy_n(means, n, mean);
  std::copy_n(parts, n, squares);
  for (std::int64_t b = 1; b < blocks; ++b) {
    const auto before = static_cast<float>(first_row(b)), more = static_cast<float>(first_row(b + 1) - first_row(b));
    const float share = more / (before + more);
    for (std::int64_t i = 0; i < n; ++i) {
      const float away = means[b * n + i] - mean[i];
      mean[i] += away * share;
      squares[i] += parts[b * n + i] + away * away * before * share;
    }
  }
  return ok_status();
}

// The same sums as plain loops in double, for any layout and dtype.
template <typename T>
void plain_moments(const Layout& l, const T* x, float* mean, float* squares) {
  parallel_for(l.channels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t ch = begin; ch < end; ++ch) {
      const auto each = [&](const auto& body) {
        for (std::int64_t o = 0; o < l.outer; ++o) {
          const T* const run = x + (o * l.channels + ch) * l.inner;
          for (std::int64_t i = 0; i < l.inner; ++i) body(static_cast<double>(run[i]));
        }
      };
      double sum = 0, sum2 = 0;
      each([&](double v) { sum += v; });
      const double center = sum / static_cast<double>(l.count());
      each([&](double v) { sum2 += (v - center) * (v - center); });
      mean[ch] = static_cast<float>(center);
      squares[ch] = static_cast<float>(sum2);
    }
  });
}

// A float32 view of x: itself, or a widened copy.
Result<const float*> as_float(KernelContext& c, const Tensor& x, Buffer& memory) {
  if (x.dtype() == DType::kFloat32) return x.raw_as<const float>();
  ARGOSY_ASSIGN_OR_RETURN(memory, c.scratch(static_cast<std::size_t>(x.elements()) * sizeof(float)));
  auto* const wide = reinterpret_cast<float*>(memory.data());
  parallel_for(x.elements(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    widen(x.dtype(), x.raw_as<std::uint16_t>() + begin, wide + begin, end - begin);
  });
  return wide;
}

std::int64_t row_grain(const Layout& l) {
  return std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(1, l.channels));
}

using Types = TypeList<float, bfloat16, float16>;

template <bool fast>
class BatchNormKernel final : public Kernel {
 public:
  explicit BatchNormKernel(Options options) : o_(std::move(options)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    Options options = Options::read(init);
    if (fast && options.channels_first) return unimplemented("the fast kernel wants channels last");
    return std::unique_ptr<Kernel>(std::make_unique<BatchNormKernel>(std::move(options)));
  }

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const Layout l, o_.layout(x.shape()));
    const bool running = !o_.training || o_.factor != 1;
    for (int i = 1; i < 5; ++i) {
      const bool none = i > 2 && !running && c.input(i).shape() == Shape{0};
      if (!none) ARGOSY_RETURN_IF_ERROR(must_be_channels(c, o_, i, l.channels));
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
    float* stats[4];  // batch mean and variance, and what is kept for the gradient
    for (int i = 0; i < 4; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(i + 1, {l.channels}));
      stats[i] = out->data<float>();
    }
    if (c.num_outputs() > 5) {
      ARGOSY_RETURN_IF_ERROR(c.output(5, {0}).status());
    }
    if (x.elements() == 0) {
      for (int i = 0; i < 4; ++i) {
        const bool kept = i >= 2;
        std::fill_n(stats[i], l.channels, kept ? 0 : std::numeric_limits<float>::quiet_NaN());
      }
      return ok_status();
    }
    Buffer memory;
    const float* wide = nullptr;
    if (fast) {
      ARGOSY_ASSIGN_OR_RETURN(wide, as_float(c, x, memory));
    }
    ARGOSY_RETURN_IF_ERROR(find_statistics(c, l, wide, stats));
    return normalise(c, l, wide, stats[2], stats[3], *y);
  }

 private:
  Status find_statistics(KernelContext& c, const Layout& l, const float* wide, float* const* stats) const {
    float *const mean = stats[2], *const variance = stats[3];
    if (!o_.training) {
      for (int i = 0; i < 4; ++i) std::copy_n(c.input(3 + i % 2).data<float>(), l.channels, stats[i]);
      return ok_status();
    }
    if (fast) {
      ARGOSY_RETURN_IF_ERROR(find_moments(c, l, wide, mean, variance));
    } else {
      const Tensor& x = c.input(0);
      ARGOSY_RETURN_IF_ERROR(dispatch<Types>(x.dtype(), o_.op, [&]<typename T>() {
        plain_moments(l, x.data<T>(), mean, variance);
        return ok_status();
      }));
    }
    const auto count = static_cast<float>(l.count());
    const float unbiased = 1 / std::max(count - 1, 1.0f);  // Bessel's correction, as far as there is one
    for (std::int64_t i = 0; i < l.channels; ++i) {
      stats[0][i] = mean[i];
      stats[1][i] = variance[i] * unbiased;
      variance[i] /= count;
      if (o_.factor == 1) continue;
      stats[0][i] = (1 - o_.factor) * c.input(3).data<float>()[i] + o_.factor * stats[0][i];
      stats[1][i] = (1 - o_.factor) * c.input(4).data<float>()[i] + o_.factor * stats[1][i];
    }
    return ok_status();
  }

  // y = x * factor + shift
  Status normalise(KernelContext& c, const Layout& l, const float* wide, const float* mean, const float* variance,
                   const Tensor& y) const {
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(2 * l.channels) * sizeof(float)));
    auto* const factor = reinterpret_cast<float*>(memory.data());
    float* const shift = factor + l.channels;
    for (std::int64_t i = 0; i < l.channels; ++i) {
      factor[i] = c.input(1).data<float>()[i] / std::sqrt(variance[i] + o_.epsilon);
      shift[i] = c.input(2).data<float>()[i] - mean[i] * factor[i];
    }
    const std::int64_t n = l.channels;
    if (fast && y.dtype() == DType::kFloat32) {
      parallel_for(l.count(), row_grain(l), [&](std::int64_t begin, std::int64_t end) {
        norm_rows::apply(end - begin, n, wide + begin * n, factor, shift, y.raw_as<float>() + begin * n);
      });
      return ok_status();
    }
    return dispatch<Types>(y.dtype(), o_.op, [&]<typename T>() {
      const T* const x = c.input(0).data<T>();
      parallel_for(y.elements(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t ch = i / l.inner % n;
          y.data<T>()[i] = T(static_cast<float>(x[i]) * factor[ch] + shift[ch]);
        }
      });
      return ok_status();
    });
  }

  Options o_;
};

template <bool fast>
class BatchNormGradKernel final : public Kernel {
 public:
  explicit BatchNormGradKernel(Options options) : o_(std::move(options)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    Options options = Options::read(init);
    if (fast && options.channels_first) return unimplemented("the fast kernel wants channels last");
    return std::unique_ptr<Kernel>(std::make_unique<BatchNormGradKernel>(std::move(options)));
  }

  Status run(KernelContext& c) override {
    const Tensor &dy = c.input(0), &x = c.input(1);
    if (!(dy.shape() == x.shape())) {
      return invalid_argument(o_.op, ": y_backprop and x must have one shape, not ", dy.shape(), " and ", x.shape())
          .with_id("ARG-SHAPE-013");
    }
    ARGOSY_ASSIGN_OR_RETURN(const Layout l, o_.layout(x.shape()));
    for (int i = 2; i < 5; ++i) ARGOSY_RETURN_IF_ERROR(must_be_channels(c, o_, i, l.channels));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, x.shape()));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dscale, c.output(1, {l.channels}));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const doffset, c.output(2, {l.channels}));
    for (int i = 3; i < 5; ++i) ARGOSY_RETURN_IF_ERROR(c.output(i, {0}).status());
    float *const sum_dy = doffset->data<float>(), *const sum_dyx = dscale->data<float>();
    if (x.elements() == 0) {
      std::fill_n(sum_dy, l.channels, 0.0f);
      std::fill_n(sum_dyx, l.channels, 0.0f);
      return ok_status();
    }
    Buffer x_memory, dy_memory;
    const float *wide_x = nullptr, *wide_dy = nullptr;
    if (fast) {
      ARGOSY_ASSIGN_OR_RETURN(wide_x, as_float(c, x, x_memory));
      ARGOSY_ASSIGN_OR_RETURN(wide_dy, as_float(c, dy, dy_memory));
    }
    ARGOSY_RETURN_IF_ERROR(sums(c, l, wide_dy, wide_x, sum_dy, sum_dyx));
    return apply(c, l, wide_dy, wide_x, sum_dy, sum_dyx, *dx);
  }

 private:
  Status sums(KernelContext& c, const Layout& l, const float* wide_dy, const float* wide_x, float* sum_dy,
              float* sum_dyx) const {
    const float* const mean = c.input(3).data<float>();
    const std::int64_t n = l.channels;
    if (!fast) {
      return dispatch<Types>(c.input(1).dtype(), o_.op, [&]<typename T>() {
        plain_sums(l, c.input(0).data<T>(), c.input(1).data<T>(), mean, sum_dy, sum_dyx);
        return ok_status();
      });
    }
    const std::int64_t blocks = blocks_of(l);
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(2 * blocks * n) * sizeof(float)));
    auto* const parts = reinterpret_cast<float*>(memory.data());
    parallel_for(blocks, 2, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        const std::int64_t first = l.count() * b / blocks, last = l.count() * (b + 1) / blocks;
        norm_rows::gradient_sums(last - first, n, wide_dy + first * n, wide_x + first * n, mean, parts + 2 * b * n,
                                 parts + (2 * b + 1) * n);
      }
    });
    std::copy_n(parts, n, sum_dy);
    std::copy_n(parts + n, n, sum_dyx);
    for (std::int64_t b = 1; b < blocks; ++b) {
      for (std::int64_t i = 0; i < n; ++i) {
        sum_dy[i] += parts[2 * b * n + i];
        sum_dyx[i] += parts[(2 * b + 1) * n + i];
      }
    }
    return ok_status();
  }

  template <typename T>
  static void plain_sums(const Layout& l, const T* dy, const T* x, const float* mean, float* sum_dy, float* sum_dyx) {
    for (std::int64_t ch = 0; ch < l.channels; ++ch) {
      double sum = 0, sum_x = 0;
      for (std::int64_t o = 0; o < l.outer; ++o) {
        const std::int64_t at = (o * l.channels + ch) * l.inner;
        for (std::int64_t i = at; i < at + l.inner; ++i) {
          const double g = static_cast<double>(dy[i]);
          sum += g;
          sum_x += g * (static_cast<double>(x[i]) - static_cast<double>(mean[ch]));
        }
      }
      sum_dy[ch] = static_cast<float>(sum);
      sum_dyx[ch] = static_cast<float>(sum_x);
    }
  }

  // With r = 1 / sqrt(variance + epsilon) and N elements a channel:
  //   dx = scale r (dy - sum_dy / N - (x - mean) r^2 sum_dyx / N)     training
  //   dx = scale r dy                                                 else, the statistics being constants
  // and dscale = r sum_dyx, doffset = sum_dy. Written as dx = dy of_dy + x of_x + shift.
  Status apply(KernelContext& c, const Layout& l, const float* wide_dy, const float* wide_x, const float* sum_dy,
               float* sum_dyx, const Tensor& dx) const {
    const std::int64_t n = l.channels;
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(3 * n) * sizeof(float)));
    auto* const of_dy = reinterpret_cast<float*>(memory.data());
    float *const of_x = of_dy + n, *const shift = of_x + n;
    const float *const scale = c.input(2).data<float>(), *const mean = c.input(3).data<float>();
    const auto count = static_cast<float>(l.count());
    for (std::int64_t i = 0; i < n; ++i) {
      const float r = 1 / std::sqrt(c.input(4).data<float>()[i] + o_.epsilon);
      of_dy[i] = scale[i] * r;
      of_x[i] = o_.training ? -of_dy[i] * r * r * sum_dyx[i] / count : 0;
      shift[i] = o_.training ? -of_dy[i] * sum_dy[i] / count - of_x[i] * mean[i] : 0;
      sum_dyx[i] *= r;
    }
    if (fast && dx.dtype() == DType::kFloat32) {
      parallel_for(l.count(), row_grain(l), [&](std::int64_t begin, std::int64_t end) {
        norm_rows::apply_gradient(end - begin, n, wide_dy + begin * n, wide_x + begin * n, of_dy, of_x, shift,
                                  dx.raw_as<float>() + begin * n);
      });
      return ok_status();
    }
    return dispatch<Types>(dx.dtype(), o_.op, [&]<typename T>() {
      const T *const dy = c.input(0).data<T>(), *const x = c.input(1).data<T>();
      parallel_for(dx.elements(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t ch = i / l.inner % n;
          dx.data<T>()[i] = T(static_cast<float>(dy[i]) * of_dy[ch] + static_cast<float>(x[i]) * of_x[ch] + shift[ch]);
        }
      });
      return ok_status();
    });
  }

  Options o_;
};

}  // namespace

void add_kernels_cpu_batch_norm(KernelRegistry& kernels) {
  for (const char* version : {"", "V2", "V3"}) {
    kernels.add(str_cat("FusedBatchNorm", version), "cpu", BatchNormKernel<true>::make);
    kernels.add(str_cat("FusedBatchNorm", version), "cpu", BatchNormKernel<false>::make);
    kernels.add(str_cat("FusedBatchNormGrad", version), "cpu", BatchNormGradKernel<true>::make);
    kernels.add(str_cat("FusedBatchNormGrad", version), "cpu", BatchNormGradKernel<false>::make);
  }
}

}  // namespace argosy
