// Generators kept in int64 variables: two numbers of counter, one of key.
#include <algorithm>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/distribution/draws.h"
#include "argosy/ops/random/fill.h"
#include "argosy/ops/random/sample.h"

namespace argosy {

namespace {

constexpr std::int64_t kPhilox = 1, kThreeFry = 2, kAutoSelect = 3;
constexpr std::int64_t kStateSize = 3;

}  // namespace

namespace distribution {

Status check_algorithm(const OpDef& op, const Tensor& t) {
  if (t.shape().rank() != 0) {
    return invalid_argument(op.name, ": the algorithm must be a scalar, not of shape ", t.shape());
  }
  const std::int64_t number = t.dtype() == DType::kInt32 ? *t.data<std::int32_t>() : *t.data<std::int64_t>();
  if (number == kThreeFry) return unimplemented(op.name, ": the ThreeFry algorithm is not supported; 1 is Philox");
  if (number != kPhilox && number != kAutoSelect) {
    return invalid_argument(op.name, ": unsupported algorithm id ", number, "; 1 is Philox");
  }
  return ok_status();
}

Result<Philox> advance(KernelContext& c, const OpDef& op, std::uint64_t blocks, Tensor* before) {
  ARGOSY_ASSIGN_OR_RETURN(Variable* const variable, c.variable(0));
  Philox from({0, 0}, {0, 0, 0, 0});
  ARGOSY_RETURN_IF_ERROR(variable->update(c.input(0).data<ResourceHandle>()->name(), [&](Tensor& state) -> Status {
    if (state.dtype() != DType::kInt64 || state.shape().rank() != 1 || state.elements() < kStateSize) {
      return invalid_argument(op.name, ": the generator's state must be an int64 vector of at least 3 numbers, not ",
                              dtype_name(state.dtype()), " of shape ", state.shape());
    }
    if (before != nullptr) *before = state.clone();
    auto* const s = reinterpret_cast<std::uint64_t*>(state.data<std::int64_t>());
    const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
    const auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
    from = Philox({low(s[2]), high(s[2])}, {low(s[0]), high(s[0]), low(s[1]), high(s[1])});
    Philox after = from;
    after.skip(blocks);
    s[0] = after.low();
    s[1] = after.counter()[2] | (std::uint64_t{after.counter()[3]} << 32);
    return ok_status();
  }));
  return from;
}

}  // namespace distribution

namespace {

using distribution::advance;
using distribution::check_algorithm;

class Generator final : public Kernel {
 public:
  explicit Generator(const OpDef& op) : op_(op) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Generator>(init.op));
  }

  Status run(KernelContext& c) override {
    if (op_.name == "RngSkip" || op_.name == "RngReadAndSkip") return skip(c);
    ARGOSY_RETURN_IF_ERROR(check_algorithm(op_, c.input(1)));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(c.input(2)));
    const bool whole = is_integer(c.output_dtype(0));
    const bool wants_whole = op_.name.find("Int") != std::string::npos;
    if (whole != wants_whole) return unsupported_dtype(op_.name, c.output_dtype(0));
    IntRange range;
    if (c.num_inputs() == 5) {
      ARGOSY_ASSIGN_OR_RETURN(range, int_range(c.input(3), c.input(4)));
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    const std::uint64_t blocks = static_cast<std::uint64_t>(shape.elements()) * distribution::kBlocksPerElement;
    ARGOSY_ASSIGN_OR_RETURN(const Philox from, advance(c, op_, blocks));
    if (whole) return fill_random_ints(*y, range.low, range.size, from);
    const Distribution kind = op_.name == "StatefulUniform"            ? Distribution::kUniform
                              : op_.name == "StatefulStandardNormalV2" ? Distribution::kNormal
                                                                       : Distribution::kTruncatedNormal;
    return fill_random(*y, kind, from);
  }

 private:
  Status skip(KernelContext& c) {
    ARGOSY_RETURN_IF_ERROR(check_algorithm(op_, c.input(1)));
    const Tensor& delta = c.input(2);
    if (delta.shape().rank() != 0) {
      return invalid_argument(op_.name, ": delta must be a scalar, not of shape ", delta.shape());
    }
    const std::uint64_t steps = *delta.raw_as<std::uint64_t>();
    Tensor before;
    ARGOSY_RETURN_IF_ERROR(advance(c, op_, steps * distribution::kBlocksPerElement, &before).status());
    if (c.num_outputs() > 0) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {kStateSize}));  // what else the variable holds is not told
      std::copy_n(before.data<std::int64_t>(), kStateSize, y->data<std::int64_t>());
    }
    return ok_status();
  }

  const OpDef& op_;
};

Status non_deterministic_ints(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(c.input(0)));
  if (!is_integer(c.output_dtype(0)) || element_bytes(c.output_dtype(0)) < 4) {
    return unsupported_dtype("NonDeterministicInts", c.output_dtype(0));
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  RandomSource& chance = system_random_source();
  return fill_random_ints(*y, 0, 0, Philox(chance.next(), chance.next()));
}

}  // namespace

void add_random_generators(KernelRegistry& kernels) {
  for (const char* op : {"StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal",
                         "StatefulUniformFullInt", "StatefulUniformInt", "RngSkip", "RngReadAndSkip"}) {
    kernels.add(op, "cpu", Generator::make);
  }
  kernels.add("NonDeterministicInts", "cpu", non_deterministic_ints);
}

}  // namespace argosy
