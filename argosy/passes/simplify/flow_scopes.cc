#include "argosy/passes/simplify/flow_scopes.h"

#include <algorithm>
#include <string>

#include "argosy/passes/has_op.h"

namespace argosy {

namespace {
// within() looks at no more scopes than these.
constexpr int kDeepest = 64;
}  // namespace

FlowScopes::FlowScopes(const Graph& graph, const std::vector<NodeId>& order) : graph_(graph) {
  entries_.push_back({Key(kRoot, Kind::kRoot, 0, 0), 0});
  if (!has_op(graph, [](const OpDef& op) { return op.flow != Flow::kNone; })) return;
  scopes_.assign(static_cast<std::size_t>(graph.size()), kRoot);
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    Scope scope = of_inputs(id);
    switch (n.op->flow) {
      case Flow::kSwitch: {
        const Endpoint p = n.inputs[1];
        for (std::int32_t side = 0; side < 2; ++side) {
          // Two sides of one predicate: of_merge() knows them by this number.
          const auto which = static_cast<std::int64_t>(p.index) * 2 + side;
          branches_[{id, side}] = inner(scope, Kind::kBranch, p.node.index, which, id);
        }
        break;
      }
      case Flow::kMerge: scope = of_merge(id); break;
      case Flow::kEnter: {
        const auto frame = frames_.emplace(n.attrs.get_string("frame_name"), frames_.size()).first->second;
        scope = inner(scope, Kind::kFrame, frame, 0, id);
        break;
      }
      case Flow::kExit: scope = of_exit(id); break;
      case Flow::kControlTrigger: scope = inner(kRoot, Kind::kNode, id.index, 0, id); break;
      case Flow::kNone:
      case Flow::kNextIteration:
      case Flow::kLoopCond: break;
    }
    scopes_[static_cast<std::size_t>(id.index)] = scope;
  }
}

FlowScopes::Scope FlowScopes::of(Endpoint value) const {
  if (!branches_.empty() && graph_.node(value.node).op->flow == Flow::kSwitch) {
    const auto found = branches_.find(value);
    if (found != branches_.end()) return found->second;
  }
  return of(value.node);
}

FlowScopes::Scope FlowScopes::of_waits(std::span<const NodeId> waits) {
  Scope scope = kRoot;
  for (const NodeId w : waits) scope = both(scope, of(w), w);
  return scope;
}

bool FlowScopes::within(Scope inner, Scope outer) const {
  const auto depth = [&](Scope s) { return entries_[static_cast<std::size_t>(s)].depth; };
  while (depth(inner) > depth(outer)) inner = around(inner);
  return inner == outer;
}

FlowScopes::Scope FlowScopes::inner(Scope outer, Kind kind, std::int64_t first, std::int64_t second, NodeId node) {
  int depth = entries_[static_cast<std::size_t>(outer)].depth + 1;
  Key key(outer, kind, first, second);
  if (depth > kDeepest) {
    key = Key(kRoot, Kind::kNode, node.index, 1 + second);
    depth = 1;
  }
  const auto [found, is_new] = known_.emplace(key, static_cast<Scope>(entries_.size()));
  if (is_new) entries_.push_back({key, depth});
  return found->second;
}

FlowScopes::Scope FlowScopes::both(Scope a, Scope b, NodeId node) {
  if (within(a, b)) return a;
  if (within(b, a)) return b;
  const auto depth = [&](Scope s) { return entries_[static_cast<std::size_t>(s)].depth; };
  if (depth(a) < depth(b) || (depth(a) == depth(b) && a < b)) std::swap(a, b);
  return inner(a, Kind::kBoth, a, b, node);
}

FlowScopes::Scope FlowScopes::of_inputs(NodeId id) {
  const Node& n = graph_.node(id);
  Scope scope = kRoot;
  for (const Endpoint e : n.inputs) {
    if (const Scope s = of(e); s != scope) scope = both(scope, s, id);
  }
  for (const NodeId c : n.controls) {
    if (const Scope s = of(c); s != scope) scope = both(scope, s, id);
  }
  return scope;
}

// The scope of a Merge. At the head of a loop: an iteration of the frame. Of the two sides of one branch: the scope
// around that branch. Else a scope of its own.
FlowScopes::Scope FlowScopes::of_merge(NodeId id) {
  const Node& n = graph_.node(id);
  std::vector<Scope> from;
  bool loops = false;
  for (const Endpoint e : n.inputs) {
    if (graph_.node(e.node).op->flow == Flow::kNextIteration) {
      loops = true;
    } else {
      from.push_back(of(e));
    }
  }
  const auto side = [&](Scope s) { return std::get<3>(entries_[static_cast<std::size_t>(s)].key); };
  const auto predicate = [&](Scope s) { return std::get<2>(entries_[static_cast<std::size_t>(s)].key); };
  if (n.controls.empty() && loops && from.size() == 1 && kind(from[0]) == Kind::kFrame) {
    return inner(from[0], Kind::kIteration, 0, 0, id);
  }
  if (n.controls.empty() && !loops && from.size() == 2 && kind(from[0]) == Kind::kBranch &&
      kind(from[1]) == Kind::kBranch && around(from[0]) == around(from[1]) &&
      predicate(from[0]) == predicate(from[1]) && (side(from[0]) ^ side(from[1])) == 1) {
    return around(from[0]);
  }
  return inner(kRoot, Kind::kNode, id.index, 0, id);
}

// The scope of an Exit. If the loop ends by its own predicate: the scope around its frame.
FlowScopes::Scope FlowScopes::of_exit(NodeId id) {
  const Node& n = graph_.node(id);
  const Node& ends = graph_.node(n.inputs[0].node);
  Scope scope = of(n.inputs[0]);
  if (n.controls.empty() && ends.op->flow == Flow::kSwitch && kind(scope) == Kind::kBranch) {
    scope = around(scope);
    if (kind(scope) == Kind::kIteration && graph_.node(ends.inputs[1].node).op->flow == Flow::kLoopCond &&
        graph_.node(ends.inputs[0].node).op->flow == Flow::kMerge) {
      return around(around(scope));
    }
  }
  return inner(kRoot, Kind::kNode, id.index, 0, id);
}

}  // namespace argosy
