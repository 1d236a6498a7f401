#include <algorithm>
#include <cmath>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/forward_input.h"
#include "argosy/ops/elementwise/elementwise_kernels.h"
#include "argosy/ops/elementwise/functions/functors.h"
#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

namespace {

bool is_half(DType d) { return d == DType::kBfloat16 || d == DType::kFloat16; }

// Adds variants: lists and other values that define addition.
Status add_variants(KernelContext& c) {
  const Shape& shape = c.input(0).shape();
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.input(i).shape() == shape) continue;
    return invalid_argument("AddN: inputs of shapes ", shape, " and ", c.input(i).shape(), " cannot be added");
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const sum, c.output(0, shape));
  for (std::int64_t k = 0; k < shape.elements(); ++k) {
    Variant& total = sum->data<Variant>()[k];
    for (int i = 0; i < c.num_inputs(); ++i) {
      const Variant& next = c.input(i).data<Variant>()[k];
      if (!next.value()) continue;
      if (!total.value()) {
        total = next;
      } else {
        ARGOSY_ASSIGN_OR_RETURN(total, total.value()->plus(*next.value(), c.allocator()));
      }
    }
  }
  return ok_status();
}

class AddVariants final : public Kernel {
 public:
  Status run(KernelContext& c) override {
    if (c.fields().copy_engine == nullptr) return add_variants(c);
    const CopyEngine::Scope scope(*c.fields().copy_engine);  // who adds up what lies on a GPU
    return add_variants(c);
  }
};

// Adds block after block, so that the running sum stays in the core's cache while all inputs are added.
class AddN final : public Kernel {
 public:
  static constexpr std::int64_t kBlock = 2048;

  explicit AddN(DType dtype)
      : half_(is_half(dtype) ? dtype : DType::kInvalid),
        add_(find_binary_spans("Add", is_half(dtype) ? DType::kFloat32 : dtype).both),
        pair_(dtype == DType::kBfloat16 ? find_binary_spans("Add", dtype).both : nullptr),
        bytes_(static_cast<std::int64_t>(element_bytes(dtype))) {}

  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const DType dtype = init.output_dtypes[0];
    if (dtype == DType::kVariant) return std::unique_ptr<Kernel>(std::make_unique<AddVariants>());
    if (!is_plain(dtype) || dtype == DType::kBool) return unsupported_dtype("AddN", dtype);
    auto kernel = std::make_unique<AddN>(dtype);
    if (kernel->add_ == nullptr) return unsupported_dtype("AddN", dtype);
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    for (int i = 1; i < c.num_inputs(); ++i) {
      if (!(c.input(i).shape() == shape)) {
        return invalid_argument("AddN: inputs must have one shape, but input 0 has ", shape, " and input ", i, " ",
                                c.input(i).shape())
            .with_id("ARG-SHAPE-001");
      }
    }
    if (c.num_inputs() == 1) return forward_input(c, 0, c.input(0));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const sum, c.output(0, shape, {0}));
    parallel_for(shape.elements(), grain_of(Work::kArithmetic), [&](std::int64_t begin, std::int64_t end) {
      for (; begin < end; begin += kBlock) block(c, *sum, begin, std::min(kBlock, end - begin));
    });
    return ok_status();
  }

 private:
  void block(KernelContext& c, const Tensor& sum, std::int64_t begin, std::int64_t n) const {
    const auto input = [&](int i) { return c.input(i).raw_as<std::byte>() + begin * bytes_; };
    std::byte* const to = sum.raw_as<std::byte>() + begin * bytes_;
    if (half_ == DType::kInvalid) {
      add_(input(0), input(1), to, n);
      for (int i = 2; i < c.num_inputs(); ++i) add_(to, input(i), to, n);
      return;
    }
    if (pair_ != nullptr && c.num_inputs() == 2) return pair_(input(0), input(1), to, n);
    alignas(64) float total[kBlock];
    alignas(64) float next[kBlock];
    widen(half_, input(0), total, n);
    for (int i = 1; i < c.num_inputs(); ++i) {
      widen(half_, input(i), next, n);
      add_(total, next, total, n);
    }
    narrow(half_, total, to, n);
  }

  const DType half_;  // the 16-bit dtype that is summed in float32, or kInvalid
  const BinarySpan add_;
  const BinarySpan pair_;  // of two inputs that need no block of float32, or null
  const std::int64_t bytes_;
};

class CheckNumerics final : public Kernel {
 public:
  CheckNumerics(std::string message, bool tells_signs) : message_(std::move(message)), tells_signs_(tells_signs) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(
        std::make_unique<CheckNumerics>(init.attrs.get_string("message"), init.op.name == "CheckNumericsV2"));
  }

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_RETURN_IF_ERROR(dispatch<FloatTypes>(x.dtype(), "CheckNumerics", [&]<typename T>() {
      // Zero times a finite number adds zero; anything else makes the sum NaN. One pass, no branch.
      scalar::compute_t<T> trace = 0;
      for (const T v : x.values<T>()) trace += static_cast<scalar::compute_t<T>>(v) * 0;
      return trace == 0 ? ok_status() : refuse<T>(x);
    }));
    c.set_output(0, x);
    return ok_status();
  }

 private:
  template <typename T>
  Status refuse(const Tensor& x) const {
    bool nan = false, positive = false, negative = false;
    std::int64_t first = -1;
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const auto v = static_cast<scalar::compute_t<T>>(x.data<T>()[i]);
      if (std::isfinite(v)) continue;
      if (first < 0) first = i;
      (std::isnan(v) ? nan : v > 0 ? positive : negative) = true;
    }
    std::vector<std::string> kinds;
    if (tells_signs_) {
      if (negative) kinds.emplace_back("-Inf");
      if (positive) kinds.emplace_back("+Inf");
    } else if (negative || positive) {
      kinds.emplace_back("Inf");
    }
    if (nan) kinds.emplace_back("NaN");
    return invalid_argument(message_, " : Tensor had ", str_join(kinds, " and "), " values; the first is element ",
                            first, " of shape ", x.shape())
        .with_id("ARG-NUM-001");
  }

  const std::string message_;
  const bool tells_signs_;
};

class ApproximateEqual final : public Kernel {
 public:
  explicit ApproximateEqual(float tolerance) : tolerance_(tolerance) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<ApproximateEqual>(init.attrs.get_float("tolerance")));
  }

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    const Tensor& y = c.input(1);
    if (!(x.shape() == y.shape())) {
      return invalid_argument("ApproximateEqual: x and y must have one shape, not ", x.shape(), " and ", y.shape())
          .with_id("ARG-SHAPE-001");
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const z, c.output(0, x.shape()));
    return dispatch<NumberTypes>(x.dtype(), "ApproximateEqual", [&]<typename T>() {
      using C = scalar::compute_t<T>;
      for (std::int64_t i = 0; i < x.elements(); ++i) {
        const C a = static_cast<C>(x.data<T>()[i]);
        const C b = static_cast<C>(y.data<T>()[i]);
        if constexpr (std::is_integral_v<T>) {
          using U = std::make_unsigned_t<C>;  // a distance of signed integers may be out of their range
          const U low = static_cast<U>(std::min(a, b)), high = static_cast<U>(std::max(a, b));
          z->data<bool>()[i] = static_cast<double>(static_cast<U>(high - low)) <= static_cast<double>(tolerance_);
        } else {
          z->data<bool>()[i] = std::abs(a - b) <= static_cast<decltype(std::abs(a))>(tolerance_);
        }
      }
      return ok_status();
    });
  }

 private:
  const float tolerance_;
};

}  // namespace

void add_kernels_cpu_sums_and_checks(KernelRegistry& kernels) {
  kernels.add("AddN", "cpu", AddN::make);
  kernels.add("CheckNumerics", "cpu", CheckNumerics::make);
  kernels.add("CheckNumericsV2", "cpu", CheckNumerics::make);
  kernels.add("ApproximateEqual", "cpu", ApproximateEqual::make);
}

}  // namespace argosy
