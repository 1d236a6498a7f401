#include "argosy/ops/elementwise/fused/fused.h"

#include <algorithm>

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/elementwise/elementwise_registration.h"

namespace argosy {

void FusedProgram::write(AttrMap& attrs) const {
  std::vector<std::string> ops;
  std::vector<std::int64_t> operands, outputs(results.begin(), results.end());
  std::vector<DType> dtypes;
  for (const FusedStep& s : steps) {
    ops.push_back(s.op);
    operands.insert(operands.end(), s.operands.begin(), s.operands.end());
    dtypes.push_back(s.dtype);
  }
  attrs.set("ops", std::move(ops));
  attrs.set("operands", std::move(operands));
  attrs.set("dtypes", std::move(dtypes));
  attrs.set("results", std::move(outputs));
  attrs.set("shape", shape);
  attrs.set("input_shapes", inputs);
}

Result<FusedProgram> FusedProgram::read(const AttrMap& attrs, int inputs) {
  const auto& ops = attrs.get<std::vector<std::string>>("ops");
  const auto& operands = attrs.get<std::vector<std::int64_t>>("operands");
  const auto& dtypes = attrs.get<std::vector<DType>>("dtypes");
  FusedProgram program;
  program.shape = attrs.get<PartialShape>("shape");
  program.inputs = attrs.get<std::vector<PartialShape>>("input_shapes");
  const auto broken = [](const auto&... what) { return invalid_argument("_FusedElementwise: ", what...); };
  if (ops.empty() || operands.size() != 3 * ops.size() || dtypes.size() != ops.size()) {
    return broken(ops.size(), " steps, ", operands.size(), " operands and ", dtypes.size(), " dtypes do not fit");
  }
  if (!program.shape.is_full()) return broken("the shape ", program.shape, " is not fully known");
  if (std::ssize(program.inputs) != inputs) return broken(program.inputs.size(), " shapes for ", inputs, " inputs");
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    if (!program.inputs[i].is_full()) return broken("the shape of input ", i, " is not fully known");
  }
  for (std::size_t i = 0; i < ops.size(); ++i) {
    FusedStep step{.op = ops[i], .dtype = dtypes[i]};
    for (std::size_t k = 0; k < 3; ++k) {
      const std::int64_t value = operands[3 * i + k];
      if (value < -1 || value >= inputs + static_cast<std::int64_t>(i) || (k == 0 && value < 0)) {
        return broken("step ", i, " has no value ", value, " to work on");
      }
      step.operands[k] = static_cast<int>(value);
    }
    program.steps.push_back(std::move(step));
  }
  std::int64_t last = -1;
  for (const std::int64_t r : attrs.get<std::vector<std::int64_t>>("results")) {
    if (r <= last || r >= static_cast<std::int64_t>(ops.size())) return broken("no result ", r);
    program.results.push_back(static_cast<int>(last = r));
  }
  return program;
}

std::optional<FusedOperand> fused_operand(const PartialShape& operand, const PartialShape& result) {
  using Kind = FusedOperand::Kind;
  if (!operand.is_full() || !result.is_full() || operand.rank() > result.rank()) return std::nullopt;
  if (operand == result) return FusedOperand{};
  if (operand.elements() == 1) return FusedOperand{Kind::kOne, 1};
  // Axes aligned at the last one; those missing in front count as 1.
  const int missing = result.rank() - operand.rank();
  const auto size = [&](int axis) { return axis < missing ? 1 : operand[axis - missing]; };
  int first = 0, end = result.rank();
  while (first < end && size(first) == 1) ++first;
  while (end > first && size(end - 1) == 1) --end;
  for (int axis = first; axis < end; ++axis) {
    if (size(axis) != result[axis]) return std::nullopt;
  }
  std::int64_t before = 1, after = 1;
  for (int axis = 0; axis < first; ++axis) before *= result[axis];
  for (int axis = end; axis < result.rank(); ++axis) after *= result[axis];
  if (before == 1 && after == 1) return FusedOperand{};
  if (after == 1) return FusedOperand{Kind::kPeriodic, operand.elements()};
  if (before == 1) return FusedOperand{Kind::kRuns, after};
  return std::nullopt;
}

Status check_fused_inputs(const KernelContext& c, const std::vector<PartialShape>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::int64_t elements = c.input(static_cast<int>(i)).elements();
    if (elements != expected[i].elements()) {
      return internal_error("input ", i, " has ", elements, " elements, not ", expected[i].elements());
    }
  }
  return ok_status();
}

namespace {

Status fused_shape(ShapeContext& c) {
  c.set_all_outputs(c.attrs().get<PartialShape>("shape"));
  return ok_status();
}

Cost fused_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  cost.flops *= static_cast<double>(c.attrs().get<std::vector<std::string>>("ops").size());
  return cost;
}

}  // namespace

void elementwise::define_fused(OpRegistry& ops) {
  OpSpec spec{.name = "_FusedElementwise",
              .doc = "A program of elementwise ops over one shape; written by a pass, not by people.",
              .inputs = {"inputs: Tin"},
              .outputs = {"outputs: Tout"},
              .attrs = {"Tin: list(type)", "Tout: list(type)", "ops: list(string)", "operands: list(int)",
                        "dtypes: list(type)", "results: list(int)", "shape: shape", "input_shapes: list(shape)"},
              .shape = fused_shape,
              .gradient = kNotDifferentiable,
              .cost = fused_cost,
              .sharding = "whole: a pass makes it after sharding"};
  // Any input may be forwarded: the kernel holds back a result that would overwrite an input that a later step reads.
  for (int in = 0; in < 8; ++in) {
    for (int out = 0; out < 4; ++out) spec.in_place.push_back({in, out, true});
  }
  ops.add(std::move(spec));
}

}  // namespace argosy
