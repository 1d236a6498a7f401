#include "argosy/testing/op_cases/state_case.h"

#include <gtest/gtest.h>

#include "argosy/op/state/variable.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_dump.h"
#include "argosy/testing/run_on_gpu.h"

namespace argosy {

namespace {

// The case's dtype: that of attribute dtype or T, or of the first tensor.
DType main_dtype(const StateCase& c) {
  for (const char* attr : {"T", "dtype"}) {
    if (const DType* t = c.attrs.find_as<DType>(attr)) return *t;
  }
  for (const Tensor& t : c.inputs) {
    if (t.valid()) return t.dtype();
  }
  return DType::kFloat32;
}

struct Outcome {
  Status status;
  std::vector<Tensor> outputs;  // of the op; references left out
  std::vector<Tensor> after;
};

Outcome run(const OpDef& op, const StateCase& c, bool reference) {
  ResourceManager resources;
  std::vector<std::shared_ptr<Variable>> variables;
  std::vector<Tensor> inputs = c.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!names_variable(op, i)) continue;
    const Tensor& before = c.inputs[i];
    const DType dtype = before.valid() ? before.dtype() : main_dtype(c);
    variables.push_back(std::make_shared<Variable>(dtype, PartialShape::unknown(), host_allocator()));
    Outcome failed;
    if (before.valid()) failed.status = variables.back()->assign(before, true);
    if (!failed.status.ok()) return failed;
    const std::string name = str_cat("v", i);
    inputs[i] = Tensor::scalar(ResourceHandle("localhost", name, variables.back()));
  }
  Outcome outcome;
  auto outputs = evaluate_op(op, c.attrs, inputs, {.resources = &resources, .reference = reference});
  outcome.status = outputs.status();
  if (outputs.ok()) {
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      if (i >= op.output_args.size() || !op.output_args[i].is_ref) outcome.outputs.push_back((*outputs)[i]);
    }
  }
  for (const auto& v : variables) {
    const auto value = v->read("v");
    outcome.after.push_back(value.ok() ? *value : Tensor());
  }
  return outcome;
}

// The node such an op would be in a graph, its variables declared without a shape, its other inputs known by shape.
Status build(const OpDef& op, const StateCase& c) {
  Graph graph;
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const Tensor& t = c.inputs[i];
    const DType dtype = t.valid() ? t.dtype() : main_dtype(c);
    const PartialShape shape = t.valid() ? PartialShape(t.shape()) : PartialShape::unknown();
    const bool variable = names_variable(op, i);
    const char* const source = !variable ? "Placeholder" : op.input_args[i].is_ref ? "VariableV2" : "VarHandleOp";
    inputs.push_back(graph.add(source, {}, {{"dtype", dtype}, {"shape", shape}}));
  }
  graph.add(c.op, inputs, c.attrs);
  return graph.status();
}

double scaled(double tolerance, DType d) {
  if (d == DType::kBfloat16) return std::max(tolerance, 4e-2);
  return d == DType::kFloat16 ? std::max(tolerance, 5e-3) : tolerance;
}

void expect_equal(const std::vector<Tensor>& got, const std::vector<Tensor>& expected, double tolerance,
                  const std::string& what) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_LT(i, got.size()) << what;
    if (!expected[i].valid()) continue;
    EXPECT_EQ(difference(got[i], expected[i], scaled(tolerance, expected[i].dtype())), "") << what << " " << i;
  }
}

// The GPU's kernel, where there is one, does what the CPU's did.
void check_on_gpu(const OpDef& op, const StateCase& c, const Outcome& expected) {
  std::vector<bool> variable;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) variable.push_back(names_variable(op, i));
  const auto state = run_state_on_gpu(op, c.attrs, c.inputs, variable, main_dtype(c));
  if (!state) return;
  ASSERT_TRUE(state->ok()) << c.op << " on a GPU: " << state->status().to_string();
  expect_equal((**state).after, expected.after, c.tolerance, c.op + " on a GPU: variable");
  expect_equal((**state).outputs, expected.outputs, c.tolerance, c.op + " on a GPU: output");
}

void check_one(const OpDef& op, const StateCase& c) {
  const Outcome fast = run(op, c, false);
  if (c.error != Code::kOk) {
    EXPECT_EQ(fast.status.code(), c.error) << c.op << ": " << fast.status.to_string();
    EXPECT_NE(fast.status.message().find(c.error_contains), std::string::npos) << fast.status.to_string();
    for (std::size_t i = 0, k = 0; i < c.inputs.size(); ++i) {  // refused is refused: nothing was written
      if (!names_variable(op, i)) continue;
      if (c.inputs[i].valid()) {
        EXPECT_EQ(difference(fast.after[k], c.inputs[i], 0), "") << c.op << " variable " << k;
      }
      ++k;
    }
    dump_case(c, {}, {});
    return;
  }
  ASSERT_TRUE(fast.status.ok()) << c.op << ": " << fast.status.to_string();
  const Status built = build(op, c);
  EXPECT_TRUE(built.ok()) << c.op << ": " << built.to_string();
  const Outcome reference = run(op, c, true);
  ASSERT_TRUE(reference.status.ok()) << c.op << ": " << reference.status.to_string();
  expect_equal(fast.after, reference.after, c.tolerance, c.op + ": first kernel against reference, variable");
  expect_equal(fast.outputs, reference.outputs, c.tolerance, c.op + ": first kernel against reference, output");
  expect_equal(fast.after, c.after, c.tolerance, c.op + ": variable");
  expect_equal(fast.outputs, c.expect, c.tolerance, c.op + ": output");
  dump_case(c, fast.outputs, fast.after);
  check_on_gpu(op, c, fast);
}

StateCase in_dtype(const StateCase& c, DType from, DType to) {
  StateCase other = c;
  for (auto* list : {&other.inputs, &other.after, &other.expect}) {
    for (Tensor& t : *list) {
      if (t.valid() && t.dtype() == from) t = cast_to(t, to);
    }
  }
  for (const auto& entry : c.attrs) {
    const auto* d = std::get_if<DType>(&entry.value);
    if (d != nullptr && *d == from) other.attrs.set(entry.name, to);
  }
  return other;
}

}  // namespace

bool names_variable(const OpDef& op, std::size_t input) {
  return input < op.input_args.size() &&
         (op.input_args[input].is_ref || op.input_args[input].dtype == DType::kResource);
}

void check_state(const StateCase& c) {
  SCOPED_TRACE(c.op);
  const OpDef* op = builtin_ops().find(c.op);
  ASSERT_NE(op, nullptr) << "no op " << c.op;
  check_one(*op, c);
  if (!c.other_dtypes || c.error != Code::kOk || testing::Test::HasFailure()) return;
  const AttrDef* type = op->attr("T") ? op->attr("T") : op->attr("dtype");
  const DType main = main_dtype(c);
  using enum DType;
  const auto others = is_floating(main)  ? std::vector<DType>{kFloat32, kFloat64, kBfloat16, kFloat16}
                      : is_integer(main) ? std::vector<DType>{kInt32, kInt64, kInt16, kUint8}
                                         : std::vector<DType>{};
  for (const DType d : others) {
    const bool allowed = type == nullptr || type->types.empty() ||
                         std::find(type->types.begin(), type->types.end(), d) != type->types.end();
    if (d == main || !allowed) continue;
    SCOPED_TRACE(dtype_name(d));
    check_one(*op, in_dtype(c, main, d));
  }
}

void check_both(const StateCase& c, std::string resource_op) {
  check_state(c);
  StateCase other = c;
  other.op = std::move(resource_op);
  const OpDef* op = builtin_ops().find(other.op);
  ASSERT_NE(op, nullptr) << "no op " << other.op;
  // What a reference's dtype tells, a handle does not.
  for (const char* attr : {"T", "dtype"}) {
    if (op->attr(attr) != nullptr && other.attrs.find(attr) == nullptr) other.attrs.set(attr, main_dtype(c));
  }
  for (const char* attr : {"use_locking", "validate_shape"}) {
    if (op->attr(attr) == nullptr) other.attrs.erase(attr);
  }
  check_state(other);
}

}  // namespace argosy
