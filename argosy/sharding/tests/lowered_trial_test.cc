// A training graph as its assignment builds it, in a session on emulated devices, beside the graph on one device.
#include <algorithm>

#include "argosy/sharding/lower/lower.h"
#include "argosy/sharding/tests/training_trial_test.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/testing/session_steps.h"

namespace argosy {

namespace {

// Fetches of all steps, then the variables.
Result<std::vector<Tensor>> run_steps(const TrainingTrial& t, const std::vector<std::int64_t>& batches, int devices,
                                      std::vector<Value> fetches, Graph& graph) {
  SessionSteps steps{.graph = &graph, .devices = devices, .fetches = std::move(fetches)};
  for (const VariableNode& v : t.variables) {
    steps.initializers.push_back(Value(&graph, v.initializer.node(), Value::kControl));
    const Value& read = v.ref.dtype() == DType::kResource ? v.read : v.ref;
    steps.reads.push_back(Value(&graph, read.node(), read.index()));
  }
  for (const NodeId id : t.train) steps.targets.push_back(Value(&graph, id, Value::kControl));
  for (std::size_t step = 0; step < batches.size(); ++step) {
    auto& feeds = steps.feeds.emplace_back();
    for (const auto& [e, tensor] : feeds_for(t, batches[step], step)) feeds.emplace_back(graph.value(e), tensor);
  }
  return run_in_session(steps);
}

Result<std::string> compare(const TrainingTrial& t, const TrialOptions& options) {
  const int devices = options.axis.size / options.turns;
  Mesh mesh{.axes = {options.axis}, .devices = {}};
  for (int s = 0; s < options.axis.size; ++s) mesh.devices.push_back(str_cat("/device:GPU:", s / options.turns));
  std::vector<NodeId> batch;
  for (const Value& v : t.feeds) batch.push_back(v.node());
  ARGOSY_ASSIGN_OR_RETURN(const Sizes sizes, Sizes::find(t.graph, {.batch = batch}));
  ARGOSY_ASSIGN_OR_RETURN(const RuleTable rules, RuleTable::make(t.graph, sizes));
  ResolveRequest request{.seeds = shard_feeds(batch, 0)};
  request.seeds.insert(request.seeds.end(), options.seeds.begin(), options.seeds.end());
  ARGOSY_ASSIGN_OR_RETURN(const Assignment a, resolve(t.graph, sizes, rules, mesh, request));
  ARGOSY_RETURN_IF_ERROR(verify(t.graph, sizes, rules, mesh, a));
  Graph graph = t.graph.clone();
  ARGOSY_ASSIGN_OR_RETURN(const auto lowered, Lowered::make(graph, {.base = &t.graph,
                                                                    .sizes = &sizes,
                                                                    .rules = &rules,
                                                                    .assignment = &a,
                                                                    .mesh = &mesh,
                                                                    .batch = batch,
                                                                    .run = t.train,
                                                                    .block = options.turns,
                                                                    .first_bucket_bytes = 64,
                                                                    .bucket_bytes = 256}));
  for (const NodeId id : t.train) {
    for (const NodeId copy : lowered->copies(id)) {
      if (copy != id) graph.add_control_input(id, copy);
    }
  }
  std::vector<Value> fetches;
  for (const Value& v : t.fetches) {
    ARGOSY_ASSIGN_OR_RETURN(fetches.emplace_back(), lowered->global(v.endpoint()));
  }
  std::vector<std::int64_t> batches;
  std::copy_if(options.batches.begin(), options.batches.end(), std::back_inserter(batches),
               [&](std::int64_t b) { return sizes.covers(b); });
  ARGOSY_ASSIGN_OR_RETURN(const auto got, run_steps(t, batches, devices, fetches, graph));
  Graph plain = t.graph.clone();
  std::vector<Value> plain_fetches;
  for (const Value& v : t.fetches) plain_fetches.push_back(plain.value(v.endpoint()));
  ARGOSY_ASSIGN_OR_RETURN(const auto expected, run_steps(t, batches, 0, plain_fetches, plain));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string wrong = difference(got[i], expected[i], options.tolerance);
    if (!wrong.empty()) return str_cat("value ", i, ": ", wrong);
  }
  return std::string();
}

}  // namespace

std::string run_lowered(const TrainingTrial& trial, const TrialOptions& options) {
  const auto wrong = compare(trial, options);
  return wrong.ok() ? *wrong : wrong.status().to_string();
}

}  // namespace argosy
