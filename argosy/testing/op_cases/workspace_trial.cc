#include "argosy/testing/op_cases/workspace_trial.h"

#include <algorithm>
#include <atomic>

#include "argosy/op/definition/sharding_rule.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/ops.h"
#include "argosy/sharding/rules/candidates.h"
#include "argosy/testing/shards/shard_tensor.h"
#include "argosy/testing/shards/shard_trial.h"

namespace argosy {

namespace {

// Host memory that counts what is alive.
class CountingAllocator final : public Allocator {
 public:
  Result<Buffer> allocate(std::size_t bytes) override {
    ARGOSY_ASSIGN_OR_RETURN(Buffer memory, host_allocator().allocate(bytes));
    const std::uint64_t now = count_->live.fetch_add(bytes) + bytes;
    for (std::uint64_t peak = count_->peak; now > peak && !count_->peak.compare_exchange_weak(peak, now);) {
    }
    const std::shared_ptr<void> owner(memory.data(), [memory, bytes, count = count_](void*) { count->live -= bytes; });
    return Buffer(owner, memory.data(), bytes);
  }
  MemoryStats stats() const override { return {.in_use_bytes = count_->live, .peak_bytes = count_->peak}; }

 private:
  struct Count {
    std::atomic<std::uint64_t> live{0}, peak{0};
  };
  std::shared_ptr<Count> count_ = std::make_shared<Count>();  // buffers may outlive the allocator
};

// Of one allocation: a larger case may have the square of its elements as output.
constexpr std::size_t kMostBytes = std::size_t{32} << 20;
constexpr double kMostWork = 1 << 21;  // of a larger case: the product of the sizes of its factors

std::int64_t elements_of(const Tensor& t) { return t.valid() ? t.elements() : 0; }

// Dimension `dim` of `t`, `times` over.
Result<Tensor> repeated(const Tensor& t, int dim, std::int64_t times) {
  std::vector<std::int64_t> ends;
  for (std::int64_t k = 1; k <= times; ++k) ends.push_back(k * t.shape()[dim]);
  return join_shards(std::vector<Tensor>(static_cast<std::size_t>(times), t), Placement::shard(dim), ends);
}

// Element `at` of a list of sizes, times as large.
Tensor scaled_size(const Tensor& sizes, std::size_t at, std::int64_t times) {
  Tensor scaled = sizes.clone();
  const auto scale = [&]<typename T>(T* data) {
    if (data[at] > 0) data[at] = static_cast<T>(data[at] * static_cast<T>(times));
  };
  if (sizes.dtype() == DType::kInt32) scale(scaled.data<std::int32_t>());
  if (sizes.dtype() == DType::kInt64) scale(scaled.data<std::int64_t>());
  return scaled;
}

std::optional<RandomCase> enlarged(const RandomCase& c, const ShardingRule& rule, std::int8_t factor,
                                   std::int64_t times) {
  RandomCase larger = c;
  bool any = false;
  for (std::size_t i = 0; i < c.inputs.size() && i < rule.inputs.size(); ++i) {
    const OperandRule& operand = rule.inputs[i];
    for (std::size_t d = 0; d < operand.dims.size(); ++d) {
      const auto& factors = operand.dims[d];
      if (std::find(factors.begin(), factors.end(), factor) == factors.end()) continue;
      if (operand.kind == OperandRule::Kind::kSizes) {
        larger.inputs[i] = scaled_size(larger.inputs[i], d, times);
      } else if (operand.kind == OperandRule::Kind::kDims) {
        // A factor that comes twice in one tensor makes it larger by the square.
        if (larger.inputs[i].elements() > (std::int64_t{1} << 20) / times) return std::nullopt;
        auto wide = repeated(larger.inputs[i], static_cast<int>(d), times);
        if (!wide.ok()) return std::nullopt;
        larger.inputs[i] = *std::move(wide);
        any = true;
      }
    }
  }
  return any ? std::optional(std::move(larger)) : std::nullopt;
}

}  // namespace

Result<WorkspaceTrial> try_workspace(const RandomCase& c) {
  std::vector<const Tensor*> inputs;
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;
  for (const Tensor& t : c.inputs) {
    inputs.push_back(&t);
    dtypes.push_back(t.dtype());
    shapes.emplace_back(t.shape());
  }
  AttrMap attrs = c.attrs;
  ARGOSY_RETURN_IF_ERROR(complete_attrs(*c.op, dtypes, attrs));
  ARGOSY_ASSIGN_OR_RETURN(const auto out_dtypes, arg_dtypes(c.op->output_args, attrs));
  ResourceManager resources;
  std::vector<PartialShape> out_shapes(out_dtypes.size());
  KernelInit init{.op = *c.op,
                  .attrs = attrs,
                  .node = "tried",
                  .input_dtypes = dtypes,
                  .output_dtypes = out_dtypes,
                  .input_shapes = shapes,
                  .output_shapes = out_shapes,
                  .constants = inputs,
                  .resources = &resources};
  std::vector<Tensor> outputs(out_dtypes.size());
  const auto run = [&](Kernel& kernel, Allocator& memory) {
    std::vector<OutputSlot> slots;
    for (Tensor& t : outputs) slots.push_back({.tensor = &t, .planned = t.valid()});
    KernelContext context({.inputs = inputs.data(),
                           .num_inputs = static_cast<int>(inputs.size()),
                           .outputs = slots.data(),
                           .num_outputs = static_cast<int>(slots.size()),
                           .output_dtypes = out_dtypes.data(),
                           .node = "tried",
                           .allocator = &memory,
                           .resources = &resources});
    return kernel.run(context);
  };
  {
    ARGOSY_ASSIGN_OR_RETURN(const auto first, cpu_kernels().make(init, "cpu"));
    LimitedAllocator small(kMostBytes);
    ARGOSY_RETURN_IF_ERROR(run(*first, small));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].valid()) continue;
    out_shapes[i] = outputs[i].shape();
    outputs[i] = is_plain(outputs[i].dtype()) ? Tensor::zeros(outputs[i].dtype(), outputs[i].shape()) : Tensor();
  }
  ARGOSY_ASSIGN_OR_RETURN(const auto kernel, cpu_kernels().make(init, "cpu"));
  CountingAllocator memory;
  WorkspaceTrial trial{.taken = 0, .said = 0};
  auto* const says = dynamic_cast<Workspace*>(kernel.get());
  if (says != nullptr) trial.said = says->workspace_bytes(init);
  ARGOSY_RETURN_IF_ERROR(run(*kernel, memory));
  trial.taken = memory.stats().peak_bytes - memory.stats().in_use_bytes;
  return trial;
}

std::vector<RandomCase> enlarged_cases(const RandomCase& c, std::int64_t most_elements) {
  std::vector<RandomCase> all;
  if (!is_tensor_case(c)) return all;
  const auto result = run_case(c);
  if (!result.ok()) return all;
  const auto rule = rule_of_case(c, *result);
  if (!rule.ok() || rule->kind != ShardingRule::Kind::kFactors) return all;
  std::int64_t largest = 1;
  for (const Tensor& t : c.inputs) largest = std::max(largest, elements_of(t));
  for (const Tensor& t : result->outputs) largest = std::max(largest, elements_of(t));
  // Nor may the plain loops of a reference take long: they visit every combination of the factors.
  double work = 1;
  for (const Factor& factor : rule->factors) work *= static_cast<double>(std::max<std::int64_t>(1, factor.size));
  const std::int64_t times = std::min(most_elements / largest, static_cast<std::int64_t>(kMostWork / work));
  for (std::size_t f = 0; f < rule->factors.size() && times > 1; ++f) {
    if (auto larger = enlarged(c, *rule, static_cast<std::int8_t>(f), times)) all.push_back(*std::move(larger));
  }
  return all;
}

}  // namespace argosy
