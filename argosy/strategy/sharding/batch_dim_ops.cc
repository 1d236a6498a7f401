#include "argosy/strategy/sharding/batch_dim_ops.h"

#include <algorithm>
#include <string_view>

#include "argosy/strategy/analysis/variable_nodes.h"

namespace argosy {

namespace {

class CrossExampleOps {
 public:
  CrossExampleOps(const Graph& graph, const BatchAxes& axes) : graph_(graph), axes_(axes) {}

  bool is_cross_example_op(const Node& n) const {
    switch (rule_of(*n.op)) {
      case BatchRule::kNotLast:
      case BatchRule::kSumNotLast: return reaches(n, 1);
      case BatchRule::kNotLastTwo: return reaches(n, 2);
      case BatchRule::kNotLastThree: return reaches(n, 3);
      case BatchRule::kFirstAxis:
      case BatchRule::kSumFirstAxis: return is_behind_first(n) || has_filters(n);
      case BatchRule::kRandom: return is_behind_first(n);
      case BatchRule::kShapeMath: return any_input(n, [&](Endpoint e) { return has_rows(e); });
      case BatchRule::kNotFirst: return any_input(n, [&](Endpoint e) { return axes_.axis(e) == 0; });
      case BatchRule::kStatistics: return normalises_examples(n);
      case BatchRule::kStrided: return turns(n);
      case BatchRule::kGivenAxis: return is_given(n);
      default: return false;
    }
  }

  // Is the batch's axis of `of` among the axes, or may it be?
  bool names(Endpoint given, Endpoint of) const {
    if (!has_rows(of)) return false;
    const PartialInts* const axes = graph_.known_ints(given);
    const PartialShape& shape = graph_.shape(of);
    if (axes == nullptr || !shape.has_rank()) return true;
    return std::any_of(axes->begin(), axes->end(), [&](const auto& axis) {
      return !axis || (*axis < 0 ? *axis + shape.rank() : *axis) == axes_.axis(of);
    });
  }

 private:
  bool has_rows(Endpoint e) const { return axes_.axis(e) >= 0; }

  template <typename Is>
  static bool any_input(const Node& n, const Is& is) {
    return std::any_of(n.inputs.begin(), n.inputs.end(), is);
  }

  bool is_behind_first(const Node& n) const {
    return any_input(n, [&](Endpoint e) { return axes_.axis(e) > 0; });
  }

  // Examples that others are convolved with.
  bool has_filters(const Node& n) const {
    for (std::size_t i = 0; i < n.op->input_args.size(); ++i) {
      if (n.op->input_args[i].name == "filter" && has_rows(n.inputs[i])) return true;
    }
    return false;
  }

  // Is the batch on one of the last axes of the first input, or of one with as many?
  bool reaches(const Node& n, int axes_from_end) const {
    const PartialShape& first = graph_.shape(n.inputs[0]);
    return any_input(n, [&](Endpoint e) {
      const PartialShape& shape = graph_.shape(e);
      const bool alike = e == n.inputs[0] || (first.has_rank() && shape.has_rank() && shape.rank() == first.rank());
      return has_rows(e) && alike && axes_.axis(e) >= shape.rank() - axes_from_end;
    });
  }

  // Statistics of a channel are an example's own where channels are examples: so Keras normalises layers.
  bool normalises_examples(const Node& n) const {
    const bool first = n.attrs.get_string("data_format").starts_with("NC");
    const PartialShape& shape = graph_.shape(n.inputs[0]);
    const int channels = first ? 1 : shape.has_rank() ? shape.rank() - 1 : -1;
    return axes_.axis(n.inputs[0]) > 0 && axes_.axis(n.inputs[0]) != channels;
  }

  // An input or an attribute says along which axes.
  bool is_given(const Node& n) const {
    if (const auto* const along = n.attrs.find_as<std::int64_t>("seq_dim"); along != nullptr) {
      return has_rows(n.inputs[0]) && *along == axes_.axis(n.inputs[0]);
    }
    // Without a list, axes of size 1 go: the batch's, where a shard has one example.
    if (const auto* const axes = n.attrs.find_as<std::vector<std::int64_t>>("squeeze_dims"); axes != nullptr) {
      return has_rows(n.inputs[0]) && axes->empty();
    }
    for (std::size_t i = 1; i < n.op->input_args.size(); ++i) {
      const std::string& name = n.op->input_args[i].name;
      if (name == "axis" || name == "dims") return names(n.inputs[i], n.inputs[0]);
    }
    return has_rows(n.inputs[0]);
  }

  // A slice that takes examples from the last one on. (Fewer than all have not as many rows for each.)
  bool turns(const Node& n) const {
    const PartialInts* const strides = graph_.known_ints(n.inputs[3]);
    if (!has_rows(n.inputs[0])) return false;
    if (strides == nullptr) return true;
    const auto back = [](const auto& stride) { return !stride || *stride < 0; };
    const bool plain = n.attrs.get_int("ellipsis_mask") == 0 && n.attrs.get_int("new_axis_mask") == 0;
    if (!plain) return std::any_of(strides->begin(), strides->end(), back);
    const auto axis = static_cast<std::size_t>(axes_.axis(n.inputs[0]));
    return axis < strides->size() && back((*strides)[axis]);
  }

  const Graph& graph_;
  const BatchAxes& axes_;
};

}  // namespace

BatchRule rule_of(const OpDef& op) {
  return op.batch_rule == BatchRule::kUnknown && op.elementwise ? BatchRule::kPerExample : op.batch_rule;
}

bool adds_up(const OpDef& op) {
  switch (op.batch_rule) {
    case BatchRule::kSum:
    case BatchRule::kSumNotLast:
    case BatchRule::kSumFirstAxis:
    case BatchRule::kScatterAdd: return true;
    case BatchRule::kFirstAxis: return false;
    default: return op.linear == Linear::kEach && !op.elementwise;  // products of matrices
  }
}

bool has_no_rule(const Graph& graph, const Node& n) {
  return rule_of(*n.op) == BatchRule::kUnknown && n.op->flow == Flow::kNone && !writes_variable(graph, n);
}

bool is_cross_example_op(const Graph& graph, const BatchAxes& axes, const Node& n) {
  return !n.inputs.empty() && CrossExampleOps(graph, axes).is_cross_example_op(n);
}

bool names_batch(const Graph& graph, const BatchAxes& axes, Endpoint given, Endpoint of) {
  return CrossExampleOps(graph, axes).names(given, of);
}

}  // namespace argosy
