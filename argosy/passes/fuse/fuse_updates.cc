#include "argosy/passes/fuse/fuse_updates.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>

#include "argosy/base/small_vector.h"
#include "argosy/ops/optimizer/apply_many.h"
#include "argosy/ops/optimizer/update_shard.h"
#include "argosy/passes/fuse/hidden_waits.h"
#include "argosy/passes/fuse/requested_devices.h"
#include "argosy/passes/fuse/sums_as_updates.h"
#include "argosy/passes/node_users.h"

namespace argosy {

namespace {

// Elements of a variable. Larger ones are updated best at once, while their gradient is in the cache (784x256 by SGD,
// together with others at the end of the step: 46 us instead of 33 us).
constexpr std::int64_t kMostElements = 1 << 14;
constexpr std::size_t kMostBytes = 1 << 20;  // of a group's gradients
constexpr std::size_t kMostBytesStarted = 32 << 20;
constexpr std::size_t kMostMembers = 1024;  // more gain nothing, and make one op of very many inputs

// How each op updates a variable, asked for once an op.
class ApplyRules {
 public:
  // Null when the op is no update.
  const ApplyParts* of(const OpDef& op) const {
    if (&op == last_op_) return last_parts_;
    const auto [known, fresh] = parts_.try_emplace(&op);
    if (fresh) known->second = apply_parts(op);
    last_op_ = &op;
    last_parts_ = known->second ? &*known->second : nullptr;
    return last_parts_;
  }

 private:
  mutable std::unordered_map<const OpDef*, std::optional<ApplyParts>> parts_;
  mutable const OpDef* last_op_ = nullptr;
  mutable const ApplyParts* last_parts_ = nullptr;
};

// Cached facts of an update that are used more than once. The node, its variable and its inputs are far apart in
// memory.
struct Member {
  NodeId id;
  std::size_t bytes = 0;  // of its gradient
  Endpoint gradient;
  SmallVector<Endpoint, 3> variables;
  bool waits = false;  // for other nodes
};

// The one attribute that chooses among variants of a rule, when it is set.
std::string flag_of(const Node& n) {
  for (const AttrDef& a : n.op->attr_defs) {
    if (a.kind == AttrKind::kBool && a.name != "use_locking" && n.attrs.get_or(a.name, false)) return a.name;
  }
  return "";
}

// The updates of a step that may share an op, by what they must have in common.
class UpdateGroups {
 public:
  UpdateGroups(const StepGraph& step, const Graph::Uses& uses, const RequestedDevices& devices, const ApplyRules& rules)
      : graph_(step.graph), uses_(uses), devices_(devices), rules_(rules), preserved_(step) {}

  // Puts the update into a group, if it may join one.
  bool consider(NodeId id) {
    const Node& n = graph_.node(id);
    const ApplyParts& parts = *rules_.of(*n.op);
    if (preserved_.is_fetched(id) || n.op->attr("T") == nullptr || n.attrs.find(kUpdateShardWeights) != nullptr) {
      return false;
    }
    Member member{.id = id, .gradient = n.inputs[parts.gradient], .waits = !n.controls.empty()};
    const PartialShape& shape = graph_.shape(member.gradient);
    if (!shape.is_full()) return false;
    member.bytes = static_cast<std::size_t>(shape.elements()) * element_bytes(graph_.dtype(member.gradient));
    if (devices_.is_async(id) ? member.bytes >= kMostBytesStarted : shape.elements() >= kMostElements) return false;
    // All of it in one place: an op of many variables would pull them together.
    const Name* const place = devices_.of(id);
    for (int v = 0; v < parts.variables; ++v) {
      const Name* const with = place != nullptr ? devices_.of(n.inputs[v].node) : nullptr;
      if (with == nullptr || *with != *place) return false;
      member.variables.push_back(n.inputs[v]);
    }
    const auto uses = uses_[id.index];
    if (std::any_of(uses.begin(), uses.end(), [](const Graph::Use& u) { return u.input >= 0; })) return false;
    group_of(id).push_back(std::move(member));
    return true;
  }

  // In the order in which their first members came.
  std::vector<std::vector<Member>>& all() { return groups_; }

 private:
  // Same rule, same numbers, same place.
  bool alike(NodeId a, NodeId b) const {
    const Node &m = graph_.node(a), &n = graph_.node(b);
    if (m.op != n.op || *devices_.of(a) != *devices_.of(b)) return false;
    const ApplyParts& parts = *rules_.of(*n.op);
    for (const int s : parts.scalars) {
      if (m.inputs[s] != n.inputs[s]) return false;
    }
    return graph_.dtype(m.inputs[parts.gradient]) == graph_.dtype(n.inputs[parts.gradient]) && flag_of(m) == flag_of(n);
  }
  std::vector<Member>& group_of(NodeId id) {
    const Node& n = graph_.node(id);
    std::size_t hash = std::hash<const void*>()(n.op);
    for (const int s : rules_.of(*n.op)->scalars) hash = hash * 31 + std::hash<Endpoint>()(n.inputs[s]);
    const auto [first, last] = groups_by_hash_.equal_range(hash);
    const auto found =
        std::find_if(first, last, [&](const auto& g) { return alike(groups_[g.second].front().id, id); });
    if (found != last) return groups_[found->second];
    groups_by_hash_.emplace(hash, groups_.size());
    return groups_.emplace_back();
  }

  const Graph& graph_;
  const Graph::Uses& uses_;
  const RequestedDevices& devices_;
  const ApplyRules& rules_;
  const PreservedNodes preserved_;
  std::vector<std::vector<Member>> groups_;
  std::unordered_multimap<std::size_t, std::size_t> groups_by_hash_;
};

class UpdateFuser {
 public:
  UpdateFuser(StepGraph& step, const RequestedDevices::IsAsync& is_async)
      : graph_(step.graph), step_(step), devices_(graph_, is_async) {}

  Result<int> run() {
    ARGOSY_RETURN_IF_ERROR(sums_to_updates(graph_, devices_));
    std::vector<NodeId> updates;
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const OpDef& op = *graph_.node(NodeId{i}).op;
      if (op.flow != Flow::kNone) return 0;  // updates of two branches are never both due
      if (rules_.of(op) != nullptr) updates.push_back(NodeId{i});
    }
    if (updates.size() < 2) return 0;
    uses_ = graph_.consumers();
    UpdateGroups groups(step_, uses_, devices_, rules_);
    std::erase_if(updates, [&](NodeId id) { return !groups.consider(id); });
    if (updates.size() < 2) return 0;
    const std::vector<char> after = reached_from(updates);
    int fused = 0;
    for (std::vector<Member>& group : groups.all()) {
      std::erase_if(group, [&](const Member& m) { return after[m.id.index] != 0; });
      if (group.empty()) continue;
      const std::size_t most = devices_.is_async(group.front().id) ? kMostBytesStarted : kMostBytes;
      for (std::size_t first = 0; first < group.size();) {
        std::size_t bytes = 0, end = first;
        while (end < group.size() && (end == first || bytes + group[end].bytes <= most) && end - first < kMostMembers) {
          bytes += group[end++].bytes;
        }
        if (end - first > 1) {
          ARGOSY_RETURN_IF_ERROR(fuse(std::span(group).subspan(first, end - first)));
          fused += static_cast<int>(end - first);
        }
        first = end;
      }
    }
    return fused;
  }

 private:
  // What runs after any of them, themselves aside.
  std::vector<char> reached_from(const std::vector<NodeId>& roots) const {
    const HiddenWaits hidden(graph_);
    std::vector<char> reached(static_cast<std::size_t>(graph_.size()), 0);
    std::vector<NodeId> stack = roots;
    while (!stack.empty()) {
      const NodeId at = stack.back();
      stack.pop_back();
      for (const Graph::Use& u : uses_[at.index]) {
        if (std::exchange(reached[u.node.index], 1) == 0) stack.push_back(u.node);
      }
      for (const NodeId waiting : hidden.behind(at)) {
        if (std::exchange(reached[waiting.index], 1) == 0) stack.push_back(waiting);
      }
    }
    return reached;
  }

  Status fuse(std::span<const Member> members) {
    // The last of them stands for all: it comes after what they read.
    const NodeId id = members.back().id;
    const Node& first = graph_.node(members.front().id);
    const ApplyParts parts = *rules_.of(*first.op);
    std::vector<Endpoint> inputs;
    std::vector<NodeId> controls;
    inputs.reserve(members.size() * (static_cast<std::size_t>(parts.variables) + 1) + parts.scalars.size());
    for (const Member& m : members) {
      inputs.insert(inputs.end(), m.variables.begin(), m.variables.end());
      if (!m.waits) continue;
      const Node& n = graph_.node(m.id);
      controls.insert(controls.end(), n.controls.begin(), n.controls.end());
    }
    const std::size_t variables = inputs.size();
    for (const int s : parts.scalars) inputs.push_back(first.inputs[s]);
    for (const Member& m : members) inputs.push_back(m.gradient);
    AttrMap attrs = {{"op", first.op->name},
                     {"T", first.attrs.get_type("T")},
                     {"N", variables},
                     {"M", inputs.size() - variables},
                     {"flag", flag_of(first)}};
    graph_.set_device(id, *devices_.of(id));
    ARGOSY_RETURN_IF_ERROR(graph_.replace_with(id, first.op->has_ref_input() ? "_ApplyMany" : "_ResourceApplyMany",
                                               inputs, controls, std::move(attrs)));
    NodeId told;  // mostly one node waits for them all
    for (const Member& m : members.first(members.size() - 1)) {
      step_.replaced.emplace_back(m.id, id);
      for (const Graph::Use& u : uses_[m.id.index]) {
        if (u.node != told) graph_.add_control_input(u.node, id);
        told = u.node;
      }
    }
    for (NodeId& target : step_.targets) {
      const auto at = std::lower_bound(members.begin(), members.end(), target,
                                       [](const Member& m, NodeId wanted) { return m.id < wanted; });
      if (at != members.end() && at->id == target) target = id;
    }
    return ok_status();
  }

  Graph& graph_;
  StepGraph& step_;
  const RequestedDevices devices_;
  const ApplyRules rules_;
  Graph::Uses uses_;
};

}  // namespace

Result<int> fuse_updates(StepGraph& step, const std::function<bool(const std::string& device)>& is_async) {
  if (step.graph.ops().find("_ApplyMany") == nullptr) return 0;
  return UpdateFuser(step, is_async).run();
}

}  // namespace argosy
