#include "argosy/runtime/device_set/counted_strings.h"

#include <algorithm>

#include "argosy/runtime/device_set/string_estimates.h"
#include "argosy/tensor/string_budget.h"

namespace argosy {

namespace {

Status count_outputs(const KernelContext& c) {
  for (int o = 0; o < c.num_outputs(); ++o) {
    if (c.output_dtype(o) != DType::kString) continue;
    const Tensor& t = *c.fields().outputs[o].tensor;
    if (t.valid()) ARGOSY_RETURN_IF_ERROR(reserve_strings(t, str_cat("output ", o)));
  }
  return ok_status();
}

class Counting final : public Kernel {
 public:
  Counting(std::unique_ptr<Kernel> kernel, StringEstimate estimate)
      : kernel_(std::move(kernel)), estimate_(std::move(estimate)) {}
  Status run(KernelContext& c) override {
    HostBudget::Reservation while_made;
    if (estimate_) {
      constexpr std::int64_t kUncounted = 1 << 20;
      const std::int64_t bytes = estimate_(c);
      if (bytes > kUncounted) {
        ARGOSY_ASSIGN_OR_RETURN(while_made, host_budget().reserve(HostUse::kStrings, bytes, "output 0"));
      }
    }
    ARGOSY_RETURN_IF_ERROR(kernel_->run(c));
    while_made.give_back();
    return count_outputs(c);
  }
  bool capturable() const override { return kernel_->capturable(); }

 private:
  const std::unique_ptr<Kernel> kernel_;
  const StringEstimate estimate_;  // empty: only what the kernel gave is known
};

class CountingAsync final : public AsyncKernel {
 public:
  explicit CountingAsync(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
  void run_async(KernelContext& c, Done done) override {
    static_cast<AsyncKernel&>(*kernel_).run_async(
        c, [&c, done = std::move(done)](Status status) { done(status.ok() ? count_outputs(c) : std::move(status)); });
  }
  bool capturable() const override { return kernel_->capturable(); }

 private:
  const std::unique_ptr<Kernel> kernel_;
};

}  // namespace

std::unique_ptr<Kernel> count_strings(std::unique_ptr<Kernel> kernel, const KernelInit& init) {
  if (std::find(init.output_dtypes.begin(), init.output_dtypes.end(), DType::kString) == init.output_dtypes.end()) {
    return kernel;
  }
  if (init.op.async) return std::make_unique<CountingAsync>(std::move(kernel));
  return std::make_unique<Counting>(std::move(kernel), string_estimate_of(init));
}

}  // namespace argosy
