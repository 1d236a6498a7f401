// Putting the body of a function where it is called: the part of lowering that all callers share. Internal to
// argosy/passes/functions/lower_functions.cc.
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

// A body, put in place.
struct Body {
  std::vector<Endpoint> returns;
  std::vector<NodeId> effects;  // must have run before the caller has
};

class Inliner {
 public:
  Inliner(Graph& graph, const LowerOptions& options) : graph_(graph), options_(options) {}

  // Callers found in bodies, with how deep they are.
  std::vector<std::pair<NodeId, int>> to_lower;

  // From now on this caller is lowered: new nodes are named below it and run where it runs.
  void begin(NodeId caller, int depth);
  // ... and from here on there, each part of its name over the caller's.
  void move_to(const std::string& device);

  // A node on the caller's behalf. Its attributes are completed, its shapes inferred unless given.
  Result<NodeId> add(std::string_view op, std::vector<Endpoint> inputs, AttrMap attrs, std::string_view name,
                     std::vector<NodeId> controls = {}, std::vector<PartialShape> shapes = {});
  Result<Endpoint> constant(Tensor value);

  // The function's body on these arguments. INVALID_ARGUMENT "ARG-FN-006" when it takes or gives other values than the
  // caller says: `outputs` are the dtypes that it must give, kInvalid for any. Whatever in it depends on nothing that
  // could be dead waits for `pivot`, if there is one; with `guard_returns`, so do the returned values.
  Result<Body> put(const std::string& function, const std::vector<Endpoint>& args, std::span<const DType> outputs,
                   NodeId pivot, std::string_view label, bool guard_returns);

  // Constants and handles are there whatever branch is taken: constant, never dead.
  static bool is_free(const Graph& graph, NodeId id);
  // So is what every iteration of a loop is given, even in the last one, in which the body is dead.
  bool always_alive(Endpoint e) const {
    return is_free(graph_, e.node) || graph_.node(e.node).op->flow == Flow::kEnter;
  }
  // A node whose deadness is the caller's, beside its control inputs; none when all its inputs are always alive.
  Result<NodeId> gate_of(const Node& caller);
  // x, dead when the caller is and after what the caller waits for.
  Result<Endpoint> gated(Endpoint x);

 private:
  class BodyCopier;  // of one put()

  // One more node will be added.
  Status count();

  Graph& graph_;
  const LowerOptions& options_;
  NodeId caller_;
  std::string caller_name_, caller_device_;
  int depth_ = 0;
  std::int64_t added_ = 0;
  std::vector<HostBudget::Reservation> reserved_;  // of the nodes added, while this lives
};

}  // namespace lowering
}  // namespace argosy
