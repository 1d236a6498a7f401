// Reference kernels of all reductions, for every dtype: two plain loops; floats are summed in double precision.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/elementwise/functions/functors.h"
#include "argosy/ops/reduction/reduction_plan.h"

namespace argosy {

namespace {

template <typename T>
using sum_t =
    std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>, double,
                       std::conditional_t<std::is_same_v<T, std::complex<float>>, std::complex<double>, T>>;

// Each: start(), add(sum, x), end(sum, count), all in the type summed in.
struct Sum {
  template <typename S>
  static S start() {
    return S(0);
  }
  template <typename S>
  static void add(S& sum, S x) {
    sum = scalar::Add::call(sum, x);
  }
  template <typename S>
  static S end(S sum, std::int64_t) {
    return sum;
  }
};
struct Mean : Sum {
  template <typename S>
  static S end(S sum, std::int64_t count) {
    if constexpr (std::is_integral_v<S>) {
      return count == 0 ? S(0) : scalar::Div::call(sum, static_cast<S>(count) == 0 ? S(1) : static_cast<S>(count));
    } else {
      if constexpr (!std::is_floating_point_v<S>) {
        if (count == 0) return S(0);  // of no complex numbers: TensorFlow's 0, not NaN
      }
      return sum / S(static_cast<double>(count));
    }
  }
};
struct Prod {
  template <typename S>
  static S start() {
    return S(1);
  }
  template <typename S>
  static void add(S& sum, S x) {
    sum = scalar::Mul::call(sum, x);
  }
  template <typename S>
  static S end(S sum, std::int64_t) {
    return sum;
  }
};
template <bool largest>
struct Extreme {
  template <typename S>
  static S start() {
    using Limits = std::numeric_limits<S>;
    if constexpr (Limits::has_infinity) {
      return largest ? -Limits::infinity() : Limits::infinity();
    } else {
      return largest ? Limits::lowest() : Limits::max();
    }
  }
  template <typename S>
  static void add(S& sum, S x) {
    sum = largest ? scalar::Maximum::call(sum, x) : scalar::Minimum::call(sum, x);
  }
  template <typename S>
  static S end(S sum, std::int64_t) {
    return sum;
  }
};
struct EuclideanNorm : Sum {
  template <typename S>
  static void add(S& sum, S x) {
    sum = scalar::Add::call(sum, scalar::Mul::call(x, scalar::conjugate(x)));
  }
  template <typename S>
  static S end(S sum, std::int64_t) {
    return static_cast<S>(std::sqrt(sum));
  }
};
struct All {
  template <typename S>
  static S start() {
    return true;
  }
  template <typename S>
  static void add(S& sum, S x) {
    sum = sum && x;
  }
  template <typename S>
  static S end(S sum, std::int64_t) {
    return sum;
  }
};
struct Any {
  template <typename S>
  static S start() {
    return false;
  }
  template <typename S>
  static void add(S& sum, S x) {
    sum = sum || x;
  }
  template <typename S>
  static S end(S sum, std::int64_t) {
    return sum;
  }
};

// Means of integers are sums in 64 bits, as TensorFlow's.
template <class R, typename T>
using summed_in_t = std::conditional_t<std::is_same_v<R, Mean> && std::is_integral_v<T>,
                                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>, sum_t<T>>;

template <class R, typename T>
Status fold(const reduction::ReductionPlan& plan, const Tensor& x, Tensor& y) {
  using S = summed_in_t<R, T>;
  S start = R::template start<S>();
  if constexpr (std::is_same_v<R, Sum> || std::is_same_v<R, Mean>) {
    // Of one element each: that is copied, and -0 stays what it is.
    const bool folds = std::any_of(plan.groups.begin(), plan.groups.end(), [](const auto& g) { return g.folded; });
    if (!folds) start = static_cast<S>(-start);
  }
  std::vector<S> sums(static_cast<std::size_t>(y.elements()), start);
  // Walks x once; `at` is where its element lands.
  std::vector<std::int64_t> index(plan.groups.size(), 0);
  std::vector<std::int64_t> step(plan.groups.size(), 0);
  for (std::int64_t i = static_cast<std::int64_t>(step.size()) - 1, kept = 1; i >= 0; --i) {
    if (plan.groups[i].folded) continue;
    step[i] = kept;
    kept *= plan.groups[i].size;
  }
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    S sum = sums[at];
    R::add(sum, static_cast<S>(x.data<T>()[i]));
    sums[at] = sum;
    for (std::int64_t g = static_cast<std::int64_t>(index.size()) - 1; g >= 0; --g) {
      at += step[g];
      if (++index[g] < plan.groups[g].size) break;
      at -= step[g] * plan.groups[g].size;
      index[g] = 0;
    }
  }
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    y.data<T>()[i] = static_cast<T>(R::end(static_cast<S>(sums[i]), plan.count));
  }
  return ok_status();
}

class Reference final : public Kernel {
 public:
  using Function = Status (*)(const reduction::ReductionPlan&, const Tensor&, Tensor&);
  Reference(std::string op, Function fold, bool keep_dims) : op_(std::move(op)), fold_(fold), keep_dims_(keep_dims) {}

  template <class R, typename Types>
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    Function function = nullptr;
    ARGOSY_RETURN_IF_ERROR(dispatch<Types>(init.input_dtypes[0], init.op.name, [&]<typename T>() {
      function = &argosy::fold<R, T>;
      return ok_status();
    }));
    return std::unique_ptr<Kernel>(
        std::make_unique<Reference>(init.op.name, function, init.attrs.get_bool("keep_dims")));
  }

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const auto axes, reduction::axis_set(c.input(1), x.shape().rank(), op_));
    const reduction::ReductionPlan plan(x.shape(), axes, keep_dims_);
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, plan.output));
    return fold_(plan, x, *y);
  }

 private:
  const std::string op_;
  const Function fold_;
  const bool keep_dims_;
};

}  // namespace

void add_kernels_cpu_reduction_reference(KernelRegistry& kernels) {
  kernels.add("Sum", "cpu", Reference::make<Sum, NumberTypes>);
  kernels.add("Mean", "cpu", Reference::make<Mean, NumberTypes>);
  kernels.add("Prod", "cpu", Reference::make<Prod, NumberTypes>);
  kernels.add("Max", "cpu", Reference::make<Extreme<true>, RealTypes>);
  kernels.add("Min", "cpu", Reference::make<Extreme<false>, RealTypes>);
  kernels.add("EuclideanNorm", "cpu", Reference::make<EuclideanNorm, NumberTypes>);
  kernels.add("All", "cpu", Reference::make<All, TypeList<bool>>);
  kernels.add("Any", "cpu", Reference::make<Any, TypeList<bool>>);
}

}  // namespace argosy
