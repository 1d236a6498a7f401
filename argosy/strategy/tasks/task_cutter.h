// TaskCutter: finds whose each node is, and changes the graph so. Internal to strategy/tasks.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "argosy/device/name.h"
#include "argosy/strategy/tasks/task_part.h"

namespace argosy {

// It keeps state, or may change a variable: it runs even if nobody reads what it gives.
inline bool has_effect(const OpDef& op) { return op.stateful || op.has_ref_input(); }

class TaskCutter {
 public:
  TaskCutter(Graph& graph, const TaskDevices& devices, const std::vector<NodeId>& fed)
      : graph_(graph), devices_(devices), fed_(fed), next_number_(devices.first_number) {}
  Result<TaskPart> run(const std::vector<Endpoint>& fetched);

 private:
  // A set of values that travel together: what one node reads of other tasks and no earlier one did.
  struct Exchange {
    std::vector<Endpoint> values;  // by owner, ascending
    int number = 0;                // among all collectives over tasks
  };

  Status find_owners();
  int owner_of(NodeId id) const;
  // Numbers collectives and exchanges in an order in which every task can make them.
  Status number_collectives(const std::vector<Endpoint>& fetched);
  // `in_flow`: who reads them is in a loop or a branch.
  Status exchange(const std::vector<Endpoint>& values, bool in_flow);
  Status check_travels(Endpoint e, bool in_flow) const;
  Status add_exchanges();
  Status keep_own();
  std::string describe_program() const;

  // The position of the device that a node asks for; -1: none of any task.
  int device_of(const Node& n) const;
  int owner(NodeId id) const { return owners_[static_cast<std::size_t>(id.index)]; }
  // The group of a collective whose ranks are on several tasks; "": it is none.
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
