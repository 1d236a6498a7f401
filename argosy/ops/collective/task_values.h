// _TaskValues: an all-gather of unsharded tensors over tasks, such as the loss of each device's shard.
//
//   task 0:  a ──► _TaskValues ──► a b c        one node on each task, one group
//   task 1:  b c ► _TaskValues ──► a b c
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

struct TaskValuesSpec {
  std::string group;                   // equal on all tasks; no other node has it
  std::vector<DType> dtypes;           // of all values, task after task
  std::vector<PartialShape> shapes;    // likewise, as far as they are known
  std::vector<std::int64_t> net = {};  // kNetAttr; empty: there is one task
};

// Adds the node and returns it; it has one output for each value of all tasks. `own`: this task's values; the spec's
// lists describe the values of all tasks.
Result<NodeId> add_task_values(Graph& graph, const std::vector<Endpoint>& own, const TaskValuesSpec& spec,
                               std::string_view name);

}  // namespace argosy
