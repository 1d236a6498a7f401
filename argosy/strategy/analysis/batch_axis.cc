#include "argosy/strategy/analysis/batch_axis.h"

#include <algorithm>

#include "argosy/op/definition/batch_rule.h"
#include "argosy/ops/random/random_shard.h"
#include "argosy/strategy/analysis/clone_and_reinfer.h"
#include "argosy/strategy/analysis/reachability.h"

namespace argosy {

namespace {

// Two batch sizes, one twice the other. Most divisors that a Reshape may ask for divide them.
constexpr std::int64_t kSmallBatch = 55440;
constexpr std::int64_t kLargeBatch = 2 * kSmallBatch;

bool is_placeholder(const Node& n) { return n.op->name == "Placeholder" || n.op->name == "PlaceholderV2"; }

// Inputs have `batch` rows; `examples` give sizes that the graph leaves open.
Status resize(const Node& n, bool is_input, const Shape* example, std::int64_t batch, NodeSpec& spec) {
  // The default of a PlaceholderWithDefault does not matter.
  if (is_input) spec = {.name = n.name, .op = "Placeholder", .attrs = {{"dtype", n.output_dtypes[0]}}};
  if (!is_input && example == nullptr) return ok_status();
  PartialShape shape = example != nullptr ? PartialShape(*example) : n.output_shapes[0];
  if (is_input) {
    PartialShape::Sizes sizes = shape.has_rank() ? shape.sizes() : PartialShape::Sizes{batch};
    if (sizes.empty()) return invalid_argument("'", n.name, "' is a scalar: it cannot carry a batch");
    sizes[0] = batch;
    shape = PartialShape(std::move(sizes));
  }
  // A placeholder without a rank may have any number of further axes.
  if (n.output_shapes[0].has_rank() || example != nullptr) spec.attrs.set("shape", std::move(shape));
  return ok_status();
}

int axis_between(const PartialShape& small, const PartialShape& large) {
  if (!small.has_rank() || !large.has_rank() || small.rank() != large.rank()) return BatchAxes::kUnknown;
  int axis = BatchAxes::kNone;
  for (int i = 0; i < small.rank(); ++i) {
    if (small[i] < 0 || large[i] < 0) return BatchAxes::kUnknown;
    if (small[i] != large[i]) axis = axis == BatchAxes::kNone ? i : BatchAxes::kSeveral;
  }
  return axis;
}

// Rows of the axis for each example; 0 where they are not an integer.
std::int64_t per_example(const PartialShape& small, const PartialShape& large, int axis) {
  if (axis < 0 || small[axis] % kSmallBatch != 0 || large[axis] != 2 * small[axis]) return 0;
  return small[axis] / kSmallBatch;
}

std::int64_t elements_before(const PartialShape& shape, int axis) {
  std::int64_t elements = 1;
  for (int i = 0; i < axis; ++i) elements *= shape[i];
  return elements;
}

}  // namespace

bool reads_shape_only(const OpDef& op) { return op.batch_rule == BatchRule::kShapeOnly; }

Result<BatchAxes> BatchAxes::find(const Graph& graph, const std::vector<NodeId>& inputs, const Examples& examples) {
  const TensorArrays arrays(graph);
  ARGOSY_ASSIGN_OR_RETURN(const auto order, arrays.order());
  std::vector<char> is_input(graph.size(), 0);
  for (const NodeId id : inputs) is_input[id.index] = 1;
  const auto with = [&](std::int64_t batch, const Examples& sizes) -> Result<ReinferredGraph> {
    Result<ReinferredGraph> made = clone_and_reinfer(graph, arrays, order, [&](NodeId id, NodeSpec& spec) {
      const auto example = sizes.find(id);
      return resize(graph.node(id), is_input[id.index] != 0, example != sizes.end() ? &example->second : nullptr, batch,
                    spec);
    });
    if (made.ok()) return made;
    return invalid_argument("what brings the batch cannot all have as many examples: tried with ", batch, ", ",
                            made.status().message())
        .with_id("ARG-DP-011")
        .with_hint("sizes of their own for placeholders that bring no examples: [10], not [None]");
  };
  ARGOSY_ASSIGN_OR_RETURN(const ReinferredGraph small, with(kSmallBatch, examples));
  ARGOSY_ASSIGN_OR_RETURN(const ReinferredGraph large, with(kLargeBatch, examples));

  BatchAxes axes;
  axes.depends_ = is_input;
  axes.outputs_.resize(graph.size());
  // The values of this node do not follow from two batch sizes alone, as for min(batch, 100). (max(batch, 1) is no such
  // case.)
  std::vector<char> bent(graph.size(), 0);
  const auto bends = [&](const Node& n) {
    int differ = 0;
    bool has_large = false;
    for (const Endpoint e : n.inputs) {
      if (e.index < 0) continue;
      if (bent[e.node.index]) return true;
      const PartialInts* const less = small.graph.known_ints({small.of[e.node.index], e.index});
      const PartialInts* const more = large.graph.known_ints({large.of[e.node.index], e.index});
      if (less == nullptr || more == nullptr) continue;
      const auto above_one = [](const auto& size) { return !size || *size > 1; };
      differ += *less != *more ? 1 : 0;
      has_large = has_large || (*less == *more && std::any_of(less->begin(), less->end(), above_one));
    }
    return n.op->batch_rule == BatchRule::kMinMax && differ > 0 && (!n.op->elementwise || differ > 1 || has_large);
  };
  for (const NodeId id : order) {
    const auto outputs = static_cast<std::int32_t>(graph.node(id).output_dtypes.size());
    axes.outputs_[id.index].resize(outputs);
    const bool is_bent = bends(graph.node(id));
    for (std::int32_t i = 0; i < outputs; ++i) {
      const Endpoint a{small.of[id.index], i}, b{large.of[id.index], i};
      const PartialShape &less = small.graph.shape(a), &more = large.graph.shape(b);
      const int axis = axis_between(less, more);
      const BatchLayout layout{
          .axis = axis, .outer = elements_before(less, axis), .per_example = per_example(less, more, axis)};
      axes.outputs_[id.index][i] = {
          .layout = layout,
          .elements = axis == kNone ? less.elements() : -1,
          .lengths = axis >= 0 ? std::pair(less[axis], more[axis]) : std::pair(0l, 0l),
          .ints = is_bent ? Ints::kUnknown : follows(small.graph.known_ints(a), large.graph.known_ints(b))};
      bent[id.index] = bent[id.index] || (is_bent && small.graph.known_ints(a) != nullptr);
    }
  }
  const auto is_given_some = [&](NodeId id) {
    const auto values = arrays.values(id);
    return std::any_of(values.begin(), values.end(), [&](const auto& v) { return axes.depends_[v.from.node.index]; });
  };
  for (bool again = true; again;) {  // a second time only where a loop's way back, or an array, brings the batch in
    again = false;
    for (const NodeId id : order) {
      if (axes.depends_[id.index] || !(axes.reached(graph.node(id), id) || is_given_some(id))) continue;
      axes.depends_[id.index] = 1;
      again = again || graph.node(id).op->closes_loop || !arrays.empty();
    }
  }
  axes.find_layouts(graph, order, arrays);
  // Every round knows the layout of more consumers.
  for (std::size_t known = 0; axes.propagate_from_consumers(graph, order) && axes.consumer_repeats_.size() > known;) {
    known = axes.consumer_repeats_.size();
    axes.find_layouts(graph, order, arrays);
  }
  std::vector<Endpoint> alike;  // looking at the batch
  for (const NodeId id : order) {
    const auto& from = graph.node(id).inputs;
    const auto depends = [&](Endpoint e) { return axes.depends(e.node); };
    if (axes.depends(id) || std::none_of(from.begin(), from.end(), depends)) continue;
    for (std::int32_t k = 0; k < std::ssize(axes.outputs_[id.index]); ++k) {
      if (axes.outputs_[id.index][static_cast<std::size_t>(k)].ints == Ints::kFixed) alike.push_back({id, k});
    }
  }
  if (alike.empty()) return axes;
  // Examples describe one feed; the next may be longer.
  ARGOSY_ASSIGN_OR_RETURN(const ReinferredGraph any, with(kSmallBatch, {}));
  for (const Endpoint e : alike) {
    auto& sizes = axes.static_sizes_[e];
    const PartialInts* const ints = any.graph.known_ints({any.of[e.node.index], e.index});
    if (ints == nullptr || follows(ints, ints) != Ints::kFixed) continue;
    for (const auto& value : *ints) sizes.push_back(*value);
  }
  return axes;
}

void BatchAxes::find_layouts(const Graph& graph, const std::vector<NodeId>& order, const TensorArrays& arrays) {
  preserves_example_order_.assign(graph.size(), 1);
  std::vector<char> seen(graph.size(), 0);
  const auto mixes = [&](Endpoint e) {
    return e.index >= 0 && seen[e.node.index] && depends(e.node) && axis(e) != kNone &&
           (repeats(e) == 0 || !preserves_example_order(e.node));
  };
  const auto reads_mixed = [&](const Node& n) {
    const auto array = arrays.array_of(n);
    if (!array) return false;
    const auto values = arrays.values(*array);
    return std::any_of(values.begin(), values.end(), [&](const auto& v) {
      return mixes(v.from) || (seen[v.from.node.index] && repeats(v.from) > 1);
    });
  };
  for (bool again = true; again;) {  // once more where a loop, or an array, has brought in what was not seen before
    again = false;
    for (const NodeId id : order) {
      if (!depends(id)) continue;
      const Node& n = graph.node(id);
      const auto renumbers = [&](PerOutput& o) {
        BatchLayout& layout = o.layout;
        const auto met = consumer_repeats_.find(id);
        if (layout.axis >= 0) {
          layout.repeats =
              met != consumer_repeats_.end() ? met->second : repeats_of(n, layouts_of_inputs(n, seen), layout);
        }
        return layout.axis < kNone || (layout.axis >= 0 && (layout.repeats == 0 || n.op->name == "Range"));
      };
      auto& outputs = outputs_[id.index];
      const bool changed = std::count_if(outputs.begin(), outputs.end(), renumbers) > 0;
      const bool was = preserves_example_order(id);
      preserves_example_order_[id.index] =
          !changed && !reads_mixed(n) && std::none_of(n.inputs.begin(), n.inputs.end(), mixes);
      const bool around = n.op->closes_loop || !arrays.empty();
      again = again || (around && (seen[id.index] == 0 || was != preserves_example_order(id)));
      seen[id.index] = 1;
    }
  }
}

bool BatchAxes::propagate_from_consumers(const Graph& graph, const std::vector<NodeId>& order) {
  const auto row_by_row = [](const Node& n) {
    return n.op->elementwise || n.op->name == "Select" || reads_shape_only(*n.op);
  };
  const auto repeats_one = [&](const Node& n, int axis) {
    if (n.op->name != "Tile" && n.op->name != "BroadcastTo") return false;
    const PartialShape& one = graph.shape(n.inputs[0]);
    const int along = one.rank() - n.output_shapes[0].rank() + axis;
    return one.has_rank() && n.output_shapes[0].has_rank() && (along < 0 || one[along] == 1);
  };
  // The node whose rows `e` has, changed on the way only row by row, if it has no examples of its own.
  const auto source_without_examples = [&](Endpoint e) -> std::optional<NodeId> {
    for (;;) {
      const Node& n = graph.node(e.node);
      std::vector<Endpoint> from;
      std::copy_if(n.inputs.begin(), n.inputs.end(), std::back_inserter(from),
                   [&](Endpoint i) { return axis(i) >= 0; });
      const bool drawn = graph.ops().find(kShardPrefix + n.op->name) != nullptr;
      if (from.empty() && (drawn || n.op->name == "Fill" || repeats_one(n, axis(e)))) return e.node;
      if (from.size() != 1 || !row_by_row(n)) return std::nullopt;
      e = from[0];
    }
  };
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    if (!depends(id) || !row_by_row(n) || repeats({id, 0}) != 0) continue;
    for (const Endpoint with : n.inputs) {
      if (repeats(with) <= 1 || source_without_examples(with)) continue;
      for (const Endpoint e : n.inputs) {
        if (repeats(e) != 1 || rows_per_example(e) != rows_per_example(with)) continue;
        if (const auto source = source_without_examples(e)) consumer_repeats_.emplace(*source, repeats(with));
      }
    }
  }
  return !consumer_repeats_.empty();
}

std::vector<BatchLayout> BatchAxes::layouts_of_inputs(const Node& n, const std::vector<char>& seen) const {
  std::vector<BatchLayout> layouts;
  for (const Endpoint e : n.inputs) {
    if (axis(e) >= 0 && seen[e.node.index]) layouts.push_back(outputs_[e.node.index][e.index].layout);
  }
  return layouts;
}

BatchAxes::Ints BatchAxes::follows(const PartialInts* small, const PartialInts* large) {
  if (small == nullptr || large == nullptr || small->size() != large->size() || small->empty()) return Ints::kUnknown;
  bool fixed = true, grow = true;
  for (std::size_t i = 0; i < small->size(); ++i) {
    const auto &a = (*small)[i], &b = (*large)[i];
    if (!a || !b) return Ints::kUnknown;
    fixed = fixed && *a == *b;
    grow = grow && *a != 0 && *b == 2 * *a && *a % kSmallBatch == 0;  // half of them is rounded, shard by shard
  }
  return fixed ? Ints::kFixed : grow ? Ints::kGrow : Ints::kUnknown;
}

bool BatchAxes::reached(const Node& n, NodeId id) const {
  const auto& outputs = outputs_[id.index];
  const auto is_fixed = [](const PerOutput& o) { return o.ints == Ints::kFixed; };
  if (!outputs.empty() && std::all_of(outputs.begin(), outputs.end(), is_fixed)) return false;
  const bool shapes_only = reads_shape_only(*n.op);
  return std::any_of(n.inputs.begin(), n.inputs.end(),
                     [&](Endpoint e) { return depends_[e.node.index] != 0 && (!shapes_only || axis(e) != kNone); });
}

int BatchAxes::axis(Endpoint e) const {
  return e.index >= 0 && depends(e.node) ? outputs_[e.node.index][e.index].layout.axis : kNone;
}

std::int64_t BatchAxes::rows_per_example(Endpoint e) const {
  return axis(e) >= 0 ? outputs_[e.node.index][e.index].layout.per_example : 0;
}

std::int64_t BatchAxes::repeats(Endpoint e) const {
  return axis(e) >= 0 ? outputs_[e.node.index][e.index].layout.repeats : 0;
}

std::pair<std::int64_t, std::int64_t> BatchAxes::lengths(Endpoint e) const {
  return axis(e) >= 0 ? outputs_[e.node.index][e.index].lengths : std::pair<std::int64_t, std::int64_t>(0, 0);
}

std::int64_t BatchAxes::elements(Endpoint e) const {
  return e.index >= 0 ? outputs_[e.node.index][e.index].elements : -1;
}

bool BatchAxes::scales_with_batch(Endpoint e) const {
  return e.index >= 0 && depends(e.node) && outputs_[e.node.index][e.index].ints == Ints::kGrow;
}

std::vector<NodeId> batch_placeholders(const Graph& graph, const std::vector<NodeId>& from) {
  const std::vector<char> used = ancestors(graph, from, true);
  std::vector<NodeId> found;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    if (!used[i] || !is_placeholder(n)) continue;
    const PartialShape& shape = n.output_shapes[0];
    if (shape.has_rank() && shape.rank() > 0 && shape[0] < 0) found.push_back(NodeId{i});
  }
  return found;
}

}  // namespace argosy
