// Runs a graph with an Assignment on virtual devices: node by node on CPU kernels, with real shards, partial values and
// reshards. For tests: it shows that an assignment computes what one device does, before anything is lowered.
//
//   node ──► for each device: inputs through their reshards, local sizes ──► kernel ──► outputs in their placements
//
// One mesh axis. Loops and conditionals in dataflow form run with frames and iterations; all devices go together.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "argosy/op/state/resource_manager.h"
#include "argosy/sharding/assignment.h"
#include "argosy/sharding/rules/rule_table.h"
#include "argosy/sharding/testing/virtual_values.h"

namespace argosy {

class VirtualDevices {
 public:
  // Everything is borrowed.
  VirtualDevices(const Graph& graph, const Sizes& sizes, const RuleTable& rules, const MeshAxis& axis,
                 const Assignment& assignment);

  // The state of other devices, as many as these: variables with the same layouts.
  void share_state(const VirtualDevices& others) { resources_ = others.resources_; }

  // One step. `feeds`: global values. State stays for the next step.
  Status run(const std::map<Endpoint, Tensor>& feeds, const std::vector<NodeId>& targets);

  // Global values of the last step: by value and iteration ("": outside of loops, "/1": the second iteration of a
  // loop). References and handles are left out. An error names the value: devices do not agree.
  using Name = std::pair<Endpoint, std::string>;
  Result<std::map<Name, Tensor>> values() const;
  // What a fetch gives, through its reshards.
  Result<Tensor> fetch(int number, Endpoint e) const;
  // The global value of a variable, now.
  Result<Tensor> variable(Endpoint reference) const;

 private:
  friend class VirtualStep;
  const Graph& graph_;
  const Sizes& sizes_;
  const RuleTable& rules_;
  const MeshAxis& axis_;
  const Assignment& a_;
  std::map<std::pair<NodeId, int>, std::vector<const Reshard*>> reshards_;  // by user
  std::vector<std::shared_ptr<ResourceManager>> resources_;                 // by device
  std::map<Name, Shards> values_;
};

// Every value on every device: what one device does.
Assignment all_replicated(const Graph& graph);

}  // namespace argosy
