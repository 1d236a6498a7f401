// StepCompiler: compiles a signature to a step, with the session's options: pruning, passes, placement, compilation.
// Internal to runtime.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/op/kernel/kernel.h"
#include "argosy/passes/simplify/prune.h"
#include "argosy/runtime/compile/kernel_refusals.h"
#include "argosy/runtime/device_set/device_set.h"
#include "argosy/runtime/execute/remote_parts.h"
#include "argosy/runtime/session/session.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

// The result of a compilation.
struct CompiledStep {
  std::shared_ptr<const Step> step;     // this task's part, where the step runs on several
  std::unique_ptr<RemoteParts> remote;  // the other tasks' parts; null: there are none
  // The key that its collectives share with those of other tasks' steps (resolve_collective_groups.h). Unset: none do.
  std::optional<std::int64_t> collective_key = {};
};

// Not thread-safe, and the graph must not change during a call.
class StepCompiler {
 public:
  // All arguments must outlive this object. `device_set` is the session's pointer, which may still be null here.
  // `op_state`: the state that ops of the session keep between runs.
  StepCompiler(const Graph& graph, const SessionOptions& options, const std::shared_ptr<DeviceSet>& device_set,
               const std::shared_ptr<ResourceManager>& op_state)
      : graph_(graph), options_(options), device_set_(device_set), op_state_(op_state) {}

  // Compiles the step for `wanted`. `must_fit`: as compile_step(). An error of a node names it. An exception becomes an
  // error.
  Result<CompiledStep> make(const StepSignature& wanted, bool must_fit = true);

 private:
  Result<CompiledStep> make_unguarded(const StepSignature& wanted, bool must_fit);
  Result<CompiledStep> make_parts(StepGraph step, const DevicePlacement& placement, bool must_fit);
  // True if the task of this device knows the ops that pack several values into one message.
  bool packs(const std::string& device) const;
  PlaceOptions place_options();
  void remember_homes(const Graph& graph, const DevicePlacement& placement);
  bool is_async(const std::string& device) const;
  int home_of(const Node& handle, const DeviceName& request) const;
  std::string without_passes() const;
  const KernelRegistry& kernels() const;
  std::function<std::string(const Node&, const DeviceSpec&)> refuses();
  bool knows_gpus_like(const DeviceSpec& theirs) const;

  const Graph& graph_;
  const SessionOptions& options_;
  const std::shared_ptr<DeviceSet>& device_set_;
  const std::shared_ptr<ResourceManager>& op_state_;
  std::optional<KernelRefusals> refusals_;  // made at the first use
  std::set<std::string> told_missing_;
  // Resources that this session has placed on other tasks' devices, by container and name: positions among all devices.
  std::map<std::pair<std::string, std::string>, std::set<int>> remote_homes_;
  std::map<std::string, int, std::less<>> placed_;  // nodes that make handles, by name: where the first step put them
};

}  // namespace argosy
