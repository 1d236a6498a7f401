#include "argosy/passes/functions/lower_functions.h"

#include <unordered_map>
#include <utility>

#include "argosy/graph/function_body.h"
#include "argosy/passes/functions/lower_branches.h"
#include "argosy/passes/functions/lower_calls.h"
#include "argosy/passes/functions/lower_loops.h"
#include "argosy/passes/has_op.h"

namespace argosy {

namespace {

using lowering::Caller;
using lowering::Inliner;

// All callers of a graph, one after the other, and the edges that led to them.
class Lowering {
 public:
  Lowering(StepGraph& step, const LowerOptions& options) : step_(step), graph_(step.graph), in_(graph_, options) {}

  Result<int> run() {
    if (!has_op(graph_, [](const OpDef& op) { return op.calls != Calls::kNothing; })) return 0;
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      if (graph_.node({i}).op->calls != Calls::kNothing) in_.to_lower.push_back({NodeId{i}, 0});
    }
    int lowered = 0;
    while (!in_.to_lower.empty()) {
      const auto [id, depth] = in_.to_lower.back();
      in_.to_lower.pop_back();
      const std::string where = str_cat("node '", graph_.node(id).name, "' (", graph_.node(id).op->name, ")");
      Status done = lower(id, depth);
      if (!done.ok()) return std::move(done).with_where(where);
      const Calls calls = graph_.node(id).op->calls;
      if (calls == Calls::kWhile || calls == Calls::kCallOn) takes_all_.push_back(id);
      ++lowered;
    }
    if (lowered == 0) return 0;
    redirect();
    keep_unread_effects();
    return lowered;
  }

 private:
  Status lower(NodeId id, int depth) {
    in_.begin(id, depth);
    Caller caller{.graph = graph_, .in = in_, .node = graph_.node(id)};
    switch (caller.node.op->calls) {
      case Calls::kIf: ARGOSY_RETURN_IF_ERROR(lower_if(caller)); break;
      case Calls::kCase: ARGOSY_RETURN_IF_ERROR(lower_case(caller)); break;
      case Calls::kWhile:
        ARGOSY_RETURN_IF_ERROR(caller.node.attrs.find("cond") != nullptr ? lower_while(caller) : lower_for(caller));
        break;
      case Calls::kCallOn: ARGOSY_RETURN_IF_ERROR(lower_call_on(caller)); break;
      default: ARGOSY_RETURN_IF_ERROR(lower_call(caller)); break;
    }
    for (std::size_t i = 0; i < caller.outputs.size(); ++i) {
      const Endpoint from{id, static_cast<std::int32_t>(i)};
      // What the node said of its outputs may be more than their new producers can tell.
      const auto both = graph_.shape(caller.outputs[i]).merge(caller.node.output_shapes[i]);
      if (both.ok()) graph_.refine_shape(caller.outputs[i], *both);
      moved_[from] = caller.outputs[i];
      caller.finished.push_back(caller.outputs[i].node);
    }
    ARGOSY_ASSIGN_OR_RETURN(done_[id], in_.add("NoOp", {}, {}, "done", caller.finished));
    return ok_status();
  }

  Endpoint now(Endpoint e) const {
    for (auto found = moved_.find(e); found != moved_.end(); found = moved_.find(e)) e = found->second;
    return e;
  }

  void redirect() {
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const int inputs = static_cast<int>(graph_.node({i}).inputs.size());
      for (int k = 0; k < inputs; ++k) {
        const Endpoint e = graph_.node({i}).inputs[k];
        const Endpoint to = now(e);
        if (!(to == e)) graph_.set_input({i}, k, to);
      }
      const std::vector<NodeId> controls = graph_.node({i}).controls;
      for (const NodeId c : controls) {
        if (const auto done = done_.find(c); done != done_.end()) graph_.replace_control_input({i}, c, done->second);
      }
    }
    for (Endpoint& e : step_.fetches) {
      if (e.index != Value::kControl) {
        e = now(e);
      } else if (const auto done = done_.find(e.node); done != done_.end()) {
        e.node = done->second;
      }
    }
    for (NodeId& t : step_.targets) {
      if (const auto done = done_.find(t); done != done_.end()) t = done->second;
    }
  }

  // Behind the roots, as far as `seen` does not say so already. True: some of it has an effect.
  bool see(NodeId root, std::vector<char>& seen) const {
    bool effects = false;
    std::vector<NodeId> open;
    const auto meet = [&](NodeId id) {
      if (std::exchange(seen[static_cast<std::size_t>(id.index)], 1) == 0) open.push_back(id);
    };
    meet(root);
    while (!open.empty()) {
      const Node& n = graph_.node(open.back());
      open.pop_back();
      effects = effects || has_effect(n) || (n.op->async && !n.inputs.empty());
      for (const Endpoint e : n.inputs) meet(e.node);
      for (const NodeId c : n.controls) meet(c);
    }
    return effects;
  }

  // Makes targets of arguments with effects of loops and remote calls, even if no function reads them. Arguments of
  // other calls run only if they are read, since TensorFlow's rewrites inline these functions.
  void keep_unread_effects() {
    std::vector<char> seen(static_cast<std::size_t>(graph_.size()), 0);
    for (const Endpoint e : step_.fetches) see(e.node, seen);
    for (const NodeId t : step_.targets) see(t, seen);
    for (const NodeId caller : takes_all_) {
      if (!is_needed(caller, seen)) continue;
      for (const Endpoint e : graph_.node(caller).inputs) {
        if (see(e.node, seen)) step_.targets.push_back(e.node);
      }
    }
  }

  // Bodies may call what the step does not need.
  bool is_needed(NodeId caller, const std::vector<char>& seen) const {
    const auto is_seen = [&](NodeId id) { return seen[static_cast<std::size_t>(id.index)] != 0; };
    bool needed = is_seen(done_.at(caller));
    const auto outputs = static_cast<std::int32_t>(graph_.node(caller).output_dtypes.size());
    for (std::int32_t i = 0; i < outputs && !needed; ++i) needed = is_seen(now({caller, i}).node);
    return needed;
  }

  StepGraph& step_;
  Graph& graph_;
  Inliner in_;
  std::vector<NodeId> takes_all_;                 // loops and remote calls, each before those that its functions call
  std::unordered_map<Endpoint, Endpoint> moved_;  // outputs of callers: their new producers
  std::unordered_map<NodeId, NodeId> done_;       // callers: who runs when they have
};

}  // namespace

Result<int> lower_functions(StepGraph& step, const LowerOptions& options) { return Lowering(step, options).run(); }

}  // namespace argosy
