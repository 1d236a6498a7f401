// Inliner: copies the body of a function into the graph of its caller. All lowerings use it. Internal to
// argosy/passes/functions.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "argosy/base/memory/host_budget.h"
#include "argosy/graph/graph.h"

namespace argosy {

struct LowerOptions;

namespace lowering {

// A body that was inlined.
struct Body {
  std::vector<Endpoint> returns;
  std::vector<NodeId> effects;  // the caller has run only after these
};

class Inliner {
 public:
  Inliner(Graph& graph, const LowerOptions& options) : graph_(graph), options_(options) {}

  // Callers that were found in inlined bodies, with their nesting depth.
  std::vector<std::pair<NodeId, int>> to_lower;

  // Begins the lowering of this caller: new nodes are named below it and get its device.
  void begin(NodeId caller, int depth);
  // Changes the device of new nodes: the parts that `device` names override the caller's.
  void move_to(const std::string& device);

  // Adds a node for the caller. Completes its attributes, and infers its shapes unless they are given.
  Result<NodeId> add(std::string_view op, std::vector<Endpoint> inputs, AttrMap attrs, std::string_view name,
                     std::vector<NodeId> controls = {}, std::vector<PartialShape> shapes = {});
  Result<Endpoint> constant(Tensor value);

  // Inlines the function's body with these arguments. `outputs`: the dtypes of the results that the caller expects;
  // kInvalid: any. INVALID_ARGUMENT "ARG-FN-006": its parameters or results differ from what the caller gives or
  // expects. Nodes whose inputs can never be dead wait for `pivot`, if there is one; with `guard_returns`, returned
  // values do, too.
  Result<Body> inline_function(const std::string& function, const std::vector<Endpoint>& args,
                               std::span<const DType> outputs, NodeId pivot, std::string_view label,
                               bool guard_returns);

  // True for constants and handles: they are available whichever branch is taken, and never dead.
  static bool is_free(const Graph& graph, NodeId id);
  // True if the value can never be dead: is_free() nodes, and Enters. Every iteration of a loop gets the latter, even
  // the last one, in which the body is dead.
  bool always_alive(Endpoint e) const {
    return is_free(graph_, e.node) || graph_.node(e.node).op->flow == Flow::kEnter;
  }
  // Returns a node that is dead exactly if the caller's first input that may be dead is; adds it if needed. Index -1:
  // all inputs are always alive.
  Result<NodeId> gate_of(const Node& caller);
  // Returns x, by an Identity if it must wait: for the caller's control inputs, and, if always alive, for gate_of().
  Result<Endpoint> gated(Endpoint x);

 private:
  class BodyCopier;  // the work of one put()

  // Counts a node about to be added. An error: a limit is exceeded.
  Status count();

  Graph& graph_;
  const LowerOptions& options_;
  NodeId caller_;
  std::string caller_name_, caller_device_;
  int depth_ = 0;
  std::int64_t added_ = 0;
  std::vector<HostBudget::Reservation> reserved_;  // host memory of the nodes added, while this lives
};

}  // namespace lowering
}  // namespace argosy
