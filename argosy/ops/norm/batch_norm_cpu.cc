#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/norm/batch_norm_layout.h"
#include "argosy/ops/norm/batch_norm_loops.h"
#include "argosy/ops/norm/norm_registration.h"

namespace argosy {

using batch_norm::Layout;
using batch_norm::Options;

namespace batch_norm {

Result<Options> Options::read(const KernelInit& init) {
  const std::string& format = init.attrs.get_string("data_format");
  const std::string activation = init.attrs.get_or<std::string>("activation_mode", "Identity");
  Options o{init.op.name,
            init.attrs.get_float("epsilon"),
            init.attrs.get_or<float>("exponential_avg_factor", 1),
            init.attrs.get_bool("is_training"),
            format[1] == 'C',
            static_cast<int>(format.size())};
  o.relu = activation == "Relu";
  o.sides = static_cast<int>(init.attrs.get_or<std::int64_t>("num_side_inputs", 0));
  if (!o.relu && activation != "Identity") {
    return invalid_argument(o.op, ": there is no activation_mode \"", activation, "\"; there are Identity, Relu");
  }
  if (o.sides > 1) return invalid_argument(o.op, ": num_side_inputs must be 0 or 1, not ", o.sides);
  return o;
}

Result<Layout> Options::layout(const Shape& x) const {
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

Status must_be_channels(KernelContext& c, const Options& o, int i, std::int64_t channels) {
  const Shape& shape = c.input(i).shape();
  if (shape.rank() == 1 && shape[0] == channels) return ok_status();
  return invalid_argument(o.op, ": input ", i, " must be a vector of ", channels,
                          " numbers, one a channel, not of shape ", shape)
      .with_id("ARG-SHAPE-014");
}

std::int64_t blocks_of(const Layout& l) {
  return std::clamp<std::int64_t>(l.count() * l.channels / (1 << 14), 1, std::min<std::int64_t>(32, l.count()));
}

std::int64_t row_grain(const Layout& l) {
  return std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(1, l.channels));
}

Result<const float*> as_float(KernelContext& c, const Tensor& x, Buffer& memory) {
  if (x.dtype() == DType::kFloat32) return x.raw_as<const float>();
  ARGOSY_ASSIGN_OR_RETURN(memory, c.scratch(static_cast<std::size_t>(x.elements()) * sizeof(float)));
  auto* const wide = reinterpret_cast<float*>(memory.data());
  parallel_for(x.elements(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    widen(x.dtype(), x.raw_as<std::uint16_t>() + begin, wide + begin, end - begin);
  });
  return wide;
}

}  // namespace batch_norm

namespace {

using namespace batch_norm;  // NOLINT(google-build-using-namespace): its own

// Mean and sum of squared distances of every channel, by block, then merged (Chan, Golub and LeVeque 1979).
template <typename T>
Status find_moments(KernelContext& c, const Layout& l, const T* x, float* mean, float* squares) {
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

template <bool fast>
class BatchNormKernel final : public Kernel, public Workspace {
 public:
  explicit BatchNormKernel(Options options) : o_(std::move(options)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(Options options, Options::read(init));
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
    if (o_.sides > 0 && !(c.input(5).shape() == x.shape())) {
      return invalid_argument(o_.op, ": side_input and x must have one shape, not ", c.input(5).shape(), " and ",
                              x.shape())
          .with_id("ARG-SHAPE-013");
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
    ARGOSY_RETURN_IF_ERROR(find_statistics(c, l, stats));
    return normalise(c, l, stats[2], stats[3], *y);
  }

  std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override {
    const auto x = init.input_shapes[0].full();
    if (!x.ok()) return std::nullopt;
    const auto l = o_.layout(*x);
    if (!l.ok() || x->elements() == 0) return 0;
    const auto line = static_cast<std::uint64_t>(l->channels) * sizeof(float);
    std::uint64_t moments = 0;
    if (o_.training && fast) {
      if (init.input_dtypes[0] == DType::kFloat16) moments += static_cast<std::uint64_t>(x->elements()) * sizeof(float);
      const std::int64_t blocks = blocks_of(*l);
      if (blocks > 1) moments += 2 * static_cast<std::uint64_t>(blocks) * line;
    }
    return std::max(moments, 2 * line);
  }

 private:
  Status find_statistics(KernelContext& c, const Layout& l, float* const* stats) const {
    float *const mean = stats[2], *const variance = stats[3];
    if (!o_.training) {
      for (int i = 0; i < 4; ++i) std::copy_n(c.input(3 + i % 2).data<float>(), l.channels, stats[i]);
      return ok_status();
    }
    const Tensor& x = c.input(0);
    if (fast && x.dtype() == DType::kBfloat16) {
      ARGOSY_RETURN_IF_ERROR(find_moments(c, l, x.raw_as<const bfloat16>(), mean, variance));
    } else if (fast) {
      Buffer memory;
      ARGOSY_ASSIGN_OR_RETURN(const float* const wide, as_float(c, x, memory));
      ARGOSY_RETURN_IF_ERROR(find_moments(c, l, wide, mean, variance));
    } else {
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

  // y = x * factor + shift, and what was fused behind it
  Status normalise(KernelContext& c, const Layout& l, const float* mean, const float* variance, const Tensor& y) const {
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(2 * l.channels) * sizeof(float)));
    auto* const factor = reinterpret_cast<float*>(memory.data());
    float* const shift = factor + l.channels;
    for (std::int64_t i = 0; i < l.channels; ++i) {
      factor[i] = o_.factor_of(c.input(1).data<float>()[i], variance[i]);
      shift[i] = Options::shift_of(c.input(2).data<float>()[i], mean[i], factor[i]);
    }
    const std::int64_t n = l.channels;
    if (fast && y.dtype() == DType::kFloat32) return by_rows<float>(c, l, factor, shift, y);
    if (fast && y.dtype() == DType::kBfloat16) return by_rows<bfloat16>(c, l, factor, shift, y);
    return dispatch<Types>(y.dtype(), o_.op, [&]<typename T>() {
      const T* const x = c.input(0).data<T>();
      const T* const side = o_.sides > 0 ? c.input(5).data<T>() : nullptr;
      parallel_for(y.elements(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t ch = i / l.inner % n;
          float v = static_cast<float>(x[i]) * factor[ch] + shift[ch];
          if (side != nullptr) v += static_cast<float>(side[i]);
          y.data<T>()[i] = T(o_.relu && v < 0 ? 0.0f : v);
        }
      });
      return ok_status();
    });
  }

  template <typename T>
  Status by_rows(KernelContext& c, const Layout& l, const float* factor, const float* shift, const Tensor& y) const {
    const T *const x = c.input(0).data<T>(), *const side = o_.sides > 0 ? c.input(5).data<T>() : nullptr;
    const std::int64_t n = l.channels;
    parallel_for(l.count(), row_grain(l), [&](std::int64_t begin, std::int64_t end) {
      norm_rows::apply(end - begin, n, x + begin * n, factor, shift, side != nullptr ? side + begin * n : nullptr,
                       o_.relu, y.raw_as<T>() + begin * n);
    });
    return ok_status();
  }

  Options o_;
};

}  // namespace

void add_kernels_cpu_batch_norm(KernelRegistry& kernels) {
  for (const char* op : {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "_FusedBatchNormEx"}) {
    kernels.add(op, "cpu", BatchNormKernel<true>::make);
    kernels.add(op, "cpu", BatchNormKernel<false>::make);
  }
}

}  // namespace argosy
