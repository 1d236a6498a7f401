#include "tests/fake_gpu/support/case_run.h"

#include <complex>
#include <set>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/ops.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/testing/op_cases/state_case.h"

namespace argosy {

namespace {

constexpr std::chrono::seconds kLimit{60};

SessionOptions options_for(const std::shared_ptr<DeviceSet>& device_set, bool reproducible) {
  return {.device_set = device_set,
          .allow_soft_placement = true,
          .optimize = false,
          .reproducible = reproducible,
          .trace_path = ""};
}

// Nodes named in `counted` that ran on devices of `type`, and on others.
void count(const StepStats& stats, const std::string& type, const std::set<std::string>& counted, CaseRun& run) {
  for (const OpRecord& record : stats.ops) {
    if (!counted.contains(record.node)) continue;
    const auto& device = stats.devices[static_cast<std::size_t>(record.device)].device;
    ++(device.type == type ? run.on_device : run.elsewhere);
  }
}

std::string type_of(const std::string& device) { return device.starts_with("/gpu") ? "GPU" : "CPU"; }

// A variable of the case, which holds what it says.
Value variable_of(Graph& graph, const OpDef& op, std::size_t i, const Tensor& before, DType dtype,
                  std::vector<Value>& assigned) {
  const bool reference = op.input_args[i].is_ref;
  const Value v = graph.add(reference ? "VariableV2" : "VarHandleOp", {},
                            {{"dtype", dtype},
                             {"shape", before.valid() ? PartialShape(before.shape()) : PartialShape::unknown()},
                             {"shared_name", str_cat("v", i)}});
  if (!before.valid()) return v;
  assigned.push_back(reference ? graph.add("Assign", {v, constant(graph, before)}, {{"validate_shape", false}})
                               : graph.add("AssignVariableOp", {v, constant(graph, before)}));
  return v;
}

DType main_dtype(const RecordedCase& c) {
  for (const char* attr : {"T", "dtype"}) {
    if (const DType* t = c.attrs.find_as<DType>(attr)) return *t;
  }
  for (const Tensor& t : c.inputs) {
    if (t.valid()) return t.dtype();
  }
  return DType::kFloat32;
}

bool carries_gradient(DType d) { return is_floating(d) || is_complex(d); }

// What flows into an output: any numbers, the same on every device.
Tensor weights_like(const Tensor& y, std::uint64_t seed) {
  if (!is_complex(y.dtype())) return random_tensor(y.dtype(), y.shape(), seed);
  const Tensor real = random_tensor(DType::kFloat64, y.shape(), seed),
               imag = random_tensor(DType::kFloat64, y.shape(), seed + 1000);
  Tensor weights = Tensor::zeros(y.dtype(), y.shape());
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const std::complex<double> w(real.data<double>()[i], imag.data<double>()[i]);
    if (y.dtype() == DType::kComplex128) {
      weights.data<std::complex<double>>()[i] = w;
    } else {
      weights.data<std::complex<float>>()[i] = std::complex<float>(w);
    }
  }
  return weights;
}

}  // namespace

CaseRun run_forward(const std::shared_ptr<DeviceSet>& device_set, const std::string& device, const RecordedCase& c,
                    bool known, bool reproducible) {
  const OpDef& op = *builtin_ops().find(c.op);
  CaseRun run;
  Graph graph;
  const auto on = graph.device(device);
  std::vector<Value> inputs, assigned, variables, fetches;
  Feeds feeds;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const Tensor& t = c.inputs[i];
    if (c.changes_variables && names_variable(op, i)) {
      variables.push_back(variable_of(graph, op, i, t, t.valid() ? t.dtype() : main_dtype(c), assigned));
      inputs.push_back(variables.back());
    } else if (known) {
      inputs.push_back(constant(graph, t));
    } else {
      inputs.push_back(placeholder(graph, t.dtype(), PartialShape::unknown()));
      feeds.push_back({inputs.back(), t});
    }
  }
  Value y;
  {
    // In one step with what it finds: a variable goes where all of a step's ops can use it.
    const auto then = graph.control_dependencies(assigned);
    y = graph.add(c.op, inputs, c.attrs);
  }
  if (!graph.status().ok()) {
    run.status = graph.status();
    return run;
  }
  const std::vector<DType> outputs = graph.node(y.node()).output_dtypes;
  for (int i = 0; i < static_cast<int>(outputs.size()); ++i) {
    const bool reference = i < static_cast<int>(op.output_args.size()) && op.output_args[i].is_ref;
    if (!reference) fetches.push_back(y.output(i));
  }
  device_set->reset();
  Session session(graph, options_for(device_set, reproducible));
  run.status = session.status();
  if (!run.status.ok()) return run;
  StepStats stats;
  stats.keep_ops = true;
  auto out = session.run(feeds, fetches, {y.control()}, {.timeout = kLimit, .stats = &stats});
  run.status = out.status();
  if (!out.ok()) return run;
  count(stats, type_of(device), {graph.node(y.node()).name}, run);
  run.values = *std::move(out);
  for (std::size_t v = 0; v < variables.size(); ++v) {
    Tensor after;  // not valid(): it has no value
    if (v >= c.after.size() || c.after[v].valid()) {
      const auto value = session.run({variables[v]});
      run.status = value.status();
      if (value.ok()) after = value->front();
    }
    run.values.push_back(after);
  }
  return run;
}

CaseRun run_gradient(const std::shared_ptr<DeviceSet>& device_set, const std::string& device, const RecordedCase& c,
                     const std::vector<Tensor>& outputs, bool reproducible) {
  CaseRun run;
  Graph graph;
  const auto on = graph.device(device);
  std::vector<Value> inputs, xs, ys, fetches;
  Feeds feeds;
  for (const Tensor& t : c.inputs) {
    if (carries_gradient(t.dtype())) {
      inputs.push_back(placeholder(graph, t.dtype(), PartialShape(t.shape())));
      xs.push_back(inputs.back());
      feeds.push_back({inputs.back(), t});
    } else {
      inputs.push_back(constant(graph, t));
    }
  }
  const Value y = graph.add(c.op, inputs, c.attrs);
  GradOptions options{.allow_unconnected = true};
  for (std::size_t i = 0; y.valid() && i < outputs.size(); ++i) {
    if (!carries_gradient(outputs[i].dtype())) continue;
    ys.push_back(y.output(static_cast<int>(i)));
    options.grad_ys.push_back(constant(graph, weights_like(outputs[i], 100 + i)));
  }
  if (ys.empty() || xs.empty() || !graph.status().ok()) return run;
  const int forward = graph.size();
  for (const Value& dx : gradients(graph, ys, xs, options)) {
    if (dx.valid()) fetches.push_back(dx);
  }
  if (!graph.status().ok() || fetches.empty()) return run;  // it says that it has none
  std::set<std::string> counted;
  for (int i = forward; i < graph.size(); ++i) counted.insert(graph.node(NodeId{i}).name);
  device_set->reset();
  Session session(graph, options_for(device_set, reproducible));
  run.status = session.status();
  if (!run.status.ok()) return run;
  StepStats stats;
  stats.keep_ops = true;
  auto out = session.run(feeds, fetches, {}, {.timeout = kLimit, .stats = &stats});
  run.status = out.status();
  if (!out.ok()) return run;
  count(stats, type_of(device), counted, run);
  run.values = *std::move(out);
  return run;
}

}  // namespace argosy
