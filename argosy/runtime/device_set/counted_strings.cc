#include "argosy/runtime/device_set/counted_strings.h"

#include <algorithm>

#include "argosy/device/device.h"
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

// --- before the kernel runs: ops that copy strings any number of times ------------------------------------------------

// Bytes of the strings that the kernel will give; 0 where its inputs are wrong, which it says itself.
using Estimate = std::int64_t (*)(const KernelContext& c);

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

std::int64_t plus(std::int64_t a, std::int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

std::int64_t bytes_of(std::span<const std::string> strings) {
  std::int64_t bytes = 0;
  for (const std::string& s : strings) bytes += static_cast<std::int64_t>(s.size());
  return bytes;
}

std::int64_t product_of(const Tensor& sizes) {
  const auto numbers = to_int64s(sizes, "sizes");
  std::int64_t product = numbers.ok() ? 1 : 0;
  for (std::size_t i = 0; numbers.ok() && i < numbers->size(); ++i) product = times(product, (*numbers)[i]);
  return std::max<std::int64_t>(product, 0);
}

std::int64_t filled(const KernelContext& c) {
  return c.input(1).elements() == 1 ? times(product_of(c.input(0)), bytes_of(c.input(1).values<std::string>())) : 0;
}

std::int64_t broadcast_bytes(const KernelContext& c) {
  const Tensor& x = c.input(0);
  const std::int64_t elements = product_of(c.input(1));
  if (x.elements() == 0 || elements <= x.elements()) return 0;
  return times(elements / x.elements(), bytes_of(x.values<std::string>()));
}

std::int64_t tiled(const KernelContext& c) {
  return times(product_of(c.input(1)), bytes_of(c.input(0).values<std::string>()));
}

// Of all inputs: one may be there many times.
std::int64_t joined(const KernelContext& c) {
  std::int64_t bytes = 0;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.input(i).dtype() == DType::kString) bytes = plus(bytes, bytes_of(c.input(i).values<std::string>()));
  }
  return bytes;
}

std::int64_t gathered(const KernelContext& c) {
  const Tensor &x = c.input(0), &indices = c.input(1);
  const auto given = c.num_inputs() > 2 ? to_int64(c.input(2), "axis") : Result<std::int64_t>(std::int64_t{0});
  const std::int64_t rank = x.shape().rank();
  if (!given.ok() || *given < -rank || *given >= rank) return 0;
  const auto axis = static_cast<int>(*given < 0 ? *given + rank : *given);
  const std::int64_t size = x.shape()[axis];
  std::int64_t inner = 1, bytes = 0;
  for (int i = axis + 1; i < rank; ++i) inner *= x.shape()[i];
  const std::span<const std::string> strings = x.values<std::string>();
  const auto add = [&](std::int64_t index) {
    if (index < 0 || index >= size) return;
    for (std::int64_t at = index * inner; at < x.elements(); at += size * inner) {
      bytes = plus(bytes, bytes_of(strings.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(inner))));
    }
  };
  if (inner == 0) return 0;
  if (indices.dtype() == DType::kInt32) {
    for (const std::int32_t i : indices.values<std::int32_t>()) add(i);
  } else if (indices.dtype() == DType::kInt64) {
    for (const std::int64_t i : indices.values<std::int64_t>()) add(i);
  }
  return bytes;
}

Estimate estimate_of(const KernelInit& init) {
  if (init.device != nullptr && !init.device->allocator().on_host()) return nullptr;
  const std::string_view op = init.op.name;
  if (op == "Fill") return filled;
  if (op == "BroadcastTo") return broadcast_bytes;
  if (op == "Tile") return tiled;
  if ((op == "Pack" || op == "Concat" || op == "ConcatV2") && init.input_dtypes.size() > 2) return joined;
  if (op == "Gather" || (op == "GatherV2" && init.attrs.get_or<std::int64_t>("batch_dims", 0) == 0)) return gathered;
  return nullptr;
}

class Counting final : public Kernel {
 public:
  Counting(std::unique_ptr<Kernel> kernel, Estimate estimate) : kernel_(std::move(kernel)), estimate_(estimate) {}
  Status run(KernelContext& c) override {
    HostBudget::Reservation while_made;
    if (estimate_ != nullptr) {
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
  const Estimate estimate_;  // null: only what the kernel gave is known
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
  return std::make_unique<Counting>(std::move(kernel), estimate_of(init));
}

}  // namespace argosy
