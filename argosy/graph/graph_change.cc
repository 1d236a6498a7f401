// How passes and importers change nodes that are there.
#include <algorithm>

#include "argosy/base/memory/huge_pages.h"
#include "argosy/graph/graph.h"
#include "argosy/graph/shape_error.h"

namespace argosy {

Status Graph::replace_with(NodeId id, std::string_view op, std::span<const Endpoint> inputs,
                           std::span<const NodeId> controls, AttrMap attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const OpDef* def, ops_->lookup(op));
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<DType> dtypes, arg_dtypes(def->output_args, attrs));
  Node& node = nodes_[id.index];
  node.op = def;
  node.colocated_with = take_colocation(attrs);
  node.attrs = attr_pool_.shared(def, std::move(attrs));
  node.inputs.assign(inputs.begin(), inputs.end());
  node.controls.assign(controls.begin(), controls.end());
  std::sort(node.controls.begin(), node.controls.end());
  node.controls.erase(std::unique(node.controls.begin(), node.controls.end()), node.controls.end());
  note(id.index);
  if (std::equal(dtypes.begin(), dtypes.end(), node.output_dtypes.begin(), node.output_dtypes.end()))
    return ok_status();
  node.output_dtypes = dtypes;
  node.output_refs.clear();
  return infer(id);
}

Result<std::vector<NodeId>> Graph::retain(const std::vector<NodeId>& order) {
  std::vector<NodeId> moved(nodes_.size());
  for (std::size_t i = 0; i < order.size(); ++i) moved[order[i].index] = NodeId{static_cast<std::int32_t>(i)};
  // All that is to be done with a node while it is at hand: graphs are larger than caches.
  std::vector<NodeId> unknown;
  std::vector<std::int32_t> backward;  // they read or wait for what comes behind them
  const auto settle = [&](Node& node, std::int32_t i) {
    // A loop's Merge comes before what closes the loop: its shape was settled when the loop was built.
    bool loops = false;
    for (Endpoint& input : node.inputs) {
      input.node = moved[input.node.index];
      loops = loops || input.node.index >= i;
    }
    if (!node.controls.empty()) {
      for (NodeId& control : node.controls) control = moved[control.index];
      erase_if(node.controls, [](NodeId control) { return control.index < 0; });
      for (const NodeId control : node.controls) waited_for_[static_cast<std::size_t>(control.index)] = 1;
      std::sort(node.controls.begin(), node.controls.end());
    }
    const bool known = std::all_of(node.output_shapes.begin(), node.output_shapes.end(),
                                   [](const PartialShape& s) { return s.is_full(); });
    if (!known && !loops) unknown.push_back({i});
    const bool waits = !node.controls.empty() && node.controls.back().index >= i;
    if (loops || waits) backward.push_back(i);
  };
  in_order_ = true;
  waited_for_.assign(order.size(), 0);
  if (std::is_sorted(order.begin(), order.end())) {
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(order.size()); ++i) {
      const NodeId from = order[static_cast<std::size_t>(i)];
      if (from.index != i) {
        nodes_[i] = std::move(nodes_[from.index]);
        first_fact_[i] = first_fact_[from.index];
      }
      settle(nodes_[i], i);
    }
    nodes_.truncate(order.size());
    first_fact_.resize(order.size());
  } else {
    NodeArray kept;
    std::vector<std::int32_t> kept_facts;
    kept.reserve(order.size());
    reserve_large(kept_facts, order.size());
    for (const NodeId id : order) {
      kept.push_back(std::move(nodes_[id.index]));
      kept_facts.push_back(first_fact_[id.index]);
      settle(kept.back(), static_cast<std::int32_t>(kept.size() - 1));
    }
    nodes_ = std::move(kept);
    first_fact_ = std::move(kept_facts);
  }
  names_stale_ = true;
  for (const std::int32_t i : backward) note(i);
  for (const NodeId id : unknown) {
    if (Status inferred = infer(id); !inferred.ok()) {
      Node& n = nodes_[id.index];
      const std::string where = str_cat("node '", n.name, "' (", n.op->name, ")");
      inferred = defer_shape_error(*this, id, std::move(inferred));
      if (!inferred.ok()) return std::move(inferred).with_where(where);
      n.output_refs.clear();
    }
  }
  return moved;
}

void Graph::replace_with_noop(NodeId id) {
  Node& node = nodes_[id.index];
  const Name name = node.name;
  node = {.name = name, .op = ops_->find("NoOp"), .attrs = attr_pool_.shared(ops_->find("NoOp"), {})};
  note(id.index);
}

void Graph::set_input(NodeId node, int input, Endpoint from) {
  nodes_[node.index].inputs[input] = from;
  note_edge(node.index, from.node);
}
void Graph::add_input(NodeId node, Endpoint from) {
  nodes_[node.index].inputs.push_back(from);
  note_edge(node.index, from.node);
}
void Graph::add_control_input(NodeId node, NodeId from) {
  note_wait(node.index, from);
  auto& controls = nodes_[node.index].controls;
  const auto at = std::lower_bound(controls.begin(), controls.end(), from);
  if (at == controls.end() || *at != from) controls.insert(at, from);
}

void Graph::remove_control_input(NodeId node, NodeId from) { erase(nodes_[node.index].controls, from); }
void Graph::replace_control_input(NodeId node, NodeId from, NodeId to) {
  if (erase(nodes_[node.index].controls, from) > 0) add_control_input(node, to);
}
void Graph::add_outputs(NodeId id, const std::vector<DType>& dtypes, const std::vector<PartialShape>& shapes) {
  Node& node = nodes_[id.index];
  node.output_dtypes.insert(node.output_dtypes.end(), dtypes.begin(), dtypes.end());
  node.output_shapes.insert(node.output_shapes.end(), shapes.begin(), shapes.end());
  if (!node.output_refs.empty()) node.output_refs.resize(node.output_dtypes.size(), false);
}

}  // namespace argosy
