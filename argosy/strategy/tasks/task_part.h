// TaskPart: the part that one task runs of a step whose graph is for the devices of all tasks.
//
//   graph of all devices            task 0                       task 1
//   replica 0 ─┐                    replica 0 ─┐                          ┌─ replica 1
//   replica 1 ─┴ _AllReduce …       _AllReduce (rank 0) ··· network ··· _AllReduce (rank 1)
//   loss 0 ─┐                       loss 0 ─► _TaskValues ··········· _TaskValues ◄─ loss 1
//   loss 1 ─┴ AddN ─► loss                      └► AddN ─► loss         └► AddN ─► loss
//
// Every task builds the same graph and runs the nodes that it owns:
// * A node on a device belongs to the device's task.
// * A node without a device that changes a variable belongs to the variable's task.
// * Any other node belongs to a task if all owned inputs are that task's.
// * Every task computes the other nodes for itself, except those with state or effects, which belong to task 0.
// * A value that a node of another task reads is sent to all tasks, by a node _TaskValues (argosy/ops/collective).
// * A collective stays as it is: its ranks meet over the network.
//
// So the step has the same bits as in one process. Nodes of other tasks stay in the graph and are never run.
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
  std::vector<std::string> names;  // of all tasks' devices in the graph, each once; those of a task are neighbours
  std::vector<int> task;           // by device: its task, ascending from 0 without gaps
  int own = 0;                     // this task
  std::vector<std::string> local;  // names of this task's devices in its session, in the same order: "/device:GPU:0"
  int first_number = 0;            // of the graph's collectives; no two graphs of a task may share a number

  int tasks() const { return task.empty() ? 1 : task.back() + 1; }
  int first(int of_task) const;  // the position of its first device
  int count(int of_task) const;
};

class TaskPart {
 public:
  // Changes the graph into this task's part of it. Nobody may add nodes afterwards.
  // - `fed`: placeholders that every task feeds.
  // - `fetched`: values that will be fetched on every task, though one task may own them.
  //
  // UNIMPLEMENTED ARG-CLUSTER-061 names a value that cannot travel: it is in a loop or a branch, is a variable's
  // reference, or has a dtype without plain bytes.
  static Result<TaskPart> make(Graph& graph, const TaskDevices& devices, const std::vector<NodeId>& fed,
                               const std::vector<Endpoint>& fetched);

  // Returns what to feed or fetch on this task in place of a value.
  Endpoint local(Endpoint e) const;
  // Returns what this task must run when every task runs these fetches and targets with these feeds. It also has to
  // fetch the local() values.
  std::vector<NodeId> targets(const std::vector<Endpoint>& fetches, const std::vector<NodeId>& targets,
                              const std::vector<Endpoint>& feeds) const;
  // Returns the rows [begin, end) that this task's nodes read of a placeholder fed with `batch` rows. nullopt: all, or
  // they are not known.
  std::optional<std::pair<std::int64_t, std::int64_t>> own_rows(NodeId placeholder, std::int64_t batch) const;

  // Returns a text that must be equal on all tasks: a line per node, with its attributes, edges and device.
  const std::string& program() const { return program_; }
  int collectives() const { return collectives_; }  // of several ranks, and exchanges of values

 private:
  friend class TaskCutter;
  enum : int { kEveryTask = -1 };

  std::shared_ptr<Graph> global_;                      // the graph before make() changed it
  std::vector<int> owner_;                             // by node of global_; kEveryTask: every task has its own
  std::map<Endpoint, int> exchange_;                   // by value that travels: the position in exchanges_
  std::map<Endpoint, Endpoint> mirror_;                // what this task reads in place of another's value
  std::vector<NodeId> exchanges_;                      // nodes _TaskValues
  std::map<std::string, std::vector<NodeId>> groups_;  // collectives of several ranks
  std::string program_;
  int own_ = 0, collectives_ = 0;
};

}  // namespace argosy
