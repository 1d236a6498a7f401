// Values that a task computes and others need, such as the loss of each device's rows.
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
  std::string group;                   // equal on all tasks, of no other node
  std::vector<DType> dtypes;           // of all values, task after task
  std::vector<PartialShape> shapes;    // likewise, as far as they are known
  std::vector<std::int64_t> net = {};  // kNetAttr; empty: there is one task
};

// `own` are this task's; the spec's lists hold those of all tasks. Returns the node, one output a value.
Result<NodeId> add_task_values(Graph& graph, const std::vector<Endpoint>& own, const TaskValuesSpec& spec,
                               std::string_view name);

}  // namespace argosy
