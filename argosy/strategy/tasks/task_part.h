// TaskPart: what one task runs of a step whose graph is for the devices of all tasks.
//
//   graph of all devices            task 0                       task 1
//   replica 0 ─┐                    replica 0 ─┐                          ┌─ replica 1
//   replica 1 ─┴ _AllReduce …       _AllReduce (rank 0) ··· network ··· _AllReduce (rank 1)
//   loss 0 ─┐                       loss 0 ─► _TaskValues ··········· _TaskValues ◄─ loss 1
//   loss 1 ─┴ AddN ─► loss                      └► AddN ─► loss         └► AddN ─► loss
//
// Every task builds the same graph and keeps what is its own:
// * A node on a device belongs to the device's task. So does what is made of one task's values alone.
// * What is made of nobody's values, or of several tasks', every task computes for itself. What has state and no device is
//   task 0's.
// * A value that a node of another task reads goes to all tasks, by a node _TaskValues (argosy/ops/collective).
// * A collective stays as it is: its ranks meet over the network.
//
// So the step has the bits that it has in one process. Nodes of other tasks stay in the graph and are never run.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

struct TaskDevices {
  std::vector<std::string> names;  // of all tasks' devices as the graph has them, each once; a task's lie together
  std::vector<int> task;           // of each, ascending from 0, none left out
  int own = 0;                     // this task
  std::vector<std::string> local;  // what this task's session calls its own, in their order: "/device:GPU:0"
  int first_number = 0;            // of the graph's collectives; those of graphs that run in turn must differ

  int tasks() const { return task.empty() ? 1 : task.back() + 1; }
  int first(int of_task) const;  // the position of its first device
  int count(int of_task) const;
};

class TaskPart {
 public:
  // Changes the graph, which gets no other node afterwards. `fed`: placeholders that every task feeds. `fetched`: what will
  // be fetched and may belong to one task alone. UNIMPLEMENTED ARG-CLUSTER-061 names a value that cannot travel: of a loop, a branch or a dtype without plain
  // bytes.
  static Result<TaskPart> make(Graph& graph, const TaskDevices& devices, const std::vector<NodeId>& fed,
                               const std::vector<Endpoint>& fetched);

  // What to feed or fetch on this task in place of a value.
  Endpoint local(Endpoint e) const;
  // What this task must run, besides fetching local() values, when every task runs these fetches and targets with these
  // feeds.
  std::vector<NodeId> targets(const std::vector<Endpoint>& fetches, const std::vector<NodeId>& targets,
                              const std::vector<Endpoint>& feeds) const;
  // The rows [begin, end) of a fed batch that this task reads of a placeholder; nullopt: all, or nobody knows.
  std::optional<std::pair<std::int64_t, std::int64_t>> own_rows(NodeId placeholder, std::int64_t batch) const;

  // Everything that must be equal on all tasks, as lines of text: nodes, attributes, edges, devices.
  const std::string& program() const { return program_; }
  int collectives() const { return collectives_; }  // that span tasks, and exchanges of values

 private:
  friend class TaskCutter;
  enum : int { kEveryTask = -1 };

  std::shared_ptr<Graph> global_;                      // as it was
  std::vector<int> owner_;                             // by node of it; kEveryTask
  std::map<Endpoint, int> exchange_;                   // of values that travel: the position in exchanges_
  std::map<Endpoint, Endpoint> mirror_;                // what a task reads in place of another's value
  std::vector<NodeId> exchanges_;                      // nodes _TaskValues
  std::map<std::string, std::vector<NodeId>> groups_;  // collectives of several ranks
  std::string program_;
  int own_ = 0, collectives_ = 0;
};

}  // namespace argosy
