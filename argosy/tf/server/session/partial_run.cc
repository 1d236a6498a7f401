#include "argosy/tf/server/session/partial_run.h"

#include <algorithm>

#include "argosy/base/guard.h"

namespace argosy::tf {

namespace {

// Ops keep their state in the client's session: streams of random numbers, queues without a shared name.
SessionOptions session_options(const ClientSessionOptions& options, const Session& session) {
  return {.device_set = options.device_set,
          .share_op_state_with = &session,
          .tasks = options.tasks,
          .allow_soft_placement = options.config.soft_placement,
          .optimize = options.tasks == nullptr || !options.tasks->has_foreign_task(),
          .stuck_after = options.stuck_after};
}

// Makes the same thing each time, and changes nothing: may run again.
bool repeatable(const Node& node) {
  if (node.op->name == "Const") return true;
  if (node.output_dtypes.empty() || !node.inputs.empty()) return false;
  for (std::size_t i = 0; i < node.output_dtypes.size(); ++i) {
    if (node.output_dtypes[i] != DType::kResource && !node.output_is_ref(static_cast<int>(i))) return false;
  }
  return true;
}

}  // namespace

// What one call runs.
struct PartialRun::Stage {
  std::set<NodeId> nodes;
  std::set<Endpoint> fed;
  std::vector<Endpoint> kept;
  std::vector<NodeId> open;  // nodes whose inputs are still to be looked at
};

Result<std::shared_ptr<PartialRun>> PartialRun::make(Session& session, ImportedGraph& graph, const StepNames& names,
                                                     const ClientSessionOptions& options) {
  constexpr std::int64_t kBytesOfNode = 256;  // of a copy, which shares much
  std::shared_ptr<PartialRun> run(new PartialRun());
  StepValues values;
  {
    MutexLock lock(run->mutex_);
    ARGOSY_RETURN_IF_ERROR(session.mutate_graph([&]() ARGOSY_REQUIRES(run->mutex_) -> Status {
      ARGOSY_ASSIGN_OR_RETURN(values, find_values(graph, names));
      const std::int64_t nodes = graph.graph().size();
      ARGOSY_ASSIGN_OR_RETURN(run->copied_,
                              host_budget().reserve(HostUse::kGraphs, nodes * kBytesOfNode,
                                                    str_cat("a partial run's copy of ", nodes, " nodes")));
      run->graph_ = graph.graph().clone();
      return ok_status();
    }));
    for (std::size_t i = 0; i < values.feeds.size(); ++i) {
      run->to_feed_.emplace(names.feeds[i], values.feeds[i].endpoint());
      run->awaited_.insert(values.feeds[i].endpoint());
    }
    for (std::size_t i = 0; i < values.fetches.size(); ++i) {
      run->to_fetch_.emplace(names.fetches[i], values.fetches[i].endpoint());
    }
    for (const Value& target : values.targets) run->targets_.push_back(target.node());
    run->session_ = std::make_unique<Session>(run->graph_, session_options(options, session));
  }
  return run;
}

Status PartialRun::collect_node(NodeId from, Stage& stage) const {
  if (done_.contains(from) || !stage.nodes.insert(from).second) return ok_status();
  stage.open.push_back(from);
  while (!stage.open.empty()) {
    const NodeId id = stage.open.back();
    stage.open.pop_back();
    for (const Endpoint input : graph_.node(id).inputs) ARGOSY_RETURN_IF_ERROR(collect(input, stage));
    for (const NodeId control : graph_.node(id).controls) {
      if (!done_.contains(control) && stage.nodes.insert(control).second) stage.open.push_back(control);
    }
  }
  return ok_status();
}

Status PartialRun::collect(Endpoint from, Stage& stage) const {
  if (awaited_.contains(from)) {
    return invalid_argument("what is fetched depends on '", graph_.node(from.node).name, ":", from.index,
                            "', which is to be fed but has not been yet");
  }
  if (values_.contains(from)) {
    stage.fed.insert(from);
  } else if (stage.nodes.insert(from.node).second) {
    stage.open.push_back(from.node);
  }
  return ok_status();
}

void PartialRun::keep_for_later(Stage& stage) const {
  // What later calls reach, and take from the nodes of this one.
  std::set<NodeId> later;
  std::vector<NodeId> open;
  std::set<Endpoint> kept;
  const auto reach = [&](NodeId id) ARGOSY_REQUIRES(mutex_) {
    if (!stage.nodes.contains(id) && !done_.contains(id) && later.insert(id).second) open.push_back(id);
  };
  const auto take = [&](Endpoint e) ARGOSY_REQUIRES(mutex_) {
    if (awaited_.contains(e) || values_.contains(e)) return;
    if (stage.nodes.contains(e.node) && !repeatable(graph_.node(e.node))) kept.insert(e);
    reach(e.node);
  };
  for (const auto& [name, endpoint] : to_fetch_) {
    if (!fetched_.contains(name)) take(endpoint);
  }
  for (const NodeId target : targets_) reach(target);
  while (!open.empty()) {
    const Node& node = graph_.node(open.back());
    open.pop_back();
    for (const Endpoint input : node.inputs) take(input);
    for (const NodeId control : node.controls) reach(control);
  }
  stage.kept.assign(kept.begin(), kept.end());
}

// Removes control edges from nodes that ran in an earlier call.
void PartialRun::forget_controls(const Stage& stage) {
  for (std::int32_t i = 0; i < graph_.size(); ++i) {
    const std::vector<NodeId> controls = graph_.node(NodeId{i}).controls;
    for (const NodeId control : controls) {
      if (stage.nodes.contains(control)) graph_.remove_control_input(NodeId{i}, control);
    }
  }
}

Result<std::vector<Tensor>> PartialRun::run(const std::vector<std::pair<std::string, Tensor>>& feeds,
                                            const std::vector<std::string>& fetches, Cancellation& cancellation,
                                            StuckObserver* stuck) {
  CancellableMutex::Lock call_lock(call_mutex_);
  ARGOSY_RETURN_IF_ERROR(call_lock.acquire(cancellation));
  MutexLock lock(mutex_);
  if (failed_) return aborted("an earlier call of this partial run failed");
  auto fetched = guarded([&]() ARGOSY_THREAD_ATTRIBUTE(no_thread_safety_analysis) {  // called under the lock
    return run_stage(feeds, fetches, cancellation, stuck);
  });
  if (failed_ || fetched_.size() == to_fetch_.size()) over_.store(true, std::memory_order_release);
  return fetched;
}

Result<std::vector<Tensor>> PartialRun::run_stage(const std::vector<std::pair<std::string, Tensor>>& feeds,
                                                  const std::vector<std::string>& fetches, Cancellation& cancellation,
                                                  StuckObserver* stuck) {
  failed_ = true;  // unless all goes well
  for (const auto& [name, tensor] : feeds) {
    const auto found = to_feed_.find(name);
    if (found == to_feed_.end()) return invalid_argument("'", name, "' was not announced as a feed in PartialRunSetup");
    if (awaited_.erase(found->second) == 0) return invalid_argument("'", name, "' has been fed already");
    values_.emplace(found->second, tensor);
  }
  Stage stage;
  std::vector<Endpoint> wanted;
  for (const std::string& name : fetches) {
    const auto found = to_fetch_.find(name);
    if (found == to_fetch_.end())
      return invalid_argument("'", name, "' was not announced as a fetch in PartialRunSetup");
    if (!fetched_.insert(name).second) return invalid_argument("'", name, "' has been fetched already");
    wanted.push_back(found->second);
    if (!values_.contains(found->second)) ARGOSY_RETURN_IF_ERROR(collect_node(found->second.node, stage));
  }
  const bool last = fetched_.size() == to_fetch_.size();
  std::vector<Value> targets;
  if (last) {
    for (const NodeId target : targets_) {
      if (done_.contains(target)) continue;
      ARGOSY_RETURN_IF_ERROR(collect_node(target, stage));
      targets.push_back(Value(&graph_, target, -1));
    }
  }
  keep_for_later(stage);
  Feeds fed;
  for (const Endpoint e : stage.fed) fed.emplace_back(graph_.value(e), values_.at(e));
  std::vector<Value> fetched;
  std::vector<int> from(wanted.size(), -1);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (values_.contains(wanted[i])) continue;
    from[i] = static_cast<int>(fetched.size());
    fetched.push_back(graph_.value(wanted[i]));
  }
  const std::size_t first_kept = fetched.size();
  for (const Endpoint e : stage.kept) fetched.push_back(graph_.value(e));
  std::vector<Tensor> out;
  if (!fetched.empty() || !targets.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(out, session_->run(fed, fetched, targets, {.cancellation = &cancellation, .stuck = stuck}));
  }
  for (std::size_t i = 0; i < stage.kept.size(); ++i) values_.emplace(stage.kept[i], out[first_kept + i]);
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    result.push_back(from[i] >= 0 ? out[static_cast<std::size_t>(from[i])] : values_.at(wanted[i]));
  }
  std::erase_if(stage.nodes, [&](NodeId id) ARGOSY_REQUIRES(mutex_) { return repeatable(graph_.node(id)); });
  done_.insert(stage.nodes.begin(), stage.nodes.end());
  forget_controls(stage);
  failed_ = false;
  return result;
}

}  // namespace argosy::tf
