// TaskCutter: finds the task that owns each node, and changes the graph into one task's part. Internal to
// strategy/tasks.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "argosy/device/name.h"
#include "argosy/strategy/tasks/task_part.h"

namespace argosy {

// True if the op keeps state or may change a variable. It runs even if nobody reads its outputs.
inline bool has_effect(const OpDef& op) { return op.stateful || op.has_ref_input(); }

class TaskCutter {
 public:
  TaskCutter(Graph& graph, const TaskDevices& devices, const std::vector<NodeId>& fed)
      : graph_(graph), devices_(devices), fed_(fed), next_number_(devices.first_number) {}
  Result<TaskPart> run(const std::vector<Endpoint>& fetched);

 private:
  // Values that travel together: inputs of one node that other tasks own, and that no earlier exchange brings.
  struct Exchange {
    std::vector<Endpoint> values;  // by owner, ascending
    int number = 0;                // among all collectives over tasks
  };

  Status find_owners();
  int owner_of(NodeId id) const;
  // Numbers collectives and exchanges in a topological order, which every task can follow.
  Status number_collectives(const std::vector<Endpoint>& fetched);
  // Makes an exchange of those `values` that have an owner and no exchange yet. `in_flow`: the reader is in a loop or a
  // branch.
  Status exchange(const std::vector<Endpoint>& values, bool in_flow);
  Status check_travels(Endpoint e, bool in_flow) const;
  Status add_exchanges();
  Status keep_own();
  std::string describe_program() const;

  // Returns the position in TaskDevices of the device that a node asks for; -1: it asks for none of these.
  int device_of(const Node& n) const;
  int owner(NodeId id) const { return owners_[static_cast<std::size_t>(id.index)]; }
  // Returns the group of a collective of two or more ranks; "": the node is no such collective.
  std::string spanning_group(const Node& n) const;

  Graph& graph_;
  const TaskDevices& devices_;
  const std::vector<NodeId>& fed_;
  std::vector<DeviceName> names_;  // of the devices
  TaskPart part_;
  std::vector<int> owners_;
  std::vector<char> in_flow_;  // by node: its value belongs to an iteration of a loop, or to a branch
  std::vector<Exchange> exchanges_;
  std::map<Endpoint, int> exchange_of_;
  std::map<std::string, int> number_of_group_;
  int next_number_;
};

}  // namespace argosy
