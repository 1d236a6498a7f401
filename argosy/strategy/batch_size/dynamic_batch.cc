#include "argosy/strategy/batch_size/dynamic_batch.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/strategy/analysis/mean_gradients.h"
#include "argosy/strategy/analysis/reachability.h"
#include "argosy/strategy/analysis/variable_nodes.h"
#include "argosy/strategy/batch_size/dynamic_size_nodes.h"
#include "argosy/strategy/batch_size/reinfer_batch.h"

namespace argosy {

namespace {

// Ops with an input that gives the shape of their output.
struct ShapeInput {
  std::string_view op;
  int shape;
  int data;  // the input whose rows it has, or -1: none
};
constexpr ShapeInput kShapeInputs[] = {
    {"Reshape", 1, 0},
    {"BroadcastTo", 1, 0},
    {"Conv2DBackpropInput", 0, 2},
    {"Conv3DBackpropInputV2", 0, 2},
    {"DepthwiseConv2dNativeBackpropInput", 0, 2},
    {"AvgPoolGrad", 0, 1},
    {"AvgPool3DGrad", 0, 1},
    {"StridedSliceGrad", 0, 4},
    {"Fill", 0, -1},
    {"RandomUniform", 0, -1},
    {"RandomStandardNormal", 0, -1},
    {"TruncatedNormal", 0, -1},
    {"StatelessRandomUniform", 0, -1},
    {"StatelessRandomNormal", 0, -1},
    {"StatelessTruncatedNormal", 0, -1},
    {"StatelessRandomUniformV2", 0, -1},
    {"StatelessRandomNormalV2", 0, -1},
    {"StatelessTruncatedNormalV2", 0, -1},
};

const ShapeInput* told(const Node& n) {
  const auto* const found = std::find_if(std::begin(kShapeInputs), std::end(kShapeInputs),
                                         [&](const ShapeInput& t) { return t.op == n.op->name; });
  return found != std::end(kShapeInputs) ? found : nullptr;
}

std::int64_t elements(const PartialShape& shape, int begin, int end) {
  std::int64_t all = 1;
  for (int i = begin; i < end; ++i) all *= shape[i];
  return all;
}

class DynamicBatch {
 public:
  DynamicBatch(Graph& graph, std::vector<NodeId>& inputs, std::int64_t batch)
      : graph_(graph),
        inputs_(inputs),
        batch_(batch),
        reinference_(graph, batch),
        make_(graph, reinference_, batch, inputs[0]) {}

  Status run(const std::vector<NodeId>& roots, const std::vector<NodeId>& losses) {
    ARGOSY_RETURN_IF_ERROR(reinference_.start());
    const std::vector<NodeId>& order = reinference_.order();
    position_.resize(order.size());
    for (std::size_t p = 0; p < order.size(); ++p) position_[order[p].index] = p;
    for (const NodeId id : inputs_) ARGOSY_RETURN_IF_ERROR(reinference_.add_input(id));
    const std::vector<char> used = ancestors(graph_, roots, true);
    for (std::size_t at = 0; at < order.size();) {
      const NodeId id = order[at];
      if (used[id.index] && reinference_.is_stale(id)) ARGOSY_RETURN_IF_ERROR(visit(id));
      at = std::min(std::exchange(again_from_, kNowhere), at + 1);
    }
    ARGOSY_RETURN_IF_ERROR(follow_in_means(losses));
    make_shapes_dynamic();
    return graph_.status();
  }

 private:
  using AxisAssignments = BatchReinference::AxisAssignments;
  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

  bool follows(Endpoint e) const { return reinference_.follows(e); }
  const BatchLayout& layout(Endpoint e) const { return reinference_.layout(e); }
  Status refuse(const Node& n, std::string_view why) const { return reinference_.refuse(n, why); }

  Status visit(NodeId id) {
    for (int tries = 0; tries < 16; ++tries) {
      ARGOSY_RETURN_IF_ERROR(adapt(id));
      ARGOSY_ASSIGN_OR_RETURN(const bool fits, reinference_.infer(id));
      if (fits) return follow_back_edge(id);
      ARGOSY_RETURN_IF_ERROR(make_inputs_follow(id));
      if (again_from_ != kNowhere) return ok_status();  // they come first, and this node after them
    }
    return refuse(graph_.node(id), "cannot be told to follow");
  }

  // A loop-carried value follows the batch where its entering value does, and the reverse.
  Status follow_back_edge(NodeId id) {
    const auto merge = reinference_.goes_to(id);
    if (!merge) return ok_status();
    const Endpoint next{id, 0}, carried{*merge, 0};
    if (follows(next) == follows(carried)) return ok_status();
    const auto& [from, to] = follows(next) ? std::pair(next, carried) : std::pair(carried, next);
    return follow(to, layout(from).axis, id).status();
  }

  // --- shapes written down -------------------------------------------------------------------------------------------

  // Integers among its inputs that have to follow, since its data do.
  Status adapt(NodeId id) {
    const Node& n = graph_.node(id);
    if (n.op->name == "Slice") return adapt_slice(id);
    if (n.op->name == "StridedSlice") return adapt_strided_slice(id);
    const ShapeInput* const t = told(n);
    if (t == nullptr || t->data < 0 || !follows(n.inputs[static_cast<std::size_t>(t->data)])) return ok_status();
    const auto values = reinference_.fixed_integers(n.inputs[static_cast<std::size_t>(t->shape)]);
    const PartialShape& shape = graph_.shape({id, 0});
    if (!values || !shape.is_full() || shape.rank() != static_cast<int>(values->size())) return ok_status();
    const int axis = axis_told(n, *t, shape);
    if (axis < 0 || (*values)[static_cast<std::size_t>(axis)] < 0) return ok_status();
    return tell(id, t->shape, *values, axis, n.op->name == "Reshape");
  }

  // Which axis of what it gives the examples of its data are on.
  int axis_told(const Node& n, const ShapeInput& t, const PartialShape& shape) const {
    const BatchLayout& data = layout(n.inputs[static_cast<std::size_t>(t.data)]);
    if (n.op->name == "BroadcastTo") {
      return data.axis + shape.rank() - graph_.shape(n.inputs[0]).rank();
    }
    if (n.op->name != "Reshape") return data.axis == 0 && shape[0] % batch_ == 0 ? 0 : -1;
    const std::int64_t all = data.outer * data.repeats;
    std::int64_t before = 1;
    for (int i = 0; i < shape.rank(); before *= shape[i++]) {
      if (shape[i] == 0 || shape[i] % batch_ != 0 || all == 0 || all % before != 0) continue;
      if (shape[i] / batch_ % (all / before) == 0) return i;
    }
    return -1;
  }

  // `may_be_open`: -1 says the same.
  Status tell(NodeId id, int input, std::vector<std::int64_t> values, int axis, bool may_be_open) {
    const Node& n = graph_.node(id);
    const Endpoint old = n.inputs[static_cast<std::size_t>(input)];
    const DType dtype = graph_.dtype(old);
    const auto scope = make_.scope_for(id);
    Value told;
    if (may_be_open && std::find(values.begin(), values.end(), -1) == values.end()) {
      values[static_cast<std::size_t>(axis)] = -1;
      told = make_.integers(dtype, values);
    } else {
      ARGOSY_ASSIGN_OR_RETURN(const Endpoint examples, make_.examples_for(id, id));
      told = make_.sizes(examples, dtype, values, axis);
    }
    ARGOSY_ASSIGN_OR_RETURN(const Endpoint fresh, make_.added(told, old.node));
    graph_.set_input(id, input, fresh);
    return ok_status();
  }

  // A slice over all rows of the batch. If it begins elsewhere, it begins at row 0 from now on.
  Status adapt_slice(NodeId id) {
    const Node& n = graph_.node(id);
    if (!follows(n.inputs[0])) return ok_status();
    const auto size = reinference_.fixed_integers(n.inputs[2]);
    const int axis = layout(n.inputs[0]).axis;
    const auto at = static_cast<std::size_t>(axis);
    if (!size || (*size)[at] != graph_.shape(n.inputs[0])[axis]) return ok_status();
    const bool begin_known = reinference_.fixed_integers(n.inputs[1]).has_value();  // else -1 is not known to be all
    return tell(id, 2, *size, axis, begin_known);
  }

  Status adapt_strided_slice(NodeId id) {
    const Node& n = graph_.node(id);
    if (!follows(n.inputs[0]) || n.attrs.get_int("ellipsis_mask") != 0 || n.attrs.get_int("new_axis_mask") != 0) {
      return ok_status();
    }
    const auto end = reinference_.fixed_integers(n.inputs[2]);
    const int axis = layout(n.inputs[0]).axis;
    const std::int64_t bit = std::int64_t{1} << axis, mask = n.attrs.get_int("end_mask");
    if (!end || axis >= static_cast<int>(end->size()) || (mask & bit) != 0) return ok_status();
    if ((*end)[static_cast<std::size_t>(axis)] < graph_.shape(n.inputs[0])[axis]) return ok_status();
    if ((n.attrs.get_int("shrink_axis_mask") & bit) == 0) graph_.set_attr(id, "end_mask", mask | bit);
    return ok_status();
  }

  // --- values that meet the batch ------------------------------------------------------------------------------------

  // The shapes do not fit: finds inputs that would if they followed, and makes them.
  Status make_inputs_follow(NodeId id) {
    const Node& n = graph_.node(id);
    AxisAssignments found = aligned_with_batch(n, true);
    if (found.empty() || !reinference_.would_fit(id, found)) found = aligned_with_batch(n, false);
    if (found.empty() || !reinference_.would_fit(id, found)) {
      const AxisAssignments all = could_follow(n);
      const auto one =
          std::find_if(all.begin(), all.end(), [&](const auto& each) { return reinference_.would_fit(id, {each}); });
      if (one == all.end()) return refuse(n, "does not take another size");
      found = {*one};
    }
    for (const auto& [input, axis] : found) {
      const Endpoint old = graph_.node(id).inputs[static_cast<std::size_t>(input)];
      ARGOSY_ASSIGN_OR_RETURN(const Endpoint fresh, follow(old, axis, id));
      if (fresh != old) graph_.set_input(id, input, fresh);
    }
    return ok_status();
  }

  // (input, axis) of those as long as the batch there, which is on the same axis, counted from the last or the first.
  AxisAssignments aligned_with_batch(const Node& n, bool from_last) const {
    AxisAssignments found;
    const auto with = std::find_if(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) { return follows(e); });
    if (with == n.inputs.end()) return found;
    const int own = layout(*with).axis;
    const std::int64_t batch = graph_.shape(*with)[own];
    for (int i = 0; i < static_cast<int>(n.inputs.size()); ++i) {
      const Endpoint e = n.inputs[static_cast<std::size_t>(i)];
      const PartialShape& shape = graph_.shape(e);
      const int axis = from_last ? own + shape.rank() - graph_.shape(*with).rank() : own;
      if (follows(e) || axis < 0 || axis >= shape.rank()) continue;
      if (shape[axis] == batch) found.emplace_back(i, axis);
    }
    return found;
  }

  AxisAssignments could_follow(const Node& n) const {
    AxisAssignments found;
    for (int i = 0; i < static_cast<int>(n.inputs.size()); ++i) {
      const Endpoint e = n.inputs[static_cast<std::size_t>(i)];
      const PartialShape& shape = graph_.shape(e);
      for (int axis = 0; !follows(e) && axis < shape.rank(); ++axis) {
        if (shape[axis] > 0 && shape[axis] % batch_ == 0) found.emplace_back(i, axis);
      }
    }
    return found;
  }

  // Returns a value that replaces this one for `taker`, with the batch's number of rows on that axis: the same value,
  // changed at its source, or a new one.
  Result<Endpoint> follow(Endpoint e, int axis, NodeId taker) {
    if (follows(e) && layout(e).axis == axis) return e;
    const NodeId id = e.node;
    const Node& n = graph_.node(id);
    const PartialShape shape = graph_.shape(e);
    if (axis >= shape.rank())
      return refuse(graph_.node(taker), str_cat("meets '", n.name, "', whose shape is not known"));
    const ShapeInput* const t = told(n);
    if (n.op->name == "Const") return follow_constant(e, axis, taker);
    if (t != nullptr && t->data < 0) return follow_told(e, t->shape, axis, taker);
    if (n.op->name == "Tile") {
      const PartialShape& once = graph_.shape(n.inputs[0]);
      const bool along_others = once.has_rank() && once[axis] == shape[axis];
      return along_others ? follow_inputs(e, {{0, axis}}, taker) : follow_told(e, 1, axis, taker);
    }
    if (n.op->name == "BroadcastTo" && graph_.shape(n.inputs[0]).has_rank()) {
      const int own = axis - (shape.rank() - graph_.shape(n.inputs[0]).rank());
      if (own < 0 || graph_.shape(n.inputs[0])[own] == 1) return follow_told(e, 1, axis, taker);
      return follow_inputs(e, {{0, own}}, taker);
    }
    if (n.op->flow == Flow::kMerge) return follow_merge(e, axis, taker);
    if (n.op->flow != Flow::kNone) return follow_inputs(e, {{0, axis}}, taker);
    if (e.index == 0 && (n.op->forwards || n.op->name == "ExpandDims" || n.op->name == "Squeeze")) {
      if (const int own = same_axis(shape, axis, graph_.shape(n.inputs[0])); own >= 0) {
        return follow_inputs(e, {{0, own}}, taker);
      }
    }
    if (e.index == 0 && (n.op->elementwise || n.op->name == "ZerosLike" || n.op->name == "OnesLike")) {
      AxisAssignments own;
      for (int i = 0; i < static_cast<int>(n.inputs.size()); ++i) {
        const PartialShape& s = graph_.shape(n.inputs[static_cast<std::size_t>(i)]);
        const int at = s.has_rank() ? axis - (shape.rank() - s.rank()) : -1;
        if (at >= 0 && s[at] == shape[axis]) own.emplace_back(i, at);
      }
      return follow_inputs(e, own, taker);
    }
    return add_batch_input(e, axis, taker);
  }

  // The axis with as many elements before it that the examples can be on: [batch, time] of [batch * time].
  int same_axis(const PartialShape& of, int axis, const PartialShape& in) const {
    if (!of.is_full() || !in.is_full()) return -1;
    const std::int64_t before = elements(of, 0, axis);
    for (int i = 0; i < in.rank(); ++i) {
      if (in[i] > 0 && in[i] % batch_ == 0 && elements(in, 0, i) == before) return i;
    }
    return -1;
  }

  Result<Endpoint> follow_inputs(Endpoint e, const AxisAssignments& inputs, NodeId taker) {
    if (inputs.empty()) return add_batch_input(e, 0, taker);
    for (const auto& [input, axis] : inputs) {
      const Endpoint old = graph_.node(e.node).inputs[static_cast<std::size_t>(input)];
      ARGOSY_ASSIGN_OR_RETURN(const Endpoint fresh, follow(old, axis, taker));
      if (fresh != old) graph_.set_input(e.node, input, fresh);
    }
    return edited(e);
  }

  // Whichever way it comes in; what a loop brings back is looked at when it does.
  Result<Endpoint> follow_merge(Endpoint e, int axis, NodeId taker) {
    AxisAssignments own;
    const Node& n = graph_.node(e.node);
    for (int i = 0; i < static_cast<int>(n.inputs.size()); ++i) {
      if (!reinference_.goes_to(n.inputs[static_cast<std::size_t>(i)].node)) own.emplace_back(i, axis);
    }
    return follow_inputs(e, own, taker);
  }

  Result<Endpoint> follow_told(Endpoint e, int input, int axis, NodeId taker) {
    const Node& n = graph_.node(e.node);
    const Endpoint old = n.inputs[static_cast<std::size_t>(input)];
    const auto values = reinference_.fixed_integers(old);
    if (!values || (*values)[static_cast<std::size_t>(axis)] % batch_ != 0) return add_batch_input(e, axis, taker);
    ARGOSY_ASSIGN_OR_RETURN(const Endpoint examples, make_.examples_for(e.node, taker));
    const auto scope = make_.scope_for(e.node);
    ARGOSY_ASSIGN_OR_RETURN(const Endpoint fresh,
                            make_.added(make_.sizes(examples, graph_.dtype(old), *values, axis), examples.node));
    graph_.set_input(e.node, input, fresh);
    return edited(e);
  }

  Endpoint edited(Endpoint e) {
    reinference_.edited(e.node);
    // Nodes added here come after all others, and are made as they have to be.
    if (static_cast<std::size_t>(e.node.index) < position_.size()) {
      again_from_ = std::min(again_from_, position_[static_cast<std::size_t>(e.node.index)]);
    }
    return e;
  }

  // All elements alike: of any size.
  Result<Endpoint> follow_constant(Endpoint e, int axis, NodeId taker) {
    const Tensor* const value = graph_.constant(e);
    const Shape& shape = value->shape();
    const std::size_t each = value->dtype() == DType::kString ? 0 : element_bytes(value->dtype());
    const auto* const bytes = static_cast<const char*>(value->raw());
    const std::size_t all = each * static_cast<std::size_t>(shape.elements());
    if (each == 0 || all == 0 || !std::equal(bytes + each, bytes + all, bytes)) return add_batch_input(e, axis, taker);
    std::vector<std::int64_t> values;
    for (int i = 0; i < shape.rank(); ++i) values.push_back(shape[i]);
    Tensor one = Tensor::zeros(value->dtype(), Shape());
    std::copy(bytes, bytes + each, static_cast<char*>(one.raw()));
    ARGOSY_ASSIGN_OR_RETURN(const Endpoint examples, make_.examples_for(e.node, taker));
    const auto scope = make_.scope_for(e.node);
    const Value dims = make_.sizes(examples, DType::kInt32, values, axis);
    return make_.added(graph_.add("Fill", {dims, constant(graph_, std::move(one))}), examples.node);
  }

  // The same in every step, or drawn: sharded as what is fed is. Integers may number rows, which a shard counts
  // anew.
  Result<Endpoint> add_batch_input(Endpoint e, int axis, NodeId taker) {
    const auto is_own = [&](const Node& n) {
      return n.op->name.starts_with("Placeholder") || n.op->name == "_Arg" || is_variable(n) ||
             n.op->flow != Flow::kNone || n.op->calls != Calls::kNothing ||
             std::string_view(n.name).find("grad_ys") != std::string_view::npos;
    };
    const std::vector<char> from = ancestors(graph_, {e.node}, false);
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (!from[i] || !is_own(n)) continue;
      return refuse(graph_.node(taker), str_cat("meets '", n.name, "', whose size cannot follow"));
    }
    const DType dtype = graph_.dtype(e);
    const PartialShape& shape = graph_.shape(e);
    if (reinference_.depth(e.node) > 0 || axis != 0 || shape[0] != batch_ ||
        !(is_floating(dtype) || is_complex(dtype) || dtype == DType::kBool)) {
      return refuse(graph_.node(taker), str_cat("meets '", graph_.node(e.node).name, "', whose size cannot follow"));
    }
    const auto scope = make_.scope_for(e.node);
    const Value sharded = placeholder_with_default(graph_.value(e), shape);
    if (!sharded.valid()) return graph_.status();
    ARGOSY_RETURN_IF_ERROR(reinference_.add_input(sharded.node()));
    inputs_.push_back(sharded.node());
    return sharded.endpoint();
  }

  // --- means ---------------------------------------------------------------------------------------------------------

  // The gradient of a mean divides by a constant if the number of averaged elements is known.
  Status follow_in_means(const std::vector<NodeId>& losses) {
    const auto divisions = divisions_of_means(graph_);
    for (const auto& [mean, nodes] : divisions) {
      if (!averages_examples(mean)) continue;
      for (const NodeId id : nodes) {
        const bool written = reinference_.was_seen(id) && is_written(graph_.node(id).inputs[1]);  // else it is counted
        if (written) ARGOSY_RETURN_IF_ERROR(divide_by_count(id, mean));
      }
    }
    const std::vector<char> differentiated = on_gradient_paths(graph_, reinference_.order(), losses);
    for (const NodeId id : reinference_.order()) {
      if (differentiated[id.index] && averages_examples(id) && !divisions.contains(id)) {
        return refuse(graph_.node(id), "has a gradient that cannot be found");
      }
    }
    return ok_status();
  }

  Status divide_by_count(NodeId id, NodeId mean) {
    const Node& n = graph_.node(id);
    const PartialShape &from = graph_.shape(graph_.node(mean).inputs[0]), &to = graph_.shape({mean, 0});
    const std::int64_t each = from.is_full() && to.is_full() && to.elements() > 0 ? from.elements() / to.elements() : 0;
    if (each == 0 || each % batch_ != 0 || reinference_.depth(id) > 0)
      return refuse(n, "divides by a number that cannot be told");
    const auto scope = make_.scope_for(id);
    const Value many = cast(make_.count({inputs_[0], 0}, DType::kInt32, each / batch_), graph_.dtype(n.inputs[1]));
    ARGOSY_ASSIGN_OR_RETURN(const Endpoint fresh, make_.added(many));
    graph_.set_input(id, 1, fresh);
    return ok_status();
  }

  bool averages_examples(NodeId id) const {
    const Node& n = graph_.node(id);
    return n.op->name == "Mean" && reinference_.was_seen(id) && follows(n.inputs[0]) && !follows({id, 0});
  }

  // A constant, as one reads it in a graph.
  bool is_written(Endpoint e) const {
    while (graph_.node(e.node).op->name == "Cast") e = graph_.node(e.node).inputs[0];
    return graph_.constant(e) != nullptr;
  }

  // --- the end -------------------------------------------------------------------------------------------------------

  void make_shapes_dynamic() {
    for (std::size_t i = 0; i < position_.size(); ++i) make_elements_dynamic(NodeId{static_cast<std::int32_t>(i)});
    for (const NodeId id : inputs_) {
      PartialShape::Sizes sizes = graph_.shape({id, 0}).sizes();
      sizes[0] = -1;
      graph_.set_attr(id, "shape", PartialShape(std::move(sizes)));
    }
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      for (std::int32_t o = 0; o < static_cast<std::int32_t>(graph_.node(NodeId{i}).output_dtypes.size()); ++o) {
        const Endpoint e{NodeId{i}, o};
        if (!follows(e)) continue;
        PartialShape::Sizes sizes = graph_.shape(e).sizes();
        sizes[static_cast<std::size_t>(layout(e).axis)] = -1;
        graph_.refine_shape(e, PartialShape(std::move(sizes)));
      }
    }
  }

  // A TensorArray has an attribute with the shape of its elements.
  void make_elements_dynamic(NodeId id) {
    const Node& n = graph_.node(id);
    const auto* const told = is_tensor_array_op(n) ? n.attrs.find_as<PartialShape>("element_shape") : nullptr;
    if (told == nullptr || !told->has_rank()) return;
    PartialShape::Sizes sizes = told->sizes();
    for (const TensorArrays::Stored& v : reinference_.arrays().values(reinference_.arrays().array_of(n).value_or(id))) {
      const int axis = follows(v.from) ? layout(v.from).axis - (v.stacked ? 1 : 0) : -1;
      if (axis >= 0 && axis < told->rank()) sizes[static_cast<std::size_t>(axis)] = -1;
    }
    graph_.set_attr(id, "element_shape", PartialShape(std::move(sizes)));
  }

  Graph& graph_;
  std::vector<NodeId>& inputs_;
  const std::int64_t batch_;
  BatchReinference reinference_;
  DynamicSizeNodes make_;
  std::vector<std::size_t> position_;  // by node that was there: in the order
  std::size_t again_from_ = kNowhere;  // where something was edited
};

}  // namespace

Status make_batch_dynamic(Graph& graph, std::vector<NodeId>& inputs, const std::vector<NodeId>& roots,
                          const std::vector<NodeId>& losses) {
  std::optional<NodeId> first;
  for (const NodeId id : inputs) {
    const PartialShape& shape = graph.shape({id, 0});
    if (!shape.has_rank() || shape.rank() == 0 || shape[0] < 0) return ok_status();
    if (!first) first = id;
    if (shape[0] != graph.shape({*first, 0})[0]) {
      return invalid_argument("'", graph.node(*first).name, "' brings a batch of ", graph.shape({*first, 0})[0],
                              " and '", graph.node(id).name, "' one of ", shape[0])
          .with_id("ARG-DP-010");
    }
  }
  if (!first) return ok_status();
  const std::int64_t batch = graph.shape({*first, 0})[0];
  if (batch < 2) {
    return invalid_argument("a batch of ", batch, " cannot be sharded").with_id("ARG-DP-010");
  }
  return DynamicBatch(graph, inputs, batch).run(roots, losses);
}

}  // namespace argosy
