#include <algorithm>
#include <cmath>
#include <vector>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/norm/norm_registration.h"

namespace argosy {

namespace {

// Sums over neighbours, out of running sums; in double, where their differences stay exact enough.
class Neighbours {
 public:
  Neighbours(std::int64_t n, std::int64_t radius)
      : n_(n), radius_(std::min(radius, n)), running_(static_cast<std::size_t>(n) + 1) {}
  // term(c) for every channel.
  template <typename Term>
  void set(const Term& term) {
    for (std::int64_t c = 0; c < n_; ++c) running_[c + 1] = running_[c] + term(c);
  }
  double around(std::int64_t c) const {
    return running_[std::min(n_, c + radius_ + 1)] - running_[std::max<std::int64_t>(0, c - radius_)];
  }

 private:
  std::int64_t n_, radius_;
  std::vector<double> running_;
};

template <bool gradient>
class Lrn final : public Kernel {
 public:
  explicit Lrn(const KernelInit& init)
      : op_(init.op.name),
        radius_(init.attrs.get_int("depth_radius")),
        bias_(init.attrs.get_float("bias")),
        alpha_(init.attrs.get_float("alpha")),
        beta_(init.attrs.get_float("beta")) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Lrn>(init));
  }

  Status run(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    ARGOSY_RETURN_IF_ERROR(check_depth_radius(op_, radius_));
    if (shape.rank() != 4) {
      return invalid_argument(op_, ": images must have rank 4, not shape ", shape).with_id("ARG-SHAPE-004");
    }
    for (int i = 1; i < c.num_inputs(); ++i) {
      if (!(c.input(i).shape() == shape)) {
        return invalid_argument(op_, ": input ", i, " must have shape ", shape, ", not ", c.input(i).shape())
            .with_id("ARG-SHAPE-013");
      }
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, shape));
    if (out->elements() == 0) return ok_status();
    const std::int64_t n = shape.back();
    return dispatch<TypeList<float, bfloat16, float16>>(out->dtype(), op_, [&]<typename T>() {
      parallel_for(out->elements() / n, std::max<std::int64_t>(1, 2048 / n), [&](std::int64_t begin, std::int64_t end) {
        Neighbours sums(n, radius_);
        std::vector<float> norm(static_cast<std::size_t>(n));
        for (std::int64_t r = begin; r < end; ++r) {
          const auto row = [&](int i) { return c.input(i).template data<T>() + r * n; };
          T* const to = out->template data<T>() + r * n;
          if constexpr (gradient) {
            backward(n, row(0), row(1), row(2), sums, norm, to);
          } else {
            find_norm(n, row(0), sums, norm);
            for (std::int64_t k = 0; k < n; ++k) to[k] = T(static_cast<float>(row(0)[k]) * std::pow(norm[k], -beta_));
          }
        }
      });
      return ok_status();
    });
  }

 private:
  template <typename T>
  void find_norm(std::int64_t n, const T* x, Neighbours& sums, std::vector<float>& norm) const {
    sums.set([&](std::int64_t k) { return static_cast<double>(x[k]) * static_cast<double>(x[k]); });
    for (std::int64_t k = 0; k < n; ++k) norm[k] = bias_ + alpha_ * static_cast<float>(sums.around(k));
  }

  // dx[k] = d[k] norm[k]^-beta - 2 alpha beta x[k] * sum over neighbours of d y / norm
  template <typename T>
  void backward(std::int64_t n, const T* d, const T* x, const T* y, Neighbours& sums, std::vector<float>& norm,
                T* dx) const {
    find_norm(n, x, sums, norm);
    sums.set([&](std::int64_t k) {
      return static_cast<double>(d[k]) * static_cast<double>(y[k]) / static_cast<double>(norm[k]);
    });
    for (std::int64_t k = 0; k < n; ++k) {
      const float direct = static_cast<float>(d[k]) * std::pow(norm[k], -beta_);
      dx[k] = T(direct - 2 * alpha_ * beta_ * static_cast<float>(x[k]) * static_cast<float>(sums.around(k)));
    }
  }

  std::string op_;
  std::int64_t radius_;
  float bias_, alpha_, beta_;
};

}  // namespace

void add_kernels_cpu_lrn(KernelRegistry& kernels) {
  kernels.add("LRN", "cpu", Lrn<false>::make);
  kernels.add("LRNGrad", "cpu", Lrn<true>::make);
}

}  // namespace argosy
