#include "argosy/runtime/compile/step_compiler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "argosy/base/guard.h"
#include "argosy/base/log.h"
#include "argosy/base/threads/library_threads.h"
#include "argosy/graph/makes_handle.h"
#include "argosy/graph/signature.h"
#include "argosy/ops/ops.h"
#include "argosy/passes/optimize.h"
#include "argosy/passes/place/resolve_collective_groups.h"
#include "argosy/runtime/compile/compile.h"
#include "argosy/runtime/compile/resource_homes.h"
#include "argosy/runtime/tasks/partitioned_step.h"

namespace argosy {

// True if a node that asks for `device` will run on an asynchronous device. Without a type the name means a GPU: nodes
// go to the first one by default.
bool StepCompiler::is_async(const std::string& device) const {
  auto asked = DeviceName::parse(device);
  if (!asked.ok()) return false;
  if (asked->type.empty()) asked->type = "GPU";
  for (int d = 0; d < device_set_->size(); ++d) {
    if (asked->matches(device_set_->device(d).spec().name)) return device_set_->device(d).launch_queue() != nullptr;
  }
  return false;
}

Result<CompiledStep> StepCompiler::make(const StepSignature& wanted, bool must_fit) {
  const DeterministicScope as_it_runs(options_.reproducible);  // the workspace of a library depends on its threads
  return guarded([&] { return make_unguarded(wanted, must_fit); });
}

Result<CompiledStep> StepCompiler::make_unguarded(const StepSignature& wanted, bool must_fit) {
  ARGOSY_RETURN_IF_ERROR(Status(graph_.status()));
  ARGOSY_ASSIGN_OR_RETURN(StepGraph step, prune_step(graph_, wanted));
  // Passes that fold and fuse rely on valid signatures. Nodes that they make are checked when they become instructions.
  ARGOSY_RETURN_IF_ERROR(check_signatures(step.graph));
  ARGOSY_ASSIGN_OR_RETURN(
      step, prepare_step(std::move(step), {.optimize = options_.optimize,
                                           .without = without_passes(),
                                           .is_async = [this](const std::string& device) { return is_async(device); },
                                           .over_tasks = options_.tasks != nullptr && options_.tasks->meets_by_key()}));
  ARGOSY_ASSIGN_OR_RETURN(DevicePlacement placement, place(step.graph, place_options()));
  for (const std::string& missing : placement.missing_devices) {
    if (told_missing_.insert(missing).second) ARGOSY_LOG(kWarning, missing);
  }
  const int own = device_set_->size();
  const bool alone = std::all_of(placement.device.begin(), placement.device.end(), [&](int d) { return d < own; });
  CompiledStep compiled;
  const std::optional<std::int64_t> key = collective_graph_key(step.graph);
  remember_homes(step.graph, placement);
  if (alone) {
    ARGOSY_ASSIGN_OR_RETURN(compiled.step, compile_step(std::move(step), std::move(placement), device_set_, kernels(),
                                                        must_fit, op_state_));
  } else {
    ARGOSY_ASSIGN_OR_RETURN(compiled, make_parts(std::move(step), placement, must_fit));
  }
  compiled.collective_key = key;
  if (options_.log_device_placement) std::fputs(compiled.step->info.report().summary().c_str(), stderr);
  return compiled;
}

PlaceOptions StepCompiler::place_options() {
  PlaceOptions options{
      .devices = device_set_->specs(),
      .has_kernel =
          [this](const OpDef& op, const DeviceSpec& spec) {
            const int d = device_set_->find(spec.name);
            if (d < 0) {
              return options_.tasks->has_kernel(op, spec) &&
                     (!knows_gpus_like(spec) || kernels().has(op.name, device_kind_name(spec.kind)));
            }
            return kernels().has(op.name, device_set_->device(d).kernel_kind());
          },
      .refuses = refuses(),
      .allow_soft_placement = options_.allow_soft_placement,
      .home = [this](const Node& handle, const DeviceName& request) { return home_of(handle, request); }};
  if (options_.tasks == nullptr) return options;
  options.own = options.devices.size();
  for (DeviceSpec& spec : options_.tasks->devices()) options.devices.push_back(std::move(spec));
  return options;
}

// --- steps over several tasks ----------------------------------------------------------------------------------------

Result<CompiledStep> StepCompiler::make_parts(StepGraph step, const DevicePlacement& placement, bool must_fit) {
  auto whole = std::make_shared<PlacementReport>(report_of(step.graph, placement));
  const PartitionOptions options{
      .incarnation = [this](const std::string& device) { return options_.tasks->incarnation(device); },
      .packs = [this](const std::string& device) { return packs(device); },
      .is_foreign =
          [this](const std::string& device) {
            const auto name = DeviceName::parse(device);
            return name.ok() && !options_.tasks->shares_loops(*name);
          },
      .next_transfer = [this] { return options_.tasks->next_transfer(); },
      .own_device = placement.device_name[0]};
  ARGOSY_ASSIGN_OR_RETURN(auto parts, partition(std::move(step), placement, options));
  Partition own = std::move(parts[0]);
  parts.erase(parts.begin());
  // The placement of this task's partition: each node has the full name of its device.
  DevicePlacement here{.device = {}, .reason = {}, .reasons = {"with the step"}, .device_name = {}};
  for (const DeviceSpec& spec : device_set_->specs()) here.device_name.push_back(spec.name.to_string());
  for (const Node& n : own.step.graph.nodes()) {
    const auto at = std::find(here.device_name.begin(), here.device_name.end(), n.device);
    ARGOSY_CHECK(at != here.device_name.end());
    here.device.push_back(static_cast<int>(at - here.device_name.begin()));
    here.reason.push_back(0);
  }
  PartitionedStep::Positions positions{std::move(own.feeds), std::move(own.fetches)};
  CompiledStep compiled;
  ARGOSY_ASSIGN_OR_RETURN(auto compiled_own, compile_step(std::move(own.step), std::move(here), device_set_, kernels(),
                                                          must_fit, op_state_, std::move(whole)));
  compiled.step = std::move(compiled_own);
  ARGOSY_ASSIGN_OR_RETURN(compiled.remote, PartitionedStep::make(options_.tasks, std::move(positions), std::move(parts),
                                                                 {.fetch_handles = options_.fetch_handles,
                                                                  .reproducible = options_.reproducible}));
  return compiled;
}

bool StepCompiler::packs(const std::string& device) const {
  const OpDef& op = *builtin_ops().find("_UnpackValues");
  for (const DeviceSpec& spec : options_.tasks->devices()) {
    if (spec.name.to_string() == device) return options_.tasks->has_kernel(op, spec);
  }
  return true;  // a device of this task
}

void StepCompiler::remember_homes(const Graph& graph, const DevicePlacement& placement) {
  remember_requests(*device_set_, graph, placement);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    const int device = placement.device[static_cast<std::size_t>(i)];
    if (!makes_handle(n)) continue;
    placed_.try_emplace(std::string(n.name), device);
    if (device >= device_set_->size()) remote_homes_[resource_name(n)].insert(device);
  }
}

// Steps are placed one by one, and a name means one thing on a device in all of them. What this session has placed
// stays there: a colocation may have moved the node from the device that it asks for.
int StepCompiler::home_of(const Node& handle, const DeviceName& request) const {
  const auto before = placed_.find(handle.name);
  const int placed = before == placed_.end() ? -1 : before->second;
  if (placed >= device_set_->size()) return placed;
  const int here = argosy::home_of(*device_set_, handle, request, placed, op_state_.get());
  if (here >= 0) return here;
  const auto there = remote_homes_.find(resource_name(handle));
  if (there == remote_homes_.end()) return -1;
  const std::vector<DeviceSpec> remote = options_.tasks->devices();
  for (const int device : there->second) {
    if (request.matches(remote[static_cast<std::size_t>(device - device_set_->size())].name)) return device;
  }
  return -1;
}

std::string StepCompiler::without_passes() const {
  const char* const env = std::getenv("ARGOSY_WITHOUT_PASSES");
  return options_.without_passes.empty() && env != nullptr ? env : options_.without_passes;
}

const KernelRegistry& StepCompiler::kernels() const {
  return options_.kernels != nullptr ? *options_.kernels : device_set_->kernels();
}

// True if `theirs` is a GPU, and this task has one of its kind: then this task knows the kernels for it. Where it has
// none, the other task moves nodes without a kernel to its own CPU.
bool StepCompiler::knows_gpus_like(const DeviceSpec& theirs) const {
  if (theirs.kind != DeviceKind::kCuda) return false;
  for (int d = 0; d < device_set_->size(); ++d) {
    if (device_set_->device(d).spec().kind == theirs.kind) return true;
  }
  return false;
}

// Returns the check of dtypes for placement; null without asynchronous devices. Only kernels that do not come with the
// library (a real GPU's) take some dtypes and not others.
std::function<std::string(const Node&, const DeviceSpec&)> StepCompiler::refuses() {
  if (!device_set_->has_async_device()) return nullptr;
  if (!refusals_) refusals_.emplace(kernels(), graph_);
  refusals_->look_at_graph();
  return [this](const Node& node, const DeviceSpec& spec) -> std::string {
    if (const int d = device_set_->find(spec.name); d >= 0) {
      return refusals_->why_not(node, device_set_->device(d).kernel_kind());
    }
    return knows_gpus_like(spec) ? refusals_->why_not(node, device_kind_name(spec.kind)) : "";
  };
}

}  // namespace argosy
