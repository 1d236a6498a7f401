#include "argosy/passes/fuse/fuse_updates.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "argosy/base/small_vector.h"
#include "argosy/ops/optimizer/apply_many.h"

namespace argosy {

namespace {

// Elements of a variable. Larger ones are updated best at once, while their gradient is in the cache (784x256 by SGD,
// together with others at the end of the step: 46 us instead of 33 us).
constexpr std::int64_t kMostElements = 1 << 14;
constexpr std::size_t kMostBytes = 1 << 20;  // of a group's gradients
constexpr std::size_t kMostBytesStarted = 32 << 20;
constexpr std::size_t kMostMembers = 1024;  // more gain nothing, and make one op of very many inputs

class UpdateFuser {
 public:
  using IsAsync = std::function<bool(const std::string& device)>;
  UpdateFuser(StepGraph& step, const IsAsync& is_async) : graph_(step.graph), step_(step), is_async_(is_async) {
    for (const Endpoint e : step.fetches) fetched_.insert(e.node);
  }

  Result<int> run() {
    ARGOSY_RETURN_IF_ERROR(take_in_sums());
    std::vector<NodeId> updates;
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const OpDef& op = *graph_.node(NodeId{i}).op;
      if (op.flow != Flow::kNone) return 0;  // updates of two branches are never both due
      if (parts_of(op) != nullptr) updates.push_back(NodeId{i});
    }
    if (updates.size() < 2) return 0;
    uses_ = graph_.consumers();
    std::erase_if(updates, [&](NodeId id) { return !consider(id); });
    if (updates.size() < 2) return 0;
    const std::vector<char> after = reached_from(updates);
    int fused = 0;
    for (std::vector<Member>& group : groups_) {
      std::erase_if(group, [&](const Member& m) { return after[m.id.index] != 0; });
      if (group.empty()) continue;
      const std::size_t most = started(group.front().id) ? kMostBytesStarted : kMostBytes;
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
  // A sum kept in a variable (averages that batch normalisation follows) is gradient descent at a rate of -1 or 1, to
  // the bit. Where a launch costs more than it computes it shares one with others of its kind.
  Status take_in_sums() {
    std::vector<NodeId> sums;
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (n.op->flow != Flow::kNone) return ok_status();
      const DType* const type = n.attrs.find_as<DType>("T");
      if ((n.op->name != "AssignAdd" && n.op->name != "AssignSub") || type == nullptr || !is_floating(*type)) continue;
      const PartialShape &variable = graph_.shape(n.inputs[0]), &by = graph_.shape(n.inputs[1]);
      if (variable.is_full() && variable == by && started(NodeId{i})) sums.push_back(NodeId{i});
    }
    if (sums.size() < 2) return ok_status();
    struct Rate {
      bool add;
      DType type;
      Name device;
      NodeId node;
    };
    std::vector<Rate> rates;
    for (const NodeId id : sums) {
      const bool add = graph_.node(id).op->name == "AssignAdd";
      const DType type = graph_.node(id).attrs.get_type("T");
      const Name device = graph_.node(id).device;
      auto rate = std::find_if(rates.begin(), rates.end(),
                               [&](const Rate& r) { return r.add == add && r.type == type && r.device == device; });
      if (rate == rates.end()) {
        NodeSpec spec{.name = graph_.unique_name(str_cat(graph_.node(id).name, "/rate")),
                      .op = "Const",
                      .attrs = {{"value", number(type, add ? -1 : 1)}, {"dtype", type}},
                      .device = std::string(device)};
        ARGOSY_ASSIGN_OR_RETURN(const NodeId made, graph_.add_node(std::move(spec)));
        rate = rates.insert(rates.end(), {add, type, device, made});
      }
      const Node& n = graph_.node(id);
      const std::vector<Endpoint> inputs = {n.inputs[0], {rate->node, 0}, n.inputs[1]};
      const std::vector<NodeId> controls = n.controls;
      AttrMap attrs = {{"T", type}, {"use_locking", n.attrs.get_or("use_locking", false)}};
      const auto colocated_with = n.colocated_with;
      ARGOSY_RETURN_IF_ERROR(graph_.replace_with(id, "ApplyGradientDescent", inputs, controls, std::move(attrs)));
      graph_.set_colocation(id, colocated_with);
    }
    return ok_status();
  }
  static Tensor number(DType dtype, float value) {
    Tensor t = Tensor::zeros(dtype, {});
    const Status made = dispatch<FloatTypes>(dtype, "rate", [&]<typename T>() {
      *t.data<T>() = T(value);
      return ok_status();
    });
    ARGOSY_CHECK(made.ok());
    return t;
  }

  // What is asked of an update more than once, remembered: it lies far from what it updates and what it reads.
  struct Member {
    NodeId id;
    std::size_t bytes = 0;  // of its gradient
    Endpoint gradient;
    SmallVector<Endpoint, 3> variables;
    bool waits = false;  // for other nodes
  };

  // The device a node asks for, be it by colocation with another one; null: that is not known.
  const Name* asked(NodeId id) const {
    static const Name anywhere;
    if (!graph_.asks_for_devices()) return &anywhere;
    for (int beside = 0; beside < 8; ++beside) {
      const Node& n = graph_.node(id);
      if (!n.device.empty()) return &n.device;
      const auto places = n.colocation();
      if (places.empty()) return &n.device;
      const auto other = graph_.find_colocated(n, places[0]);
      if (places.size() == 1 && other == id) return &n.device;  // colocated with itself: anywhere
      if (places.size() > 1 || !other) return nullptr;
      id = *other;
    }
    return nullptr;
  }

  // Of an op: asked for once, null when it is no update.
  const ApplyParts* parts_of(const OpDef& op) const {
    if (&op == last_op_) return last_parts_;
    const auto [known, fresh] = parts_.try_emplace(&op);
    if (fresh) known->second = apply_parts(op);
    last_op_ = &op;
    last_parts_ = known->second ? &*known->second : nullptr;
    return last_parts_;
  }

  bool started(NodeId id) const {
    if (is_async_ == nullptr) return false;
    const Name* const device = asked(id);
    if (device == nullptr) return false;
    const auto [known, fresh] = started_.try_emplace(*device, false);
    if (fresh) known->second = is_async_(*device);
    return known->second;
  }
  // The one attribute that chooses among variants of a rule, when it is set.
  std::string flag_of(const Node& n) const {
    for (const AttrDef& a : n.op->attr_defs) {
      if (a.kind == AttrKind::kBool && a.name != "use_locking" && n.attrs.get_or(a.name, false)) return a.name;
    }
    return "";
  }

  // Same rule, same numbers, same place.
  bool alike(NodeId a, NodeId b) const {
    const Node &m = graph_.node(a), &n = graph_.node(b);
    if (m.op != n.op || *asked(a) != *asked(b)) return false;
    const ApplyParts& parts = *parts_of(*n.op);
    for (const int s : parts.scalars) {
      if (m.inputs[s] != n.inputs[s]) return false;
    }
    return graph_.dtype(m.inputs[parts.gradient]) == graph_.dtype(n.inputs[parts.gradient]) && flag_of(m) == flag_of(n);
  }
  std::vector<Member>& group_of(NodeId id) {
    const Node& n = graph_.node(id);
    std::size_t hash = std::hash<const void*>()(n.op);
    for (const int s : parts_of(*n.op)->scalars) hash = hash * 31 + std::hash<Endpoint>()(n.inputs[s]);
    const auto [first, last] = groups_by_hash_.equal_range(hash);
    const auto found =
        std::find_if(first, last, [&](const auto& g) { return alike(groups_[g.second].front().id, id); });
    if (found != last) return groups_[found->second];
    groups_by_hash_.emplace(hash, groups_.size());
    return groups_.emplace_back();
  }

  // Puts the update into a group, if it may join one.
  bool consider(NodeId id) {
    const Node& n = graph_.node(id);
    const ApplyParts& parts = *parts_of(*n.op);
    if (fetched_.contains(id) || n.op->attr("T") == nullptr) return false;
    Member member{.id = id, .gradient = n.inputs[parts.gradient], .waits = !n.controls.empty()};
    const PartialShape& shape = graph_.shape(member.gradient);
    if (!shape.is_full()) return false;
    member.bytes = static_cast<std::size_t>(shape.elements()) * element_bytes(graph_.dtype(member.gradient));
    if (started(id) ? member.bytes >= kMostBytesStarted : shape.elements() >= kMostElements) return false;
    // All of it in one place: an op of many variables would pull them together.
    const Name* const place = asked(id);
    for (int v = 0; v < parts.variables; ++v) {
      const Name* const with = place != nullptr ? asked(n.inputs[v].node) : nullptr;
      if (with == nullptr || *with != *place) return false;
      member.variables.push_back(n.inputs[v]);
    }
    const auto uses = uses_[id.index];
    if (std::any_of(uses.begin(), uses.end(), [](const Graph::Use& u) { return u.input >= 0; })) return false;
    group_of(id).push_back(std::move(member));
    return true;
  }

  // What runs after any of them, themselves aside.
  std::vector<char> reached_from(const std::vector<NodeId>& roots) const {
    std::vector<char> reached(static_cast<std::size_t>(graph_.size()), 0);
    std::vector<NodeId> stack = roots;
    while (!stack.empty()) {
      const NodeId at = stack.back();
      stack.pop_back();
      for (const Graph::Use& u : uses_[at.index]) {
        if (std::exchange(reached[u.node.index], 1) == 0) stack.push_back(u.node);
      }
    }
    return reached;
  }

  Status fuse(std::span<const Member> members) {
    // The last of them stands for all: it comes after what they read.
    const NodeId id = members.back().id;
    const Node& first = graph_.node(members.front().id);
    const ApplyParts parts = *parts_of(*first.op);
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
    graph_.set_device(id, *asked(id));
    ARGOSY_RETURN_IF_ERROR(
        graph_.replace_with(id, first.op->name.starts_with("Resource") ? "_ResourceApplyMany" : "_ApplyMany", inputs,
                            controls, std::move(attrs)));
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
  const IsAsync& is_async_;
  Graph::Uses uses_;
  std::set<NodeId> fetched_;
  std::vector<std::vector<Member>> groups_;
  std::unordered_multimap<std::size_t, std::size_t> groups_by_hash_;
  // Answers given already.
  mutable std::unordered_map<const OpDef*, std::optional<ApplyParts>> parts_;
  mutable const OpDef* last_op_ = nullptr;
  mutable const ApplyParts* last_parts_ = nullptr;
  mutable std::unordered_map<std::string, bool> started_;
};

}  // namespace

Result<int> fuse_updates(StepGraph& step, const std::function<bool(const std::string& device)>& is_async) {
  if (step.graph.ops().find("_ApplyMany") == nullptr) return 0;
  return UpdateFuser(step, is_async).run();
}

}  // namespace argosy
