#include "argosy/passes/fuse/fuse_elementwise.h"

#include <algorithm>
#include <map>

#include "argosy/ops/collective/turns.h"
#include "argosy/ops/elementwise/fused/fused.h"
#include "argosy/passes/fuse/elementwise_groups.h"

namespace argosy {

namespace {

class ElementwiseFuser {
  using Members = ElementwiseGroups::Members;

 public:
  explicit ElementwiseFuser(StepGraph& step) : graph_(step.graph), step_(step), groups_(step) {}

  Result<int> run() {
    ARGOSY_ASSIGN_OR_RETURN(const auto order, step_.graph.topological_order());
    for (auto id = order.rbegin(); id != order.rend(); ++id) groups_.add(*id);
    int fused = 0;
    for (Members members : groups_.all()) {
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
  Status fuse(const Members& members) {
    const auto inputs = groups_.inputs_of(members);
    const auto outputs = groups_.outputs_of(members);
    FusedProgram program{.shape = graph_.node(members.front()).output_shapes[0]};
    std::map<Endpoint, int> value_of;
    for (const Endpoint e : inputs) value_of.emplace(e, static_cast<int>(value_of.size()));
    std::vector<DType> in_dtypes, out_dtypes;
    for (const Endpoint e : inputs) {
      in_dtypes.push_back(graph_.dtype(e));
      program.inputs.push_back(graph_.shape(e));
    }
    const auto is_member = [&](Endpoint e) { return groups_.is_in_group(e.node, members.front()); };
    for (const NodeId m : members) {
      const Node& n = graph_.node(m);
      FusedStep step{.op = n.op->name, .dtype = n.output_dtypes[0]};
      for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        const Endpoint e = n.inputs[k];
        step.operands[k] = value_of.at(is_member(e) ? e : groups_.source(e));
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
    if (const Turn turn = Turn::of(graph_.node(members.front()).attrs); turn.number >= 0) {
      attrs.set(kTurnAttr, std::int64_t{turn.number});
    }
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
    made_.push_back(id);
    for (std::size_t o = 0; o < outputs.size(); ++o) replace(outputs[o], {id, static_cast<std::int32_t>(o)});
    return ok_status();
  }

  void replace(NodeId old, Endpoint fresh) {
    replaced_[{old, 0}] = fresh;
    for (const Graph::Use& u : groups_.users()[old]) {
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
  ElementwiseGroups groups_;
  std::vector<NodeId> made_;
  std::map<Endpoint, Endpoint> replaced_;
};

}  // namespace

Result<int> fuse_elementwise(StepGraph& step) {
  if (step.graph.ops().find("_FusedElementwise") == nullptr) return 0;
  return ElementwiseFuser(step).run();
}

}  // namespace argosy
