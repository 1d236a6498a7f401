#include "argosy/passes/fuse/fuse_elementwise.h"

#include <algorithm>
#include <map>
#include <set>

#include "argosy/base/small_vector.h"
#include "argosy/ops/elementwise/fused.h"

namespace argosy {

namespace {

constexpr std::size_t kMostSteps = 32, kMostInputs = 16, kMostOutputs = 4;
constexpr std::size_t kMostTried = 32;  // groups that are remembered to have been tried: longer lists cost more
constexpr int kMostVisits = 256;        // nodes looked at to see whether a merge would close a cycle

class ElementwiseFuser {
  using Members = SmallVector<NodeId, 4>;  // of a group
  using Inputs = SmallVector<Endpoint, kMostInputs>;
  using Outputs = SmallVector<NodeId, kMostOutputs>;

 public:
  explicit ElementwiseFuser(StepGraph& step)
      : graph_(step.graph),
        step_(step),
        uses_(graph_.consumers()),
        group_of_(static_cast<std::size_t>(graph_.size()), -1),
        seen_(static_cast<std::size_t>(graph_.size()), 0) {
    for (const Endpoint e : step.fetches) preserved_.insert(e.node);
    for (const NodeId t : step.targets) preserved_.insert(t);
    flow_ = std::any_of(graph_.nodes().begin(), graph_.nodes().end(),
                        [](const Node& n) { return n.op->flow != Flow::kNone; });
  }

  // Groups grow against the direction of data: a node joins the group of one of its readers.
  Result<int> run() {
    ARGOSY_ASSIGN_OR_RETURN(order_, step_.graph.topological_order());
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      if (!may_join(*id)) continue;
      if (!join_a_reader(*id)) {
        group_of_[id->index] = static_cast<int>(groups_.size());
        groups_.push_back({*id});
      }
    }
    int fused = 0;
    for (Members& members : groups_) {
      if (members.size() < 2) continue;
      std::reverse(members.begin(), members.end());  // in topological order
      ARGOSY_RETURN_IF_ERROR(fuse(members));
      fused += static_cast<int>(members.size());
    }
    // A group that was fused before the one it reads of still reads the old node.
    for (const NodeId id : made_) {
      for (std::size_t k = 0; k < graph_.node(id).inputs.size(); ++k) {
        const auto now = replaced_.find(graph_.node(id).inputs[k]);
        if (now != replaced_.end()) graph_.set_input(id, static_cast<int>(k), now->second);
      }
    }
    return fused;
  }

 private:
  // The number that a node which only repeats it reads, if `e` is such a node's output.
  Endpoint source(Endpoint e) const {
    const Node& n = graph_.node(e.node);
    if (flow_ || !n.controls.empty() || (n.op->name != "BroadcastTo" && n.op->name != "Fill")) return e;
    const Endpoint number = n.inputs[n.op->name == "Fill" ? 1 : 0];
    return graph_.shape(number).is_full() && graph_.shape(number).elements() == 1 && !is_ref(number) ? number : e;
  }
  bool is_ref(Endpoint e) const { return graph_.node(e.node).output_is_ref(e.index); }

  bool may_join(NodeId id) const {
    const Node& n = graph_.node(id);
    const bool bias = n.op->name == "BiasAdd" && n.attrs.get_or<std::string>("data_format", "NHWC") == "NHWC";
    if ((!n.op->elementwise && !bias) || n.op->stateful || n.output_dtypes.size() != 1 || n.inputs.empty() ||
        n.inputs.size() > 3 || !n.controls.empty() || !n.output_refs.empty()) {
      return false;
    }
    const PartialShape& shape = n.output_shapes[0];
    if (!shape.is_full() || shape.elements() == 0) return false;
    SmallVector<DType, 4> dtypes;
    for (const Endpoint e : n.inputs) {
      if (is_ref(e) || !fused_operand(graph_.shape(e), shape)) return false;
      dtypes.push_back(graph_.dtype(e));
    }
    // The first form of Select knows conditions of rows, which do not broadcast.
    if (n.op->name == "Select" && graph_.shape(n.inputs[0]).rank() != 0 && !(graph_.shape(n.inputs[0]) == shape))
      return false;
    const auto uses = uses_[id.index];
    return std::all_of(uses.begin(), uses.end(), [](const Graph::Use& u) { return u.input >= 0; }) &&
           fused_function(n.op->name, dtypes, n.output_dtypes[0]).has_value();
  }

  // The rest of it, which is asked when two are about to meet: attributes lie far away, and most nodes stay alone.
  bool attrs_allow(NodeId id) const {
    const Node& n = graph_.node(id);
    return n.colocated_with.empty() && !n.attrs.get_or("Truncate", false);
  }

  bool join_a_reader(NodeId id) {
    SmallVector<int, 8> tried;
    for (const Graph::Use& u : uses_[id.index]) {
      const int g = group_of_[u.node.index];
      if (g < 0 || std::find(tried.begin(), tried.end(), g) != tried.end()) continue;
      if (tried.size() < kMostTried) tried.push_back(g);
      if (!fits(id, g)) continue;
      group_of_[id.index] = g;
      groups_[static_cast<std::size_t>(g)].push_back(id);
      return true;
    }
    return false;
  }

  bool fits(NodeId id, int g) {
    Members& members = groups_[static_cast<std::size_t>(g)];
    const Node &n = graph_.node(id), &first = graph_.node(members.front());
    if (n.device != first.device || !(n.output_shapes[0] == first.output_shapes[0])) return false;
    if (members.size() >= kMostSteps || !attrs_allow(id)) return false;
    if (members.size() == 1 && !attrs_allow(members.front())) return false;
    const bool outside = seen_outside(id, g);
    if (outside && (flow_ || reaches(id, g))) return false;
    members.push_back(id);
    group_of_[id.index] = g;
    const bool small = inputs_of(members, g).size() <= kMostInputs && outputs_of(members, g).size() <= kMostOutputs;
    members.pop_back();
    group_of_[id.index] = -1;
    return small;
  }

  bool seen_outside(NodeId id, int g) const {
    const auto uses = uses_[id.index];
    return preserved_.contains(id) ||
           std::any_of(uses.begin(), uses.end(), [&](const Graph::Use& u) { return group_of_[u.node.index] != g; });
  }

  // Does `id` lead to the group by way of nodes outside? Groups count as one node each, as they will be.
  bool reaches(NodeId id, int g) {
    ++visit_;
    int visits = 0;
    std::vector<NodeId> stack;
    const auto push = [&](NodeId from) {
      for (const Graph::Use& u : uses_[from.index]) {
        if (seen_[u.node.index] == visit_) continue;
        seen_[u.node.index] = visit_;
        stack.push_back(u.node);
      }
    };
    for (const Graph::Use& u : uses_[id.index]) {
      if (group_of_[u.node.index] == g || seen_[u.node.index] == visit_) continue;
      seen_[u.node.index] = visit_;
      stack.push_back(u.node);
    }
    while (!stack.empty()) {
      const NodeId at = stack.back();
      stack.pop_back();
      if (++visits > kMostVisits) return true;
      const int group = group_of_[at.index];
      if (group == g) return true;
      if (group < 0) {
        push(at);
      } else {
        for (const NodeId member : groups_[static_cast<std::size_t>(group)]) push(member);
      }
    }
    return false;
  }

  Inputs inputs_of(const Members& members, int g) const {
    Inputs inputs;
    for (const NodeId m : members) {
      for (const Endpoint e : graph_.node(m).inputs) {
        if (group_of_[e.node.index] == g) continue;
        const Endpoint from = source(e);
        if (std::find(inputs.begin(), inputs.end(), from) == inputs.end()) inputs.push_back(from);
      }
    }
    return inputs;
  }
  Outputs outputs_of(const Members& members, int g) const {
    Outputs outputs;
    for (const NodeId m : members) {
      if (seen_outside(m, g)) outputs.push_back(m);
    }
    return outputs;
  }

  Status fuse(const Members& members) {
    const int g = group_of_[members.front().index];
    const Inputs inputs = inputs_of(members, g);
    const Outputs outputs = outputs_of(members, g);
    FusedProgram program{.shape = graph_.node(members.front()).output_shapes[0]};
    std::map<Endpoint, int> value_of;
    for (const Endpoint e : inputs) value_of.emplace(e, static_cast<int>(value_of.size()));
    std::vector<DType> in_dtypes, out_dtypes;
    for (const Endpoint e : inputs) in_dtypes.push_back(graph_.dtype(e));
    for (const NodeId m : members) {
      const Node& n = graph_.node(m);
      FusedStep step{.op = n.op->name, .dtype = n.output_dtypes[0]};
      for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        const Endpoint e = n.inputs[k];
        step.operands[k] = value_of.at(group_of_[e.node.index] == g ? e : source(e));
      }
      value_of.emplace(Endpoint{m, 0}, static_cast<int>(inputs.size() + program.steps.size()));
      if (std::find(outputs.begin(), outputs.end(), m) != outputs.end()) {
        program.results.push_back(static_cast<int>(program.steps.size()));
        out_dtypes.push_back(step.dtype);
      }
      program.steps.push_back(std::move(step));
    }
    AttrMap attrs = {{"Tin", std::move(in_dtypes)}, {"Tout", std::move(out_dtypes)}};
    program.write(attrs);
    const NodeId last = members.back();
    if (outputs.size() == 1 && outputs.front() == last) {  // which can stand for all
      made_.push_back(last);
      return graph_.replace_with(last, "_FusedElementwise", inputs, {}, std::move(attrs));
    }
    NodeSpec spec{.name = graph_.unique_name(str_cat(graph_.node(last).name, "/fused")),
                  .op = "_FusedElementwise",
                  .inputs = std::vector<Endpoint>(inputs.begin(), inputs.end()),
                  .attrs = std::move(attrs),
                  .device = graph_.node(last).device};
    ARGOSY_ASSIGN_OR_RETURN(const NodeId id, graph_.add_node(std::move(spec)));
    group_of_.push_back(-1);
    made_.push_back(id);
    for (std::size_t o = 0; o < outputs.size(); ++o) replace(outputs[o], {id, static_cast<std::int32_t>(o)});
    return ok_status();
  }

  void replace(NodeId old, Endpoint fresh) {
    replaced_[{old, 0}] = fresh;
    for (const Graph::Use& u : uses_[old.index]) {
      // One that stands for its group by now has other inputs: run() ends with those.
      const auto& inputs = graph_.node(u.node).inputs;
      const auto slot = static_cast<std::size_t>(u.input);
      if (slot < inputs.size() && inputs[slot] == Endpoint{old, 0}) graph_.set_input(u.node, u.input, fresh);
    }
    for (Endpoint& fetch : step_.fetches) {
      if (fetch.node == old) fetch = fetch.index < 0 ? Endpoint{fresh.node, fetch.index} : fresh;
    }
    for (NodeId& target : step_.targets) {
      if (target == old) target = fresh.node;
    }
  }

  Graph& graph_;
  StepGraph& step_;
  const Graph::Uses uses_;
  std::vector<NodeId> order_;
  std::set<NodeId> preserved_;
  bool flow_ = false;  // the graph has control flow
  std::vector<Members> groups_;
  std::vector<int> group_of_;  // by node; -1: none
  std::vector<int> seen_;      // by node: the search that saw it
  int visit_ = 0;
  std::vector<NodeId> made_;
  std::map<Endpoint, Endpoint> replaced_;
};

}  // namespace

Result<int> fuse_elementwise(StepGraph& step) {
  if (step.graph.ops().find("_FusedElementwise") == nullptr) return 0;
  return ElementwiseFuser(step).run();
}

}  // namespace argosy
