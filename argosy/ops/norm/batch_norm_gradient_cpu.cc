#include <algorithm>
#include <cmath>

#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/norm/batch_norm_layout.h"
#include "argosy/ops/norm/batch_norm_loops.h"
#include "argosy/ops/norm/norm_registration.h"

namespace argosy {

namespace {

using namespace batch_norm;  // NOLINT(google-build-using-namespace): its own

// The gradient that arrives at the normalisation, and its argument; float16 as float32 for the fast kernel's sums.
struct Sources {
  Tensor dy, x;
  const float *wide_dy = nullptr, *wide_x = nullptr;
};

// The fast kernel's loops are there for them.
bool has_loops(DType d) { return d == DType::kFloat32 || d == DType::kBfloat16; }

std::optional<std::uint64_t> scratch_bytes(const Options& o, bool fast, const KernelInit& init) {
  const auto x = init.input_shapes[1].full();
  if (!x.ok()) return std::nullopt;
  const auto l = o.layout(*x);
  if (!l.ok() || x->elements() == 0) return 0;
  const DType dtype = init.input_dtypes[1];
  const auto n = static_cast<std::uint64_t>(x->elements()),
             line = static_cast<std::uint64_t>(l->channels) * sizeof(float);
  std::uint64_t held = 0;
  if (o.sides == 0 && o.relu) held += fast && has_loops(dtype) ? 2 * line : n * element_bytes(dtype);
  if (fast && !has_loops(dtype)) held += 2 * n * sizeof(float);
  const std::uint64_t parts = fast ? 2 * static_cast<std::uint64_t>(blocks_of(*l)) * line : 0;
  return held + std::max(parts, 3 * line);
}

template <bool fast>
class BatchNormGradKernel final : public Kernel, public Workspace {
 public:
  explicit BatchNormGradKernel(Options options) : o_(std::move(options)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(Options options, Options::read(init));
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
    if (is_fused()) {
      ARGOSY_RETURN_IF_ERROR(must_be_channels(c, o_, 6, l.channels));
      if (!(c.input(7).shape() == x.shape())) {
        return invalid_argument(o_.op, ": y and x must have one shape, not ", c.input(7).shape(), " and ", x.shape())
            .with_id("ARG-SHAPE-013");
      }
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, x.shape()));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dscale, c.output(1, {l.channels}));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const doffset, c.output(2, {l.channels}));
    for (int i = 3; i < 5; ++i) ARGOSY_RETURN_IF_ERROR(c.output(i, {0}).status());
    Tensor* side = nullptr;
    if (o_.sides > 0) {
      ARGOSY_ASSIGN_OR_RETURN(side, c.output(5, x.shape()));
    }
    float *const sum_dy = doffset->data<float>(), *const sum_dyx = dscale->data<float>();
    if (x.elements() == 0) {
      std::fill_n(sum_dy, l.channels, 0.0f);
      std::fill_n(sum_dyx, l.channels, 0.0f);
      return ok_status();
    }
    Buffer x_memory, dy_memory, gate_memory, masked_memory;
    Sources s{.dy = dy, .x = x};
    norm_rows::Gate gate;
    if (side == nullptr && o_.relu && fast && has_loops(x.dtype())) {
      ARGOSY_ASSIGN_OR_RETURN(gate, gate_of(c, l, gate_memory));
    } else if (side != nullptr || o_.relu) {
      ARGOSY_ASSIGN_OR_RETURN(s.dy, let_through(c, side, masked_memory));
    }
    if (fast && !has_loops(x.dtype())) {
      ARGOSY_ASSIGN_OR_RETURN(s.wide_x, as_float(c, x, x_memory));
      ARGOSY_ASSIGN_OR_RETURN(s.wide_dy, as_float(c, s.dy, dy_memory));
    }
    ARGOSY_RETURN_IF_ERROR(sums(c, l, s, gate, sum_dy, sum_dyx));
    return apply(c, l, s, gate, sum_dy, sum_dyx, *dx);
  }

  std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override {
    return scratch_bytes(o_, fast, init);
  }

 private:
  bool is_fused() const { return o_.op == "_FusedBatchNormGradEx"; }

  // Where the ReLU let something through is computed again from x: cheaper than reading y. The same numbers as in the
  // forward pass, for the statistics kept are those it used.
  Result<norm_rows::Gate> gate_of(KernelContext& c, const Layout& l, Buffer& memory) const {
    ARGOSY_ASSIGN_OR_RETURN(memory, c.scratch(static_cast<std::size_t>(2 * l.channels) * sizeof(float)));
    auto* const factor = reinterpret_cast<float*>(memory.data());
    float* const shift = factor + l.channels;
    for (std::int64_t i = 0; i < l.channels; ++i) {
      factor[i] = o_.factor_of(c.input(2).data<float>()[i], c.input(4).data<float>()[i]);
      shift[i] = Options::shift_of(c.input(6).data<float>()[i], c.input(3).data<float>()[i], factor[i]);
    }
    return norm_rows::Gate{factor, shift};
  }

  // dy where y > 0 (everywhere without a ReLU): what the side input gets, too.
  Result<Tensor> let_through(KernelContext& c, Tensor* side, Buffer& memory) const {
    const Tensor &dy = c.input(0), &y = c.input(7);
    Tensor masked;
    if (side != nullptr) {
      masked = *side;
    } else {
      ARGOSY_ASSIGN_OR_RETURN(memory, c.scratch(dy.bytes()));
      masked = Tensor(dy.dtype(), dy.shape(), memory);
    }
    ARGOSY_RETURN_IF_ERROR(dispatch<Types>(dy.dtype(), o_.op, [&]<typename T>() {
      parallel_for(dy.elements(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
        const T *const from = dy.data<T>(), *const gate = y.data<T>();
        T* const to = masked.raw_as<T>();
        for (std::int64_t i = begin; i < end; ++i) {
          to[i] = o_.relu ? T(static_cast<float>(from[i]) * (static_cast<float>(gate[i]) > 0 ? 1.0f : 0.0f)) : from[i];
        }
      });
      return ok_status();
    }));
    return masked;
  }

  Status sums(KernelContext& c, const Layout& l, const Sources& s, norm_rows::Gate gate, float* sum_dy,
              float* sum_dyx) const {
    if (!fast) {
      return dispatch<Types>(s.x.dtype(), o_.op, [&]<typename T>() {
        plain_sums(l, s.dy.data<T>(), s.x.data<T>(), c.input(3).data<float>(), sum_dy, sum_dyx);
        return ok_status();
      });
    }
    if (s.wide_x != nullptr) return add_up(c, l, s.wide_dy, s.wide_x, gate, sum_dy, sum_dyx);
    if (s.x.dtype() == DType::kFloat32) {
      return add_up(c, l, s.dy.data<float>(), s.x.data<float>(), gate, sum_dy, sum_dyx);
    }
    return add_up(c, l, s.dy.data<bfloat16>(), s.x.data<bfloat16>(), gate, sum_dy, sum_dyx);
  }

  template <typename T>
  Status add_up(KernelContext& c, const Layout& l, const T* dy, const T* x, norm_rows::Gate gate, float* sum_dy,
                float* sum_dyx) const {
    const float* const mean = c.input(3).data<float>();
    const std::int64_t blocks = blocks_of(l), n = l.channels;
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(2 * blocks * n) * sizeof(float)));
    auto* const parts = reinterpret_cast<float*>(memory.data());
    parallel_for(blocks, 2, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        const std::int64_t first = l.count() * b / blocks, last = l.count() * (b + 1) / blocks;
        norm_rows::gradient_sums(last - first, n, dy + first * n, x + first * n, mean, gate, parts + 2 * b * n,
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
  Status apply(KernelContext& c, const Layout& l, const Sources& s, norm_rows::Gate gate, const float* sum_dy,
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
    const auto by_rows = [&]<typename T>(const T* dy, const T* x, T* to) {
      parallel_for(l.count(), row_grain(l), [&](std::int64_t begin, std::int64_t end) {
        norm_rows::apply_gradient(end - begin, n, dy + begin * n, x + begin * n, of_dy, of_x, shift, gate,
                                  to + begin * n);
      });
      return ok_status();
    };
    if (fast && dx.dtype() == DType::kFloat32) {
      return by_rows(s.dy.data<float>(), s.x.data<float>(), dx.raw_as<float>());
    }
    if (fast && dx.dtype() == DType::kBfloat16) {
      return by_rows(s.dy.data<bfloat16>(), s.x.data<bfloat16>(), dx.raw_as<bfloat16>());
    }
    return dispatch<Types>(dx.dtype(), o_.op, [&]<typename T>() {
      const T *const dy = s.dy.data<T>(), *const x = s.x.data<T>();
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

void add_kernels_cpu_batch_norm_gradient(KernelRegistry& kernels) {
  for (const char* op :
       {"FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3", "_FusedBatchNormGradEx"}) {
    kernels.add(op, "cpu", BatchNormGradKernel<true>::make);
    kernels.add(op, "cpu", BatchNormGradKernel<false>::make);
  }
}

}  // namespace argosy
