#include "argosy/strategy/batch_size/reinfer_batch.h"

#include <algorithm>

#include "argosy/strategy/analysis/clone_and_reinfer.h"
#include "argosy/strategy/analysis/dataflow_loops.h"

namespace argosy {

namespace {

// The other size: what Reshape may divide by goes into it.
constexpr std::int64_t kProbeBatch = 55440;

}  // namespace

BatchReinference::BatchReinference(Graph& graph, std::int64_t batch)
    : graph_(graph), batch_(batch), arrays_(graph), copies_(graph.ops()) {
  for (const auto& [name, function] : graph.functions()) copies_.add_function(function);
}

Status BatchReinference::start() {
  ARGOSY_ASSIGN_OR_RETURN(order_, arrays_.order());
  known_.resize(static_cast<std::size_t>(graph_.size()));
  depths_ = loop_depths(graph_, order_);
  for (const NodeId id : order_) {
    for (const Endpoint e : graph_.node(id).inputs) {
      if (graph_.node(e.node).op->flow == Flow::kNextIteration) goes_to_.emplace(e.node, id);
    }
  }
  if (goes_to_.empty()) return ok_status();
  const auto as_it_is = [](NodeId, NodeSpec&) { return ok_status(); };
  ARGOSY_ASSIGN_OR_RETURN(const ReinferredGraph now, clone_and_reinfer(graph_, arrays_, order_, as_it_is));
  for (const NodeId id : order_) {
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(graph_.node(id).output_dtypes.size()); ++i) {
      const PartialShape& shape = now.graph.shape({now.of[static_cast<std::size_t>(id.index)], i});
      if (shape.is_full()) graph_.refine_shape({id, i}, shape);
    }
  }
  return ok_status();
}

// --- inferring -------------------------------------------------------------------------------------------------------

Status BatchReinference::add_input(NodeId id) {
  known_.resize(static_cast<std::size_t>(graph_.size()));
  PartialShape::Sizes sizes = graph_.shape({id, 0}).sizes();
  sizes[0] = kProbeBatch;
  Known& k = known(id);
  ARGOSY_ASSIGN_OR_RETURN(k.copy, add_placeholder(graph_.dtype({id, 0}), PartialShape(std::move(sizes))));
  k.changed = ++time_;
  k.input = true;
  k.layouts.assign(1, {.axis = 0, .per_example = 1, .repeats = 1});
  return ok_status();
}

Result<NodeId> BatchReinference::add_placeholder(DType dtype, PartialShape shape) {
  return copies_.add_node({.name = copies_.unique_name("any"),
                           .op = "Placeholder",
                           .attrs = {{"dtype", dtype}, {"shape", std::move(shape)}}});
}

NodeSpec BatchReinference::spec(NodeId id) {
  NodeSpec made = copy_spec(graph_, id, arrays_, copies_, [&](NodeId from) { return known(from).copy; });
  made.name = copies_.unique_name(made.name);
  return made;
}

Result<bool> BatchReinference::infer(NodeId id) {
  const auto made = copies_.add_node(spec(id));
  if (!made.ok()) return false;
  ARGOSY_RETURN_IF_ERROR(note(id, *made));
  return true;
}

Status BatchReinference::infer_added(NodeId anchor) {
  const auto before = static_cast<std::int32_t>(known_.size());
  known_.resize(static_cast<std::size_t>(graph_.size()));
  const int depth_there = anchor.index >= 0 ? depth(anchor) : 0;
  depths_.resize(known_.size(), depth_there);
  for (std::int32_t i = before; i < graph_.size(); ++i) {
    const NodeId id{i};
    if (depth_there > 0 && graph_.node(id).inputs.empty()) graph_.add_control_input(id, anchor);
    ARGOSY_ASSIGN_OR_RETURN(const NodeId made, copies_.add_node(spec(id)));
    ARGOSY_RETURN_IF_ERROR(note(id, made));
  }
  return ok_status();
}

Status BatchReinference::note(NodeId id, NodeId copy) {
  Known& k = known(id);
  k.copy = copy;
  k.layouts.clear();
  const Node& n = graph_.node(id);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(n.output_dtypes.size()); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const BatchLayout found, find_layout(n, {id, i}));
    k.layouts.push_back(found);
  }
  k.changed = ++time_;
  k.edited = false;
  return ok_status();
}

bool BatchReinference::is_stale(NodeId id) const {
  const Known& k = known(id);
  if (k.input) return false;
  if (k.changed == 0 || k.edited) return true;
  const Node& n = graph_.node(id);
  const auto is_newer = [&](Endpoint e) { return !goes_to(e.node) && known(e.node).changed > k.changed; };
  if (std::any_of(n.inputs.begin(), n.inputs.end(), is_newer)) return true;
  const auto array = arrays_.array_of(n);
  if (!array) return false;
  const auto values = arrays_.values(*array);
  return std::any_of(values.begin(), values.end(), [&](const auto& v) { return is_newer(v.from); });
}

bool BatchReinference::would_fit(NodeId id, const AxisAssignments& following) {
  NodeSpec made = spec(id);
  for (const auto& [input, axis] : following) {
    const Endpoint e = graph_.node(id).inputs[static_cast<std::size_t>(input)];
    PartialShape::Sizes sizes = graph_.shape(e).sizes();
    std::int64_t& size = sizes[static_cast<std::size_t>(axis)];
    size = size / batch_ * kProbeBatch;
    const auto other = add_placeholder(graph_.dtype(e), PartialShape(std::move(sizes)));
    if (!other.ok()) return false;
    made.inputs[static_cast<std::size_t>(input)] = {*other, 0};
  }
  return copies_.add_node(std::move(made)).ok();
}

// --- what is known ---------------------------------------------------------------------------------------------------

// The axis that has another length for the other batch.
Result<BatchLayout> BatchReinference::find_layout(const Node& n, Endpoint e) const {
  const PartialShape &old = graph_.shape(e), &other = copies_.shape(copy(e));
  BatchLayout found;
  if (!old.has_rank() || !other.has_rank() || old.rank() != other.rank()) return found;
  std::int64_t before = 1;
  for (int i = 0; i < old.rank(); before *= old[i++]) {
    if (old[i] < 0 || other[i] < 0 || old[i] == other[i]) continue;
    if (found.axis >= 0) return refuse(n, "sets examples against examples");
    if (old[i] % batch_ != 0 || other[i] != old[i] / batch_ * kProbeBatch)
      return refuse(n, "splits examples into pieces");
    found = {.axis = i, .outer = before, .per_example = old[i] / batch_};
  }
  if (found.axis < 0) return found;
  std::vector<BatchLayout> inputs;
  for (const Endpoint from : n.inputs) {
    if (follows(from)) inputs.push_back(layout(from));
  }
  found.repeats = repeats_of(n, inputs, found);
  const bool told = !inputs.empty() && inputs[0].repeats > 0;
  if (n.op->forwards && told && found.repeats == 0) return refuse(n, "looks across examples");
  return found;
}

std::optional<std::vector<std::int64_t>> BatchReinference::fixed_integers(Endpoint e) const {
  if (!was_seen(e.node)) return std::nullopt;
  const PartialInts *const old = graph_.known_ints(e), *const other = copies_.known_ints(copy(e));
  if (old == nullptr || other == nullptr || *old != *other) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const auto& v : *old) {
    if (!v) return std::nullopt;
    values.push_back(*v);
  }
  return values;
}

int BatchReinference::depth(NodeId id) const {
  const auto i = static_cast<std::size_t>(id.index);
  return i < depths_.size() ? depths_[i] : 0;
}

std::optional<NodeId> BatchReinference::goes_to(NodeId id) const {
  const auto found = goes_to_.find(id);
  return found != goes_to_.end() ? std::optional(found->second) : std::nullopt;
}

Status BatchReinference::refuse(const Node& n, std::string_view why) const {
  return invalid_argument("the graph is written for batches of ", batch_, ", and '", n.name, "' (", n.op->name, ") ",
                          why)
      .with_id("ARG-DP-010")
      .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
      .with_hint("tf.placeholder(dtype, [None, …]) for what brings the batch");
}

}  // namespace argosy
