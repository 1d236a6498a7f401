#include <algorithm>
#include <cmath>
#include <limits>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/elementwise/functions/functors.h"
#include "argosy/ops/scan/scan_inputs.h"

namespace argosy {

namespace {

struct Sum {
  template <typename S>
  static S start() {
    return S(0);
  }
  template <typename S>
  static S join(S sum, S x) {
    return scalar::Add::call(sum, x);
  }
};
struct Product {
  template <typename S>
  static S start() {
    return S(1);
  }
  template <typename S>
  static S join(S sum, S x) {
    return scalar::Mul::call(sum, x);
  }
};
struct LogSumExp {
  template <typename S>
  static S start() {
    return -std::numeric_limits<S>::infinity();
  }
  template <typename S>
  static S join(S sum, S x) {
    const S most = std::max(sum, x);
    if (!(most > start<S>()) || !std::isfinite(most)) return sum != sum || x != x ? sum + x : most;
    return most + std::log1p(std::exp(std::min(sum, x) - most));
  }
};

constexpr std::int64_t kAtOnce = 256;  // neighbouring lines scanned together

// One bundle of lines: `inner` apart along the axis, `width` side by side. y may be x.
template <class F, typename T>
void scan_lines(const T* x, T* y, std::int64_t count, std::int64_t inner, std::int64_t width, bool exclusive,
                bool reverse) {
  using S = scalar::compute_t<T>;
  S sums[kAtOnce];
  std::fill_n(sums, width, F::template start<S>());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = (reverse ? count - 1 - i : i) * inner;
    for (std::int64_t j = 0; j < width; ++j) {
      const S joined = F::join(sums[j], static_cast<S>(x[at + j]));
      y[at + j] = static_cast<T>(exclusive ? sums[j] : joined);
      sums[j] = joined;
    }
  }
}

template <class F, typename Types>
class Scan final : public Kernel {
 public:
  explicit Scan(const KernelInit& init)
      : op_(init.op.name), exclusive_(init.attrs.get_bool("exclusive")), reverse_(init.attrs.get_bool("reverse")) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Scan>(init));
  }

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const int axis, check_scan_axis(c, op_));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
    if (x.elements() == 0) return ok_status();
    const ScanSizes sizes(x.shape(), axis);
    const std::int64_t outer = sizes.outer, count = sizes.count, inner = sizes.inner;
    const std::int64_t bundles = (inner + kAtOnce - 1) / kAtOnce;
    return dispatch<Types>(x.dtype(), op_, [&]<typename T>() {
      const std::int64_t grain = std::max<std::int64_t>(1, 16384 / (count * std::min(inner, kAtOnce)));
      parallel_for(outer * bundles, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t b = begin; b < end; ++b) {
          const std::int64_t column = b % bundles * kAtOnce;
          const std::int64_t at = b / bundles * count * inner + column;
          scan_lines<F>(x.data<T>() + at, y->data<T>() + at, count, inner, std::min(kAtOnce, inner - column),
                        exclusive_, reverse_);
        }
      });
      return ok_status();
    });
  }

 private:
  const std::string op_;
  const bool exclusive_, reverse_;
};

}  // namespace

void add_kernels_cpu_scan(KernelRegistry& kernels) {
  kernels.add("Cumsum", "cpu", Scan<Sum, NumberTypes>::make);
  kernels.add("Cumprod", "cpu", Scan<Product, NumberTypes>::make);
  kernels.add("CumulativeLogsumexp", "cpu", Scan<LogSumExp, FloatTypes>::make);
}

}  // namespace argosy
