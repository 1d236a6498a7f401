#include "argosy/tf/server/replication/check/step_check.h"

#include <algorithm>
#include <map>

#include "argosy/passes/functions/lower_functions.h"
#include "argosy/strategy/analysis/variable_nodes.h"
#include "argosy/strategy/data_parallel/step_equivalence.h"
#include "argosy/tf/server/replication/check/step_comparison.h"
#include "argosy/tf/server/session/session_state.h"

namespace argosy::tf {

namespace {

constexpr std::size_t kDifferencesTold = 3;

// The node whose resource or reference arrives here, through Identity and the like.
NodeId maker_behind(const Graph& graph, Endpoint e) {
  for (int steps = 0; steps < 64; ++steps) {
    const Node& n = graph.node(e.node);
    if (n.inputs.empty() || !is_handle(graph, n.inputs[0])) break;
    e = n.inputs[0];
  }
  return e.node;
}

std::string resource_name(const Node& maker) {
  const auto shared = maker.attrs.get_or<std::string>("shared_name", "");
  return shared.empty() ? maker.name : shared;
}

bool prints(const Node& n) { return n.op->effect == Effect::kPrints; }

OneDeviceReason about(const std::string& node, const std::string& op, const std::string& why) {
  return {.why = str_cat("'", node, "' (", op, ") ", why), .node = node};
}

// Whose state can be saved and restored.
std::set<std::string> restorable_names(Session& session) {
  std::set<std::string> names;
  const auto add = [&](const ResourceManager& resources) {
    for (const auto& [name, resource] : resources.list()) {
      if (dynamic_cast<const Restorable*>(resource.get()) != nullptr) names.insert(name);
    }
  };
  for (int d = 0; d < session.device_set().size(); ++d) add(session.device_set().resources(d));
  add(session.op_state());
  return names;
}

}  // namespace

StepCheck::StepCheck(const Graph& graph, const StepValues& values, const std::vector<Value>& sources,
                     const std::vector<Endpoint>& losses) {
  StepSignature signature;
  for (const Value& v : values.feeds) signature.feeds.push_back(v.endpoint());
  signature.feed_shapes.assign(signature.feeds.size(), PartialShape::unknown());
  for (const Value& v : values.fetches) {
    signature.fetches.push_back(v.endpoint());
    names_.push_back(v.name());
    summaries_.push_back(graph.node(v.node()).op->name.find("Summary") != std::string::npos);
  }
  fetches_ = names_.size();
  for (const Endpoint e : losses) {
    signature.fetches.push_back(e);
    names_.push_back(str_cat(graph.node(e.node).name, ":", e.index));
    summaries_.push_back(false);
  }
  for (const Value& v : values.targets) signature.targets.push_back(v.node());
  for (const auto& [to, from] : values.connections) signature.connections.push_back({to.endpoint(), from.endpoint()});
  for (const Value& v : sources) sources_.insert(graph.node(v.node()).name);
  auto step = prune_step(graph, signature);
  Status known = step.status();
  if (known.ok()) known = lower_functions(*step).status();
  if (known.ok()) known = remove_unused_nodes(*step);
  if (!known.ok()) {
    unrepeatable_ = reason_of(known);
    return;
  }
  const Graph& part = step->graph;
  const std::set<NodeId> fed(step->feeds.begin(), step->feeds.end());
  for (std::int32_t i = 0; i < part.size(); ++i) {
    const Node& n = part.node(NodeId{i});
    // What brings the batch has run before, once; here others may wait for it. ran_twice() sees whether it ran again.
    if (fed.contains(NodeId{i}) || sources_.contains(n.name)) continue;
    for (const DType dtype : n.output_dtypes) computed_in_ = coarser(computed_in_, dtype);
    loops_ = loops_ || n.op->closes_loop;
    if (!n.op->stateful || n.op->flow != Flow::kNone || n.op->step_state || is_variable(n)) continue;
    // A queue's or a table's node without outputs looks like one that writes a variable.
    const bool of_variable = !n.inputs.empty() && is_variable(part.node(maker_behind(part, n.inputs[0])));
    if ((of_variable && writes_variable(part, n)) || (may_be_repeated(n) && !prints(n))) continue;
    if (prints(n)) {
      if (unrepeatable_.why.empty()) unrepeatable_ = about(n.name, n.op->name, "would print its line again");
      continue;
    }
    Stateful one{.node = n.name, .op = n.op->name};
    for (const Endpoint e : n.inputs) {
      if (!is_handle(part, e)) continue;
      const Node& maker = part.node(maker_behind(part, e));
      if (!is_variable(maker)) one.resources.push_back(resource_name(maker));
    }
    const bool makes = n.inputs.empty() && n.output_dtypes.size() == 1 && is_handle(part, {NodeId{i}, 0});
    if (makes) continue;  // names a queue or a table: who uses it is looked at
    uses_containers_ = uses_containers_ || !one.resources.empty();
    if (one.resources.empty()) one.resources.push_back(n.name);
    stateful_.push_back(std::move(one));
  }
}

OneDeviceReason StepCheck::why_not(Session& session, const std::vector<ReplicationNote>& notes) const {
  if (!unrepeatable_.why.empty()) return unrepeatable_;
  for (const ReplicationNote& note : notes) {
    if (note.kind == ReplicationNote::Kind::kMemory) continue;
    return {.why = note.text, .node = note.node};
  }
  const std::set<std::string> known = restorable_names(session);
  for (const Stateful& s : stateful_) {
    for (const std::string& name : s.resources) {
      if (known.contains(name)) continue;
      return about(s.node, s.op, "has effects that cannot be taken back, and so cannot be run twice");
    }
  }
  return {};
}

std::string StepCheck::ran_twice(const StepStats& stats) const {
  std::map<std::string, int, std::less<>> times;
  for (const OpRecord& record : stats.ops) {
    const std::string_view name = original_of(record.node);
    if (sources_.contains(std::string(name))) {
      // Had before, once for all devices.
      return str_cat("'", name, "' (", record.op, ") ran once more, and took another batch");
    }
    ++times[std::string(name)];
  }
  if (loops_) return "";  // every iteration may
  for (const Stateful& s : stateful_) {
    const bool draws = s.resources.size() == 1 && s.resources[0] == s.node;  // shards draw each its own
    const auto found = times.find(s.node);
    if (draws || found == times.end() || found->second < 2) continue;
    return str_cat("'", s.node, "' (", s.op, ") ran ", found->second, " times");
  }
  return "";
}

Result<StepCheck::Outcome> StepCheck::run(Session& session, std::int64_t step, const Run& alone, const Run& replicated,
                                          std::span<Tensor> values) const {
  const auto not_checked = [](std::string why) { return Outcome{.not_checked = {.why = std::move(why)}}; };
  auto snapshot = SessionState::snapshot(session, uses_containers_);
  if (!snapshot.ok()) return not_checked(snapshot.status().message());
  const SessionState& state = *snapshot;

  // On one device; once more from perturbed variables, to see what rounding comes to.
  SingleDeviceRun one{.outputs = std::vector<Tensor>(names_.size()), .before = {}, .written = {}};
  if (Status status = alone(one.outputs, nullptr); !status.ok()) {
    if (status.code() != Code::kResourceExhausted) return status;
    ARGOSY_RETURN_IF_ERROR(state.put_back());
    return not_checked(str_cat("one device cannot run the whole step: ", status.message()));
  }
  ARGOSY_ASSIGN_OR_RETURN(one.written, state.changed());
  ARGOSY_ASSIGN_OR_RETURN(const auto perturbed, run_perturbed(state, one, computed_in_, 0, alone));

  StepStats stats;
  stats.keep_ops = true;
  if (Status status = replicated(values, &stats); !status.ok()) {
    ARGOSY_RETURN_IF_ERROR(state.put_back());
    if (status.code() != Code::kResourceExhausted) return status;
    return not_checked(str_cat("there is too little memory to keep the state beside: ", status.message()));
  }
  StepComparison comparison(names_, summaries_, fetches_, one, values);
  ARGOSY_RETURN_IF_ERROR(comparison.add_written(state, one));
  if (perturbed) comparison.add_noise(*perturbed);
  ARGOSY_ASSIGN_OR_RETURN(std::vector<std::string> differences,
                          differences_above_noise(session, state, one, alone, comparison));
  if (const std::string twice = ran_twice(stats); !twice.empty()) differences.insert(differences.begin(), twice);
  if (differences.empty()) {
    Outcome outcome{.ran = true};
    if (const std::string name = perturbed ? comparison.noisy(computed_in_) : ""; !name.empty()) {
      outcome.not_checked = {.why = str_cat("rounding alone changes '", name, "' as much as the step does"),
                             .node = name};
    }
    return outcome;
  }
  ARGOSY_RETURN_IF_ERROR(state.put_back());
  const std::size_t all = differences.size();
  if (all > kDifferencesTold) differences.resize(kDifferencesTold);
  return internal_error(kOtherThanOneDevice, ": replicated step ", step,
                        " is not the step of one device: ", str_join(differences, "; "),
                        all > kDifferencesTold ? str_cat("; and ", all - kDifferencesTold, " more") : std::string())
      .with_id(kOtherThanOneDevice)
      .with_where(str_cat("step ", step))
      .with_hint("run without --replicate, and report this as a defect with the graph");
}

Result<std::vector<std::string>> StepCheck::differences_above_noise(Session& session, const SessionState& state,
                                                                    const SingleDeviceRun& one, const Run& alone,
                                                                    StepComparison& comparison) const {
  std::vector<std::string> differences = comparison.differences(computed_in_);
  if (differences.empty()) return differences;
  // Keeps the state that the replicated step left, too.
  const auto left = SessionState::snapshot(session, uses_containers_);
  if (!left.ok()) return differences;
  for (int k = 1; k < kNoiseRuns && !differences.empty(); ++k) {
    ARGOSY_ASSIGN_OR_RETURN(const auto perturbed, run_perturbed(state, one, computed_in_, k, alone));
    if (!perturbed) continue;
    comparison.add_noise(*perturbed);
    differences = comparison.differences(computed_in_);
  }
  ARGOSY_RETURN_IF_ERROR(left->put_back());
  return differences;
}

}  // namespace argosy::tf
