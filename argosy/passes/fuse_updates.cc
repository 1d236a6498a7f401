#include "argosy/passes/fuse_updates.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "argosy/ops/optimizer/many.h"

namespace argosy {

namespace {

// Elements of a variable. Larger ones are updated best at once, while their gradient is in the cache (784x256 by SGD,
// together with others at the end of the step: 46 us instead of 33 us).
constexpr std::int64_t kMostElements = 1 << 14;
constexpr std::size_t kMostBytes = 1 << 20;  // of a group's gradients
constexpr std::size_t kMostBytesStarted = 32 << 20;

class UpdateFuser {
 public:
  using StartsOnly = std::function<bool(const std::string& device)>;
  UpdateFuser(StepGraph& step, const StartsOnly& starts_only)
      : graph_(step.graph), step_(step), starts_only_(starts_only), uses_(graph_.consumers()) {
    for (const Endpoint e : step.fetches) fetched_.insert(e.node);
  }

  Result<int> run() {
    // Updates of two branches are never both due.
    for (const Node& n : graph_.nodes()) {
      if (n.op->flow != Flow::kNone) return 0;
    }
    std::vector<NodeId> candidates;
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      if (may_join(NodeId{i})) candidates.push_back(NodeId{i});
    }
    if (candidates.size() < 2) return 0;
    const std::vector<char> after = reached_from(candidates);
    std::map<Key, std::vector<NodeId>> groups;
    for (const NodeId id : candidates) {
      if (!after[id.index]) groups[key_of(id)].push_back(id);
    }
    int fused = 0;
    for (const auto& [key, members] : groups) {
      std::vector<NodeId> part;
      std::size_t bytes = 0;
      const auto close = [&]() -> Status {
        if (part.size() > 1) {
          ARGOSY_RETURN_IF_ERROR(fuse(part));
          fused += static_cast<int>(part.size());
        }
        part.clear();
        bytes = 0;
        return ok_status();
      };
      for (const NodeId id : members) {
        const std::size_t more = gradient_bytes(id);
        if (bytes + more > (started(id) ? kMostBytesStarted : kMostBytes)) ARGOSY_RETURN_IF_ERROR(close());
        part.push_back(id);
        bytes += more;
      }
      ARGOSY_RETURN_IF_ERROR(close());
    }
    return fused;
  }

 private:
  using Key = std::tuple<std::string, DType, std::string, std::string, std::vector<Endpoint>>;

  // The device a node asks for, be it by standing beside another one.
  std::optional<std::string> asked(NodeId id) const {
    for (int beside = 0; beside < 8; ++beside) {
      const Node& n = graph_.node(id);
      const std::vector<std::string> places = n.colocation();
      if (!n.device.empty() || places.empty()) return n.device;
      const auto other = graph_.find(places[0]);
      if (places.size() == 1 && other == id) return n.device;  // beside itself: anywhere
      if (places.size() > 1 || !other) return std::nullopt;
      id = *other;
    }
    return std::nullopt;
  }

  bool started(NodeId id) const {
    if (starts_only_ == nullptr) return false;
    const auto device = asked(id);
    return device && starts_only_(*device);
  }
  Endpoint gradient_of(NodeId id) const {
    const Node& n = graph_.node(id);
    return n.inputs[apply_parts(*n.op)->gradient];
  }
  std::size_t gradient_bytes(NodeId id) const {
    const Endpoint g = gradient_of(id);
    return static_cast<std::size_t>(graph_.shape(g).elements()) * element_bytes(graph_.dtype(g));
  }
  // The one attribute that chooses among variants of a rule, when it is set.
  std::string flag_of(const Node& n) const {
    for (const AttrDef& a : n.op->attr_defs) {
      if (a.kind == AttrKind::kBool && a.name != "use_locking" && n.attrs.get_or(a.name, false)) return a.name;
    }
    return "";
  }
  Key key_of(NodeId id) const {
    const Node& n = graph_.node(id);
    std::vector<Endpoint> scalars;
    const ApplyParts parts = *apply_parts(*n.op);
    for (const int s : parts.scalars) scalars.push_back(n.inputs[s]);
    return {n.op->name, n.attrs.get_type("T"), *asked(id), flag_of(n), std::move(scalars)};
  }

  bool may_join(NodeId id) const {
    const Node& n = graph_.node(id);
    const auto parts = apply_parts(*n.op);
    if (!parts || fetched_.contains(id) || n.attrs.find("T") == nullptr) return false;
    const PartialShape& shape = graph_.shape(n.inputs[parts->gradient]);
    if (!shape.is_full()) return false;
    if (started(id) ? gradient_bytes(id) >= kMostBytesStarted : shape.elements() >= kMostElements) return false;
    // All of it in one place: an op of many variables would pull them together.
    const auto place = asked(id);
    for (int v = 0; v < parts->variables; ++v) {
      if (!place || asked(n.inputs[v].node) != place) return false;
    }
    const auto uses = uses_[id.index];
    return std::all_of(uses.begin(), uses.end(), [](const Graph::Use& u) { return u.input < 0; });
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

  Status fuse(const std::vector<NodeId>& members) {
    const Node& first = graph_.node(members.front());
    const ApplyParts parts = *apply_parts(*first.op);
    NodeSpec spec{.name = graph_.unique_name(str_cat(first.name, "/fused")),
                  .op = first.op->name.starts_with("Resource") ? "_ResourceApplyMany" : "_ApplyMany",
                  .device = *asked(members.front())};
    for (const NodeId m : members) {
      const Node& n = graph_.node(m);
      spec.inputs.insert(spec.inputs.end(), n.inputs.begin(), n.inputs.begin() + parts.variables);
      for (const NodeId c : n.controls) {
        if (std::find(spec.controls.begin(), spec.controls.end(), c) == spec.controls.end()) spec.controls.push_back(c);
      }
    }
    const std::size_t variables = spec.inputs.size();
    for (const int s : parts.scalars) spec.inputs.push_back(first.inputs[s]);
    for (const NodeId m : members) spec.inputs.push_back(gradient_of(m));
    spec.attrs = {{"op", first.op->name},
                  {"T", first.attrs.get_type("T")},
                  {"N", variables},
                  {"M", spec.inputs.size() - variables},
                  {"flag", flag_of(first)}};
    ARGOSY_ASSIGN_OR_RETURN(const NodeId id, graph_.add_node(std::move(spec)));
    for (const NodeId m : members) {
      step_.replaced.emplace_back(m, id);
      for (const Graph::Use& u : uses_[m.index]) graph_.add_control_input(u.node, id);
      for (NodeId& target : step_.targets) {
        if (target == m) target = id;
      }
    }
    return ok_status();
  }

  Graph& graph_;
  StepGraph& step_;
  const StartsOnly& starts_only_;
  const Graph::Uses uses_;
  std::set<NodeId> fetched_;
};

}  // namespace

Result<int> fuse_updates(StepGraph& step, const std::function<bool(const std::string& device)>& starts_only) {
  if (step.graph.ops().find("_ApplyMany") == nullptr) return 0;
  return UpdateFuser(step, starts_only).run();
}

}  // namespace argosy
