#include "argosy/runtime/tasks/task_graphs.h"

#include <utility>

#include "argosy/base/guard.h"
#include "argosy/base/system/random_source.h"
#include "argosy/base/threads/cancel_link.h"
#include "argosy/op/kernel/derived_status.h"
#include "argosy/ops/send_recv/send_recv.h"
#include "argosy/passes/optimize.h"
#include "argosy/passes/place/place.h"
#include "argosy/runtime/compile/compile.h"
#include "argosy/runtime/compile/kernel_refusals.h"
#include "argosy/runtime/compile/resource_homes.h"
#include "argosy/runtime/execute/executable_step.h"

namespace argosy {

std::string TaskGraphs::random_prefix() { return str_cat("graph_", system_random_source().next(), "_"); }

// --- registered graphs -----------------------------------------------------------------------------------------------

namespace {

void run_all_sends(StepGraph& graph) {
  for (std::int32_t i = 0; i < graph.graph.size(); ++i) {
    if (transfer_of(*graph.graph.node(NodeId{i}).op) == Transfer::kSend) graph.targets.push_back(NodeId{i});
  }
}

Status not_registered(const std::string& handle) {
  return aborted("Graph handle is not found: ", handle, ". Possibly, this worker just restarted.")
      .with_id("ARG-TASK-001")
      .with_hint("register the graph again; variables of that task are to be restored");
}

Result<std::shared_ptr<ExecutableStep>> compile_graph(StepGraph graph, const TaskGraphOptions& options,
                                                      const std::shared_ptr<DeviceSet>& device_set,
                                                      const std::shared_ptr<ResourceManager>& op_state) {
  if (options.prepare) {
    run_all_sends(graph);
    ARGOSY_ASSIGN_OR_RETURN(graph, prepare_step(std::move(graph), {.over_tasks = true}));
  }
  const KernelRegistry& kernels = device_set->kernels();
  const auto has_kernel = [&](const OpDef& op, const DeviceSpec& spec) {
    return kernels.has(op.name, device_set->device(device_set->find(spec.name)).kernel_kind());
  };
  KernelRefusals refusals(kernels, graph.graph);
  const bool some_refuse = device_set->has_async_device();
  if (some_refuse) refusals.look_at_graph();
  const auto refuses = [&](const Node& node, const DeviceSpec& spec) {
    return some_refuse ? refusals.why_not(node, device_set->device(device_set->find(spec.name)).kernel_kind()) : "";
  };
  ARGOSY_ASSIGN_OR_RETURN(DevicePlacement placement,
                          place(graph.graph, {.devices = device_set->specs(),
                                              .has_kernel = has_kernel,
                                              .refuses = refuses,
                                              .home = [&](const Node& handle, const DeviceName& request) {
                                                return home_of(*device_set, handle, request, -1, op_state.get());
                                              }}));
  remember_requests(*device_set, graph.graph, placement);
  ARGOSY_ASSIGN_OR_RETURN(auto step, compile_step(std::move(graph), std::move(placement), device_set, kernels,
                                                  /*must_fit=*/true, op_state));
  return std::make_shared<ExecutableStep>(std::move(step));
}

}  // namespace

Result<std::string> TaskGraphs::register_graph(StepGraph graph, const TaskGraphOptions& options) {
  return guarded([&]() -> Result<std::string> {
    ARGOSY_ASSIGN_OR_RETURN(auto step, compile_graph(std::move(graph), options, device_set_, op_state_));
    MutexLock lock(mutex_);
    std::string handle = str_cat(prefix_, next_++);
    graphs_.emplace(handle, Registered{std::move(step), options});
    return handle;
  });
}

Status TaskGraphs::check(const std::string& handle) {
  MutexLock lock(mutex_);
  return graphs_.contains(handle) ? ok_status() : not_registered(handle);
}

void TaskGraphs::deregister_graph(const std::string& handle) {
  Registered gone;  // goes with no lock held
  MutexLock lock(mutex_);
  if (const auto at = graphs_.find(handle); at != graphs_.end()) {
    gone = std::move(at->second);
    graphs_.erase(at);
  }
}

// --- runs ------------------------------------------------------------------------------------------------------------

// Enters a run in the list of runs, so that abort() finds it, for as long as it lives.
class TaskGraphs::Entered {
 public:
  Entered(TaskGraphs& graphs, RunContext& context) : graphs_(graphs) {
    MutexLock lock(graphs_.mutex_);
    at_ = graphs_.runs_.emplace(context.step_id(), &context);
  }
  ~Entered() {
    MutexLock lock(graphs_.mutex_);
    while (graphs_.aborting_ > 0) graphs_.aborted_.wait(graphs_.mutex_);
    graphs_.runs_.erase(at_);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  TaskGraphs& graphs_;
  std::multimap<std::int64_t, RunContext*>::iterator at_;
};

Result<std::vector<Tensor>> TaskGraphs::run(const TaskRun& run) {
  return guarded([&] { return run_unguarded(run); });
}

Result<std::vector<Tensor>> TaskGraphs::run_unguarded(const TaskRun& run) {
  Registered graph;
  {
    MutexLock lock(mutex_);
    const auto at = graphs_.find(run.handle);
    if (at != graphs_.end()) graph = at->second;
  }
  if (graph.step == nullptr) return not_registered(run.handle);
  const Step& step = graph.step->step();
  if (run.feeds.size() != step.feed_slots.size()) {
    return invalid_argument("the graph takes ", step.feed_slots.size(), " feeds, was given ", run.feeds.size())
        .with_id("ARG-TASK-002");
  }
  const std::shared_ptr<TaskRendezvous> rendezvous = steps_.find(run.step_id);
  RunContext context(run.step_id, run.stats, graph.options.fetch_handles);
  context.want_deterministic(graph.options.reproducible);
  context.set_rendezvous(rendezvous);
  std::vector<Tensor> fetches(step.fetch_slots.size());
  Status status;
  {
    CancelLink ends(&context.cancellation(),
                    [&] { rendezvous->abort(derived_status(context.cancellation().status())); });
    const Entered entered(*this, context);
    status = rendezvous->cause();  // aborted before it began
    if (status.ok()) status = graph.step->run(run.feeds, fetches, context);
  }
  if (status.ok()) {
    rendezvous->end_sends();
    return fetches;
  }
  rendezvous->abort(derived_status(status));
  return status;
}

void TaskGraphs::abort(std::int64_t step_id, const Status& cause) {
  steps_.find(step_id)->abort(cause);
  cancel_runs([&](std::int64_t id) { return id == step_id; }, cause);
}

// Each run aborts its own rendezvous: steps of other graphs on this task go on.
void TaskGraphs::abort_all(const Status& cause) {
  cancel_runs([](std::int64_t) { return true; }, cause);
}

// Cancels the runs that `which` chooses. A cancellation may call back, so no lock is held; no run leaves meanwhile.
void TaskGraphs::cancel_runs(const std::function<bool(std::int64_t)>& which, const Status& cause) {
  std::vector<RunContext*> runs;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, run] : runs_) {
      if (which(id)) runs.push_back(run);
    }
    if (runs.empty()) return;
    ++aborting_;
  }
  for (RunContext* const run : runs) run->cancellation().cancel(cause);
  MutexLock lock(mutex_);
  --aborting_;
  aborted_.notify_all();
}

}  // namespace argosy
