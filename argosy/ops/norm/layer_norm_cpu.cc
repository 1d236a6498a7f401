#include <algorithm>
#include <cmath>
#include <vector>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/elementwise/elementwise_kernels.h"
#include "argosy/ops/norm/layer_norm_inputs.h"
#include "argosy/ops/norm/layer_norm_loops.h"
#include "argosy/ops/norm/norm_registration.h"

namespace argosy {

namespace {

// The same as plain loops.
namespace plain {

template <typename T>
std::pair<T, T> row_moments(std::int64_t n, const T* x, T epsilon) {
  T mean = 0, squares = 0;
  for (std::int64_t i = 0; i < n; ++i) mean += x[i];
  mean /= static_cast<T>(n);
  for (std::int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return {mean, 1 / std::sqrt(squares / static_cast<T>(n) + epsilon)};
}
template <typename T>
void layer_norm(std::int64_t n, const T* x, const T* scale, const T* offset, T epsilon, T* y) {
  const auto [mean, inverse] = row_moments(n, x, epsilon);
  for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inverse * scale[i] + offset[i];
}
template <typename T>
void layer_norm_gradient(std::int64_t n, const T* dy, const T* x, const T* scale, T epsilon, T* dx, T* dscale,
                         T* doffset) {
  const auto [mean, inverse] = row_moments(n, x, epsilon);
  T sum = 0, sum_hat = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const T hat = (x[i] - mean) * inverse;
    dscale[i] += dy[i] * hat;
    doffset[i] += dy[i];
    sum += dy[i] * scale[i];
    sum_hat += dy[i] * scale[i] * hat;
  }
  const T count = static_cast<T>(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const T hat = (x[i] - mean) * inverse;
    dx[i] = inverse * (dy[i] * scale[i] - sum / count - hat * sum_hat / count);
  }
}

}  // namespace plain

constexpr std::int64_t kGrain = 1 << 14;  // elements
constexpr std::int64_t kBlocks = 16;      // partial sums, whatever the team

template <typename T>
using wide_t = std::conditional_t<sizeof(T) == 2, float, T>;

template <typename T>
void widen_row(const T* x, wide_t<T>* wide, std::int64_t n) {
  if constexpr (sizeof(T) == 2) {
    widen(dtype_of<T>(), x, wide, n);
  } else {
    std::copy_n(x, n, wide);
  }
}
template <typename T>
void narrow_row(const wide_t<T>* wide, T* x, std::int64_t n) {
  if constexpr (sizeof(T) == 2) {
    narrow(dtype_of<T>(), wide, x, n);
  } else {
    std::copy_n(wide, n, x);
  }
}

template <bool fast>
class LayerNorm final : public Kernel {
 public:
  explicit LayerNorm(float epsilon) : epsilon_(epsilon) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<LayerNorm>(init.attrs.get_float("epsilon")));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const auto sizes, check_layer_norm(c));
    const auto [rows, n] = sizes;
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
    return dispatch<FloatTypes>(x.dtype(), "_LayerNorm", [&, rows = rows, n = n]<typename T>() {
      using Wide = wide_t<T>;
      std::vector<Wide> parameters(sizeof(T) == 2 ? 2 * n : 0);
      const Wide *scale, *offset;
      if constexpr (sizeof(T) == 2) {
        widen_row(c.input(1).data<T>(), parameters.data(), n);
        widen_row(c.input(2).data<T>(), parameters.data() + n, n);
        scale = parameters.data(), offset = scale + n;
      } else {
        scale = c.input(1).data<T>(), offset = c.input(2).data<T>();
      }
      parallel_for(rows, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(n, 1)),
                   [&](std::int64_t begin, std::int64_t end) {
                     std::vector<Wide> row(sizeof(T) == 2 ? n : 0);
                     for (std::int64_t r = begin; r < end; ++r) {
                       const T* const from = x.data<T>() + r * n;
                       T* const to = y->data<T>() + r * n;
                       if constexpr (fast && std::is_same_v<T, bfloat16>) {
                         norm_rows::layer_norm(n, from, scale, offset, epsilon_, to);
                       } else if constexpr (sizeof(T) == 2) {
                         widen_row(from, row.data(), n);
                         one(n, row.data(), scale, offset, row.data());
                         narrow_row(row.data(), to, n);
                       } else {
                         one(n, from, scale, offset, to);
                       }
                     }
                   });
      return ok_status();
    });
  }

 private:
  template <typename W>
  void one(std::int64_t n, const W* x, const W* scale, const W* offset, W* y) const {
    fast ? norm_rows::layer_norm(n, x, scale, offset, static_cast<W>(epsilon_), y)
         : plain::layer_norm(n, x, scale, offset, static_cast<W>(epsilon_), y);
  }
  float epsilon_;
};

template <bool fast>
class LayerNormGrad final : public Kernel, public Workspace {
 public:
  explicit LayerNormGrad(float epsilon) : epsilon_(epsilon) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<LayerNormGrad>(init.attrs.get_float("epsilon")));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(1);
    ARGOSY_ASSIGN_OR_RETURN(const auto sizes, check_layer_norm_grad(c));
    const auto [rows, n] = sizes;
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, x.shape()));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dscale, c.output(1, {n}));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const doffset, c.output(2, {n}));
    return dispatch<FloatTypes>(x.dtype(), "_LayerNormGrad", [&, rows = rows, n = n]<typename T>() -> Status {
      return run_typed<T>(c, rows, n, dx->data<T>(), dscale->data<T>(), doffset->data<T>());
    });
  }

  std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override {
    const auto x = init.input_shapes[1].full();
    if (!x.ok()) return std::nullopt;
    if (x->rank() == 0) return 0;
    const std::int64_t n = x->back(), rows = n > 0 ? x->elements() / n : 0;
    const std::size_t wide = init.input_dtypes[1] == DType::kFloat64 ? sizeof(double) : sizeof(float);
    return scratch_elements(blocks_of(rows, n), n) * wide;
  }

 private:
  static std::int64_t blocks_of(std::int64_t rows, std::int64_t n) {
    return std::clamp<std::int64_t>(rows * n / kGrain, 1, kBlocks);
  }
  // Per block: its share of dscale and doffset, and room for three widened rows.
  static std::size_t scratch_elements(std::int64_t blocks, std::int64_t n) {
    return static_cast<std::size_t>((blocks * 5 + 1) * n);
  }

  template <typename T>
  Status run_typed(KernelContext& c, std::int64_t rows, std::int64_t n, T* dx, T* dscale, T* doffset) const {
    using Wide = wide_t<T>;
    const std::int64_t blocks = blocks_of(rows, n);
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(scratch_elements(blocks, n) * sizeof(Wide)));
    auto* const parts = reinterpret_cast<Wide*>(memory.data());
    Wide* const scale = parts + blocks * 5 * n;
    widen_row(c.input(2).data<T>(), scale, n);
    std::fill_n(parts, blocks * 2 * n, Wide(0));
    const T *const dy = c.input(0).data<T>(), *const x = c.input(1).data<T>();
    parallel_for(blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        Wide *const share = parts + b * 2 * n, *const row = parts + (blocks * 2 + b * 3) * n;
        for (std::int64_t r = rows * b / blocks; r < rows * (b + 1) / blocks; ++r) {
          if constexpr (fast && std::is_same_v<T, bfloat16>) {
            norm_rows::layer_norm_gradient(n, dy + r * n, x + r * n, scale, epsilon_, dx + r * n, share, share + n);
          } else if constexpr (sizeof(T) == 2) {
            widen_row(dy + r * n, row, n);
            widen_row(x + r * n, row + n, n);
            one(n, row, row + n, scale, row + 2 * n, share, share + n);
            narrow_row(row + 2 * n, dx + r * n, n);
          } else {
            one(n, dy + r * n, x + r * n, scale, dx + r * n, share, share + n);
          }
        }
      }
    });
    for (std::int64_t b = 1; b < blocks; ++b) {
      for (std::int64_t i = 0; i < 2 * n; ++i) parts[i] += parts[b * 2 * n + i];
    }
    narrow_row(parts, dscale, n);
    narrow_row(parts + n, doffset, n);
    return ok_status();
  }

  template <typename W>
  void one(std::int64_t n, const W* dy, const W* x, const W* scale, W* dx, W* dscale, W* doffset) const {
    fast ? norm_rows::layer_norm_gradient(n, dy, x, scale, static_cast<W>(epsilon_), dx, dscale, doffset)
         : plain::layer_norm_gradient(n, dy, x, scale, static_cast<W>(epsilon_), dx, dscale, doffset);
  }
  float epsilon_;
};

}  // namespace

void add_kernels_cpu_layer_norm(KernelRegistry& kernels) {
  kernels.add("_LayerNorm", "cpu", LayerNorm<true>::make);
  kernels.add("_LayerNorm", "cpu", LayerNorm<false>::make);
  kernels.add("_LayerNormGrad", "cpu", LayerNormGrad<true>::make);
  kernels.add("_LayerNormGrad", "cpu", LayerNormGrad<false>::make);
}

}  // namespace argosy
