// Converts a partition of a step to RegisterGraph's GraphDef, and that GraphDef to the step that a task runs.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/op/kernel/rendezvous.h"
#include "argosy/passes/simplify/prune.h"

namespace tensorflow {
class GraphDef;
}

namespace argosy::tf {

// The rendezvous keys by which RunGraph sends feeds and receives fetches; "" for a fetch without a value.
struct PartitionKeys {
  std::vector<std::string> feeds, fetches;
};
// Writes a partition as GraphDef. Feeds become `_Recv`s and fetches `_Send`s of keys that RunGraph names, as
// TensorFlow's own masters do it. `incarnation`: of the task's devices. `number`: of no other graph of the session on
// that task. The names of these nodes have it: a task of TensorFlow keeps ops with state by session and name, and these
// are some.
Status write_partition(const StepGraph& step,
                       const std::function<std::uint64_t(const std::string& device)>& incarnation, std::int64_t number,
                       tensorflow::GraphDef* def, PartitionKeys* keys);

// Attributes that a task of an older TensorFlow does not know. It refuses them even with their default values.
class UnknownAttributes {
 public:
  // Reads TensorFlow's "NodeDef mentions attr 'grad_a' not in Op<name=MatMul; ...". False: it says something else.
  bool learn(std::string_view error);
  // Takes them from the nodes where they have their default values, in functions too. False: no node had one.
  bool leave_out(tensorflow::GraphDef& def) const;

 private:
  std::set<std::pair<std::string, std::string>> known_;  // op, attribute
};

// A step that runs every node of the GraphDef that another one needs, or that nobody takes. `_Recv` nodes bring what is
// fed, and `_Send` nodes give the client what it fetches. Nodes keep their devices; constraints that only a placer
// reads are dropped: the master has placed.
// May throw Interrupted (argosy/base/threads/interrupt.h).
// INVALID_ARGUMENT, NOT_FOUND: a malformed graph, an op that is not known; the error names the node.
Result<StepGraph> read_partition(std::string_view graph_def);

}  // namespace argosy::tf
