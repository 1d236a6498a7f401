#include "argosy/sharding/tests/training_trial_test.h"

#include <algorithm>

#include "argosy/ops/constant/constant.h"
#include "argosy/sharding/reshard/redistribution.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {

std::map<Endpoint, Tensor> feeds_for(const TrainingTrial& t, std::int64_t batch, std::uint64_t step) {
  std::map<Endpoint, Tensor> feeds;
  for (std::size_t i = 0; i < t.feeds.size(); ++i) {
    const std::uint64_t seed = 100 * step + i + 1;
    std::optional<Tensor> own = t.feed_value ? t.feed_value(i, batch, seed) : std::nullopt;
    if (!own) {
      std::vector<std::int64_t> sizes(t.feeds[i].shape().sizes().begin(), t.feeds[i].shape().sizes().end());
      sizes[0] = batch;
      own = random_tensor(t.feeds[i].dtype(), Shape(std::span<const std::int64_t>(sizes)), seed, 0.1, 1);
    }
    feeds[t.feeds[i].endpoint()] = *own;
  }
  return feeds;
}

namespace {

struct Plan {
  Sizes sizes;
  RuleTable rules;
  Assignment assignment;
};

Result<Plan> plan_for(const TrainingTrial& t, const Mesh& mesh, const TrialOptions& options,
                      std::optional<std::int64_t> exactly) {
  std::vector<NodeId> batch;
  for (const Value& v : t.feeds) batch.push_back(v.node());
  ARGOSY_ASSIGN_OR_RETURN(Sizes sizes, Sizes::find(t.graph, {.batch = batch, .exactly = exactly}));
  ARGOSY_ASSIGN_OR_RETURN(RuleTable rules, RuleTable::make(t.graph, sizes));
  ResolveRequest request{.seeds = shard_feeds(batch, 0)};
  request.seeds.insert(request.seeds.end(), options.seeds.begin(), options.seeds.end());
  for (const Value& v : t.fetches) request.fetches.push_back(v.endpoint());
  ARGOSY_ASSIGN_OR_RETURN(Assignment a, resolve(t.graph, sizes, rules, mesh, request));
  if (options.change) {
    if (mesh.axes[0].size > 1) options.change(a);
  } else {
    ARGOSY_RETURN_IF_ERROR(verify(t.graph, sizes, rules, mesh, a, {.fetches = request.fetches}));
  }
  return Plan{std::move(sizes), std::move(rules), std::move(a)};
}

// Steps on virtual devices: values by step, fetches by step, variables at the end.
struct Outcome {
  std::vector<std::map<VirtualDevices::Name, Tensor>> values;
  std::vector<std::vector<Tensor>> fetches;
  std::vector<Tensor> variables;
};

// The same variables through all batches, whose plans may differ: state is moved from step to step by hand.
Result<Outcome> run_steps(const TrainingTrial& t, const TrialOptions& options, bool alone, TrialResult& result) {
  const Mesh one{.axes = {{.name = "data", .size = 1}}, .devices = {"a"}};
  Mesh mesh = one;
  if (!alone) {
    mesh.axes = {options.axis};
    mesh.devices.assign(static_cast<std::size_t>(options.axis.size), "d");
  }
  ARGOSY_ASSIGN_OR_RETURN(Plan any, plan_for(t, mesh, options, std::nullopt));
  if (!alone) {
    result.reshards = any.assignment.reshards;
    result.whole = any.assignment.whole;
    for (const Reshard& r : any.assignment.reshards)
      ++result.collectives[std::string(name_of(redistribution(r.from, r.to)))];
  }
  const Assignment replicated = all_replicated(t.graph);
  std::vector<NodeId> initializers;
  for (const VariableNode& v : t.variables) initializers.push_back(v.initializer.node());
  VirtualDevices devices(t.graph, any.sizes, any.rules, mesh.axes[0], alone ? replicated : any.assignment);
  ARGOSY_RETURN_IF_ERROR(devices.run({}, initializers));
  Outcome outcome;
  std::vector<NodeId> targets = t.train;
  for (const Value& v : t.fetches) targets.push_back(v.node());
  for (std::size_t step = 0; step < options.batches.size(); ++step) {
    const std::int64_t batch = options.batches[step];
    std::optional<Plan> exact;
    std::optional<VirtualDevices> own;
    if (!any.sizes.covers(batch)) {
      ARGOSY_ASSIGN_OR_RETURN(exact, plan_for(t, mesh, options, batch));
      own.emplace(t.graph, exact->sizes, exact->rules, mesh.axes[0], alone ? replicated : exact->assignment);
      own->share_state(devices);
    }
    VirtualDevices& now = own ? *own : devices;
    ARGOSY_RETURN_IF_ERROR(now.run(feeds_for(t, batch, step), targets));
    ARGOSY_ASSIGN_OR_RETURN(auto values, now.values());
    outcome.values.push_back(std::move(values));
    auto& fetched = outcome.fetches.emplace_back();
    for (std::size_t f = 0; f < t.fetches.size(); ++f) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor value, now.fetch(static_cast<int>(f), t.fetches[f].endpoint()));
      fetched.push_back(std::move(value));
    }
  }
  for (const VariableNode& v : t.variables) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor value, devices.variable(v.ref.endpoint()));
    outcome.variables.push_back(std::move(value));
  }
  return outcome;
}

std::string compare(const TrainingTrial& t, const Outcome& many, const Outcome& one, double tolerance, int& compared) {
  for (std::size_t step = 0; step < one.values.size(); ++step) {
    for (const auto& [name, value] : many.values[step]) {
      const Node& n = t.graph.node(name.first.node);
      const auto expected = one.values[step].find(name);
      const std::string what =
          str_cat("step ", step, ", '", n.name, "' (", n.op->name, "):", name.first.index, name.second);
      if (expected == one.values[step].end()) return what + " exists on many devices only";
      const std::string wrong = difference(value, expected->second, tolerance);
      if (!wrong.empty()) return what + ": " + wrong;
      ++compared;
    }
    for (std::size_t f = 0; f < one.fetches[step].size(); ++f) {
      const std::string wrong = difference(many.fetches[step][f], one.fetches[step][f], tolerance);
      if (!wrong.empty()) return str_cat("step ", step, ", fetch ", f, ": ", wrong);
      ++compared;
    }
  }
  for (std::size_t i = 0; i < one.variables.size(); ++i) {
    const std::string wrong = difference(many.variables[i], one.variables[i], tolerance);
    if (!wrong.empty()) return str_cat("variable ", i, ": ", wrong);
    ++compared;
  }
  return "";
}

}  // namespace

TrialResult run_trial(const TrainingTrial& t, const TrialOptions& options) {
  TrialResult result;
  if (!t.graph.status().ok()) {
    result.wrong = t.graph.status().to_string();
    return result;
  }
  const auto one = run_steps(t, options, true, result);
  const auto many = run_steps(t, options, false, result);
  if (!one.ok()) {
    result.wrong = "one device: " + one.status().to_string();
  } else if (!many.ok()) {
    result.wrong = many.status().to_string();
  } else {
    result.wrong = compare(t, *many, *one, options.tolerance, result.compared);
  }
  return result;
}

std::string collectives_text(const TrialResult& result) {
  std::string text;
  for (const auto& [name, count] : result.collectives) {
    if (name == "slice" || name == "keep-first" || name == "nothing") continue;
    text += str_cat(text.empty() ? "" : ", ", name, " ", count);
  }
  return text.empty() ? "none" : text;
}

}  // namespace argosy
