#include "argosy/sharding/lower/lower_state.h"

#include <algorithm>

#include "argosy/sharding/resolve/axis_state.h"

namespace argosy {

namespace {

std::vector<std::int64_t> weights_of(const MeshAxis& axis) {
  if (!axis.weights.empty()) return axis.weights;
  return std::vector<std::int64_t>(static_cast<std::size_t>(axis.size), 1);
}

}  // namespace

Status cannot_lower(const Node& n, std::string_view why, std::string_view hint) {
  return unimplemented("'", n.name, "' (", n.op->name, "): ", why)
      .with_id("ARG-SHARD-007")
      .with_where(str_cat("node '", n.name, "'"))
      .with_hint(std::string(hint));
}

LowerState::LowerState(Graph& g, const LowerRequest& r)
    : base(*r.base),
      graph(g),
      request(r),
      sizes(*r.sizes),
      assignment(*r.assignment),
      axis(r.mesh->axes[0]),
      devices(r.mesh->devices),
      weights(weights_of(axis)),
      regions(find_regions(*r.base, r.sizes->order())),
      uses(r.base->consumers()) {
  changed.resize(assignment.reshards.size());
  for (std::size_t i = 0; i < assignment.reshards.size(); ++i) {
    for (const Graph::Use& use : assignment.reshards[i].users) reshard_of[{use.node, use.input}] = i;
  }
  if (!r.batch.empty()) host.emplace(graph, Endpoint{r.batch[0], 0}, weights);
}

int LowerState::device_count() const {
  int count = 0;
  for (int d = 0; d < size(); ++d) count += starts_device(d) ? 1 : 0;
  return count;
}

bool LowerState::is_batch(NodeId id) const {
  return std::find(request.batch.begin(), request.batch.end(), id) != request.batch.end();
}

bool LowerState::is_variable(NodeId id) const {
  return sharding(id).kind == NodeSharding::Kind::kGiven && !is_batch(id) && is_copied(id);
}

Endpoint LowerState::source(int d, Graph::Use use) const {
  const Endpoint e = base.node(use.node).inputs[static_cast<std::size_t>(use.input)];
  const auto at = reshard_of.find({use.node, use.input});
  if (at == reshard_of.end() || changed[at->second].empty()) return output(d, e);
  return changed[at->second][static_cast<std::size_t>(d)];
}

Endpoint LowerState::before(std::size_t reshard, int d) const {
  const auto& all = assignment.reshards;
  for (std::size_t i = reshard; i-- > 0 && all[i].value == all[reshard].value;) {
    if (all[i].to == all[reshard].from && !changed[i].empty()) return changed[i][static_cast<std::size_t>(d)];
  }
  return output(d, all[reshard].value);
}

const Placement& LowerState::arrives(Graph::Use use) const {
  const auto at = reshard_of.find({use.node, use.input});
  if (at != reshard_of.end()) return assignment.reshards[at->second].to;
  return layout(base.node(use.node).inputs[static_cast<std::size_t>(use.input)]);
}

std::optional<NodeId> LowerState::variable_behind(Endpoint e) const {
  for (std::int32_t steps = 0; steps < base.size(); ++steps) {
    if (sharding(e.node).kind == NodeSharding::Kind::kGiven && !is_batch(e.node)) return e.node;
    const Node& n = base.node(e.node);
    const auto refers = [&](Endpoint from) {
      return holds_state(base, from) || base.node(from.node).output_is_ref(from.index);
    };
    if (!refers(e) || n.inputs.empty() || !refers(n.inputs[0])) return std::nullopt;
    e = n.inputs[0];
  }
  return std::nullopt;
}

int LowerState::loop_of(NodeId id) const {
  const int frame = regions.frame[static_cast<std::size_t>(id.index)];
  return base.node(id).op->flow == Flow::kExit ? regions.frames[static_cast<std::size_t>(frame)].around : frame;
}

Value LowerState::dead_with(Value near, NodeId by, NodeId id) {
  if (regions.always(id)) return near;
  const auto on = graph.device(kHost);
  const Value v = graph.add("Identity", {near}, {}, "sharding/here");
  graph.add_control_input(v.node(), by);
  return v;
}

Value LowerState::after_effects(Value size, NodeId of, int d) {
  if (!effects_) {
    effects_.emplace(base, sizes.order(), request.run, [&](NodeId id, int input) {
      const ShardingRule& known = rule(id);
      if (known.kind != ShardingRule::Kind::kFactors || input >= std::ssize(known.inputs)) return true;
      const OperandRule::Kind kind = known.inputs[static_cast<std::size_t>(input)].kind;
      return kind != OperandRule::Kind::kSizes && kind != OperandRule::Kind::kShapeOnly;
    });
  }
  if (!effects_->lost_without(of)) return size;
  const auto on = graph.device(kHost);
  const Value v = graph.add("Identity", {size}, {}, "sharding/after_effects");
  for (int k = 0; k < this->size(); ++k) {
    if (k == d || !in_loop(of))
      graph.add_control_input(v.node(), copies[static_cast<std::size_t>(k)][static_cast<std::size_t>(of.index)]);
  }
  return v;
}

Value LowerState::near(Value v, NodeId id, int d) {
  std::vector<int> path;
  for (int f = loop_of(id); f != 0; f = regions.frames[static_cast<std::size_t>(f)].around) path.push_back(f);
  for (auto f = path.rbegin(); f != path.rend(); ++f) {
    Value& entered = entered_[{v.endpoint(), *f, d}];
    if (!entered.valid()) {
      const NodeId like = copies[static_cast<std::size_t>(d)]
                                [static_cast<std::size_t>(regions.frames[static_cast<std::size_t>(*f)].enter.index)];
      const AttrMap& attrs = graph.node(like).attrs;
      const auto on = graph.device(kHost);
      entered = graph.add("Enter", {v},
                          {{"frame_name", attrs.get_string("frame_name")},
                           {"is_constant", true},
                           {"parallel_iterations", attrs.get_or<std::int64_t>("parallel_iterations", 10)}},
                          "sharding/enter");
    }
    v = entered;
  }
  return v;
}

}  // namespace argosy
