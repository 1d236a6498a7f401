#include "argosy/strategy/sharding/partial_sums.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "argosy/strategy/analysis/variable_nodes.h"
#include "argosy/strategy/sharding/batch_dim_ops.h"
#include "argosy/strategy/sharding/batch_placement.h"
#include "argosy/strategy/sharding/device_varying.h"

namespace argosy {

namespace {

class PartialSumsFinder {
 public:
  PartialSumsFinder(const Graph& graph, const BatchAxes& axes, const PartialSumsOptions& options)
      : graph_(graph), axes_(axes), options_(options), varies_(graph, axes, options.global) {}

  PartialSums find(Endpoint value) {
    visit(value);
    return std::move(found_);
  }

 private:
  // The output of an update is the variable, which is the same everywhere; its inputs are treated on their own.
  bool depends(Endpoint e) const { return e.index >= 0 && varies_(e) && !writes_variable(graph_, graph_.node(e.node)); }

  void visit(Endpoint e) {
    if (!depends(e) || !seen_.insert(e).second) return;
    if (is_cross_example(e)) {
      go_below(e.node);
    } else if (are_rows(e) && !scaled_by_all(e)) {
      found_.rows.push_back(e);
    } else if (axes_.axis(e) == BatchAxes::kNone && is_sum(e)) {
      found_.sums.push_back(e);
    } else {
      go_below(e.node);
    }
  }

  bool is_cross_example(Endpoint e) const {
    return !options_.cross_example.empty() && options_.cross_example[static_cast<std::size_t>(e.node.index)] != 0;
  }

  bool are_rows(Endpoint e) const {
    if (!options_.in_pairs) return axes_.is_contiguous_in_batch(e);
    return axes_.axis(e) == 0 && (is_floating(graph_.dtype(e)) || are_numbers_of_all(e.node));
  }

  // Indices that mean the same in every shard: those of the examples, followed by others (labels and candidates).
  bool are_numbers_of_all(NodeId id) const {
    if (!axes_.depends(id) || axes_.preserves_example_order(id)) return true;
    const Node& n = graph_.node(id);
    if (n.op->name == "Reshape" || n.op->name == "Identity" || n.op->name == "Cast") {
      return are_numbers_of_all(n.inputs[0].node);
    }
    return n.op->name == "ConcatV2" &&
           std::all_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) { return are_numbers_of_all(e.node); });
  }

  void go_below(NodeId id) {
    const Node& n = graph_.node(id);
    if (n.op->flow != Flow::kNone || n.op->calls != Calls::kNothing || (n.op->stateful && !may_be_repeated(n))) {
      if (found_.why.empty()) {
        found_.why = str_cat("'", n.name, "' (", n.op->name, ") ",
                             n.op->stateful ? "is not the same every time" : "is part of control flow");
      }
      return;
    }
    if (!below_.insert(id.index).second) return;
    for (const Endpoint from : n.inputs) visit(from);
    found_.recompute.push_back(id);
  }

  std::vector<Endpoint> dependent_inputs(Endpoint e) const {
    std::vector<Endpoint> from;
    const auto& inputs = graph_.node(e.node).inputs;
    std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(from),
                 [&](Endpoint input) { return depends(input); });
    return from;
  }

  // The last rows behind e that are computed from more than one value, or from none: e itself, or what e is computed
  // from and nothing else.
  Endpoint origin(Endpoint e) const {
    for (;;) {
      const std::vector<Endpoint> from = dependent_inputs(e);
      if (from.size() != 1 || axes_.axis(from[0]) < 0) return e;
      e = from[0];
    }
  }

  // Rows scaled by a number that is made of all of them, their norm: clipped.
  bool scaled_by_all(Endpoint e) const {
    const Endpoint scaled = origin(e);
    if (!graph_.node(scaled.node).op->elementwise) return false;
    const std::vector<Endpoint> from = dependent_inputs(scaled);
    for (const Endpoint number : from) {
      if (axes_.axis(number) != BatchAxes::kNone || graph_.shape(number).elements() != 1) continue;
      for (const Endpoint rows : from) {
        if (axes_.axis(rows) >= 0 && is_computed_from(number.node, origin(rows).node)) return true;
      }
    }
    return false;
  }

  bool is_computed_from(NodeId value, NodeId from) const {
    std::unordered_set<std::int32_t> seen{value.index};
    std::vector<NodeId> open{value};
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (id == from) return true;
      for (const Endpoint e : graph_.node(id).inputs) {
        if (axes_.depends(e.node) && seen.insert(e.node.index).second) open.push_back(e.node);
      }
    }
    return false;
  }

  // Linear, step by step, in values whose own ops took the batch axis away.
  bool is_sum(Endpoint e) {
    const auto [known, fresh] = is_sum_.try_emplace(e, false);
    if (!fresh) return known->second;
    const bool answer = classify(e);
    is_sum_[e] = answer;
    return answer;
  }

  bool classify(Endpoint e) {
    if (axes_.axis(e) != BatchAxes::kNone || is_cross_example(e)) return false;
    const Node& n = graph_.node(e.node);
    if (axes_.scales_with_batch(e)) return true;
    // Integers that see the batch are sizes and positions more often than sums.
    if (!is_floating(graph_.dtype(e)) && !is_complex(graph_.dtype(e)) && n.op->name != "Sum") return false;
    if (std::any_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint from) { return axes_.axis(from) >= 0; })) {
      if (rule_of(*n.op) == BatchRule::kStatistics) return true;
      if (options_.cross_example.empty() || is_gradient(e))
        return argosy::adds_up(*n.op) || (averages(n) && !is_gradient(e));
      return batch_placement_of(graph_, axes_, e, options_.global).kind != PlacementKind::kUnknown;
    }
    if (n.op->flow == Flow::kSwitch) {
      const bool loops = graph_.node(n.inputs[1].node).op->flow == Flow::kLoopCond;
      return (loops || !depends(n.inputs[1])) && is_sum(n.inputs[0]);
    }
    if (n.op->flow == Flow::kEnter || n.op->flow == Flow::kExit || n.op->flow == Flow::kNextIteration) {
      return is_sum(n.inputs[0]);
    }
    if (n.op->flow == Flow::kMerge && e.index == 0) return is_loop_carried(n) ? adds_up(e) : merges_sums(n);
    if (is_part(graph_, n) && !depends(n.inputs[0])) return true;
    if (n.op->linear == Linear::kNo || e.index != 0) return false;
    const std::vector<Endpoint> chosen_by = conditions(graph_, n);
    if (std::any_of(chosen_by.begin(), chosen_by.end(), [&](Endpoint by) { return depends(by); })) return false;
    int dependent = 0;
    const std::vector<Endpoint> data = data_inputs(n);
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (!depends(data[i])) {
        if (n.op->linear == Linear::kJointly && options_.sums_only && !is_zero(graph_, data[i])) return false;
        continue;
      }
      if (is_none_of_gradients(data[i])) {
        if (n.op->linear == Linear::kJointly) return false;  // a mean, say: told of apart
        continue;
      }
      if (n.op->linear == Linear::kFirst && i > 0) return false;
      if (!is_sum(data[i])) return false;
      ++dependent;
    }
    if (dependent > 1 && options_.alike &&
        batch_placement_of(graph_, axes_, e, options_.global).kind == PlacementKind::kUnknown) {
      return false;
    }
    return dependent == 1 || (dependent > 1 && n.op->linear == Linear::kJointly);
  }

  static bool averages(const Node& n) { return n.op->batch_rule == BatchRule::kMean; }

  bool is_gradient(Endpoint e) const {
    return !options_.gradients.empty() && options_.gradients[static_cast<std::size_t>(e.node.index)] != 0;
  }

  bool is_none_of_gradients(Endpoint e) const {
    return !options_.gradients.empty() && options_.gradients[static_cast<std::size_t>(e.node.index)] == 0;
  }

  bool is_loop_carried(const Node& n) const {
    return std::any_of(n.inputs.begin(), n.inputs.end(),
                       [&](Endpoint from) { return graph_.node(from.node).op->flow == Flow::kNextIteration; });
  }

  // A loop-carried value is a sum if it starts as a sum or as zero and every iteration turns a sum into a sum.
  bool adds_up(Endpoint carried) {
    const Node& n = graph_.node(carried.node);
    is_sum_[carried] = true;  // so far
    const bool answer = std::all_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint from) {
      return depends(from) ? is_sum(from) : options_.averaged || is_zero(graph_, from);
    });
    if (!answer) is_sum_.clear();  // what followed from it does not
    return answer;
  }

  // Of a conditional: a sum in both branches.
  bool merges_sums(const Node& n) {
    const bool same = std::any_of(n.inputs.begin(), n.inputs.end(),
                                  [&](Endpoint from) { return !depends(from) && !is_zero(graph_, from); });
    return std::all_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint from) {
      if (!depends(from)) return options_.averaged || is_zero(graph_, from);
      return is_sum(from) &&
             !(same && batch_placement_of(graph_, axes_, from, options_.global).kind == PlacementKind::kPartialSum);
    });
  }

  const Graph& graph_;
  const BatchAxes& axes_;
  const PartialSumsOptions options_;
  mutable Varying varies_;
  PartialSums found_;
  std::unordered_set<Endpoint> seen_;
  std::unordered_set<std::int32_t> below_;  // nodes
  std::unordered_map<Endpoint, bool> is_sum_;
};

}  // namespace

PartialSums find_partial_sums(const Graph& graph, const BatchAxes& axes, Endpoint value,
                              const PartialSumsOptions& options) {
  return PartialSumsFinder(graph, axes, options).find(value);
}

}  // namespace argosy
