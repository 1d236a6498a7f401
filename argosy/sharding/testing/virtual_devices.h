// VirtualDevices: runs a graph with an Assignment, node by node on CPU kernels, with real shards, partial values and
// reshards. For tests: it shows that an assignment gives one device's values, before anything is lowered.
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

  // Takes over the state of other devices. REQUIRES: there are as many, and variables have the same layouts.
  void share_state(const VirtualDevices& others) { resources_ = others.resources_; }

  // One step. `feeds`: global values. State stays for the next step.
  Status run(const std::map<Endpoint, Tensor>& feeds, const std::vector<NodeId>& targets);

  // The global values of the last step, by value and iteration ("": outside of loops, "/1": the second iteration of a
  // loop). References and handles are left out. An error names a replicated value that differs between devices.
  using Name = std::pair<Endpoint, std::string>;
  Result<std::map<Name, Tensor>> values() const;
  // Returns the value of a fetch, after its reshards.
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

// Returns the assignment in which every value is replicated: each device computes what one device does.
Assignment all_replicated(const Graph& graph);

}  // namespace argosy
