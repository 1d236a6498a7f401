#include "argosy/strategy/sharding/cross_example_stats.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "argosy/strategy/analysis/dataflow_loops.h"
#include "argosy/strategy/analysis/mean_gradients.h"
#include "argosy/strategy/analysis/reachability.h"
#include "argosy/strategy/analysis/variable_nodes.h"
#include "argosy/strategy/sharding/batch_placement.h"
#include "argosy/strategy/sharding/cross_example_check.h"
#include "argosy/strategy/sharding/device_varying.h"
#include "argosy/strategy/sharding/recompute.h"

namespace argosy {

namespace {

std::vector<Endpoint> values_of(const std::vector<CollectivePoint>& collectives) {
  std::vector<Endpoint> values;
  for (const CollectivePoint& c : collectives) values.push_back(c.value);
  return values;
}

Status refuse(const Node& n, std::string_view beside) {
  return unimplemented("'", n.name, "' (", n.op->name, ") is made of several examples, and ", beside,
                       " are computed with it")
      .with_id("ARG-DP-007")
      .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
      .with_hint("train on one device: shards of the batch know only themselves");
}

bool takes_rows(const Graph& graph, const BatchAxes& axes, NodeId id) {
  const auto& inputs = graph.node(id).inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](Endpoint e) { return axes.axis(e) != BatchAxes::kNone; });
}

bool takes_rows_first(const Graph& graph, const BatchAxes& axes, NodeId id) {
  const auto& inputs = graph.node(id).inputs;
  return !inputs.empty() && axes.axis(inputs[0]) != BatchAxes::kNone;
}

// The same every time, wherever it is computed.
bool is_a_function(const Node& n) { return n.op->calls == Calls::kNothing && (!n.op->stateful || may_be_repeated(n)); }

// Where rows end on the way to numbers.
class Reductions {
 public:
  Reductions(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& losses,
             const std::vector<CollectivePoint>& before)
      : graph_(graph),
        axes_(axes),
        losses_(losses),
        before_(values_of(before)),
        varies_(graph, axes, before_),
        uses_(graph.consumers()) {}

  // Of every number that can be had; `through_trained`: also of those that are trained through.
  Result<std::vector<CollectivePoint>> find(bool through_trained) {
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph_.topological_order());
    trained_ = on_gradient_paths(graph_, order, losses_);
    divisions_ = divisions_of_means(graph_);
    depths_ = loop_depths(graph_, order);
    through_trained_ = through_trained;
    ARGOSY_ASSIGN_OR_RETURN(const auto operands, cross_example_operands(graph_, axes_, losses_, before_));
    std::vector<CollectivePoint> collectives;
    for (const CrossExampleOperand& operand : operands) {
      std::vector<CollectivePoint> found;
      std::set<Endpoint> seen;
      if (!collect(operand.value, seen, found)) {
        left.push_back(operand.value);
        continue;
      }
      std::copy_if(found.begin(), found.end(), std::back_inserter(collectives),
                   [&](const CollectivePoint& c) { return !is_among(collectives, c.value); });
    }
    return collectives;
  }

  std::vector<Endpoint> left;  // numbers that cannot be had

 private:
  bool collect(Endpoint e, std::set<Endpoint>& seen, std::vector<CollectivePoint>& found) {
    if (e.index < 0 || !varies_(e) || !seen.insert(e).second) return true;
    const Node& n = graph_.node(e.node);
    if (axes_.scales_with_batch(e)) {
      if (!is_number_to_all(e)) return false;
      found.push_back({.value = e, .kind = PlacementKind::kPartialSum});
      return true;
    }
    if (reads_shape_only(*n.op)) return true;  // as every example has them
    if (!is_a_function(n)) return false;
    if (!takes_rows(graph_, axes_, e.node)) {
      return std::all_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint from) { return collect(from, seen, found); });
    }
    const BatchPlacement c = batch_placement_of(graph_, axes_, e, before_);
    if ((c.kind != PlacementKind::kPartialSum && c.kind != PlacementKind::kPartialMean) || !c.once.empty() ||
        depths_[e.node.index] > 0)
      return false;
    if (trained_[e.node.index] && !may_be_trained(e.node, c.kind)) return false;
    found.push_back({.value = e, .kind = c.kind});
    return true;
  }

  // Nobody makes it a shape, a range, a bound of a slice: shards have fewer rows than there are.
  bool is_number_to_all(Endpoint count) const {
    std::set<Endpoint> seen{count};
    for (std::vector<Endpoint> open{count}; !open.empty();) {
      const Endpoint e = open.back();
      open.pop_back();
      for (const Graph::Use& use : uses_[e.node.index]) {
        const Node& taker = graph_.node(use.node);
        if (use.input < 0 || taker.inputs[static_cast<std::size_t>(use.input)] != e) continue;
        if (!taker.op->elementwise && taker.op->flow == Flow::kNone) return false;
        for (std::int32_t k = 0; k < std::ssize(taker.output_dtypes); ++k) {
          if (is_integer(taker.output_dtypes[static_cast<std::size_t>(k)]) && seen.insert({use.node, k}).second) {
            open.push_back({use.node, k});
          }
        }
      }
    }
    return true;
  }

  // Where a mean's gradient divides by how many there are must be known.
  bool may_be_trained(NodeId reduction, PlacementKind kind) const {
    return through_trained_ && (kind == PlacementKind::kPartialSum || divisions_.contains(reduction));
  }

  const Graph& graph_;
  const BatchAxes& axes_;
  const std::vector<NodeId>& losses_;
  const std::vector<Endpoint> before_;
  Varying varies_;
  const Graph::Uses uses_;
  bool through_trained_ = false;
  std::vector<char> trained_;  // by node
  std::map<NodeId, std::vector<NodeId>> divisions_;
  std::vector<int> depths_;  // of loops, by node
};

// Gives nodes the global batch's in place of what a shard has of a number's gradient.
class GradientSums {
 public:
  GradientSums(Graph& graph, const BatchAxes& axes, std::vector<CollectivePoint>& collectives)
      : graph_(graph),
        axes_(axes),
        before_(values_of(collectives)),
        varies_(graph, axes, before_),
        copies_(graph, collectives),
        size_(graph.size()) {}

  Status give(NodeId taker, int input) {
    const Endpoint number = graph_.node(taker).inputs[static_cast<std::size_t>(input)];
    ARGOSY_ASSIGN_OR_RETURN(const bool made, make_global(number));
    if (!made) return refuse(graph_.node(number.node), "gradients of rows");
    if (copies_.has(number)) graph_.set_input(taker, input, copies_.of(number));
    return ok_status();
  }

 private:
  Result<bool> make_global(Endpoint e) {
    if (e.index < 0 || e.node.index >= size_ || !varies_(e) || copies_.has(e)) return true;
    const Node& n = graph_.node(e.node);
    if (is_part_of_all(e)) return marked(e, PlacementKind::kPartialSum);
    if (takes_rows(graph_, axes_, e.node)) {
      // A gradient that is written as a mean over the batch is one of the global batch.
      const PlacementKind kind = batch_placement_of(graph_, axes_, e, before_).kind;
      if (kind != PlacementKind::kPartialSum && kind != PlacementKind::kPartialMean) return false;
      return marked(e, kind);
    }
    if (!is_a_function(n) || n.op->flow != Flow::kNone || is_part(graph_, n)) return false;
    const std::vector<Endpoint> data = data_inputs(n);
    for (const Endpoint from : std::vector<Endpoint>(n.inputs)) {
      // Shapes, axes and indices are the same in every shard.
      const bool is_data = std::find(data.begin(), data.end(), from) != data.end();
      if (!is_data && is_integer(graph_.dtype(from))) continue;
      ARGOSY_ASSIGN_OR_RETURN(const bool made, make_global(from));
      if (!made) return false;
    }
    ARGOSY_RETURN_IF_ERROR(copies_.recompute(e.node));
    return true;
  }

  Result<bool> marked(Endpoint e, PlacementKind kind) {
    ARGOSY_RETURN_IF_ERROR(copies_.add_collective(e, kind));
    return true;
  }

  // Differs from shard to shard as the shard's part of the batch does, and in nothing else: the seed of a mean.
  bool is_part_of_all(Endpoint e) {
    const Node& n = graph_.node(e.node);
    if (is_part(graph_, n)) return !varies_(n.inputs[0]);
    if (n.op->linear == Linear::kNo || e.index != 0 || takes_rows(graph_, axes_, e.node)) return false;
    const std::vector<Endpoint> data = data_inputs(n);
    const auto varying = std::count_if(data.begin(), data.end(), std::ref(varies_));
    return (varying == 1 || (varying > 1 && n.op->linear == Linear::kJointly)) &&
           (n.op->linear != Linear::kFirst || varies_(data[0])) &&
           std::all_of(data.begin(), data.end(), [&](Endpoint from) {
             return varies_(from) ? is_part_of_all(from) : n.op->linear != Linear::kJointly;
           });
  }

  Graph& graph_;
  const BatchAxes& axes_;
  const std::vector<Endpoint> before_;
  Varying varies_;
  GlobalRecompute copies_;
  const std::int32_t size_;  // of the graph that the axes are of
};

}  // namespace

Status add_untrained_stats(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& losses,
                           std::vector<CollectivePoint>& collectives) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<CollectivePoint> found,
                          Reductions(graph, axes, losses, collectives).find(false));
  collectives.insert(collectives.end(), found.begin(), found.end());
  return ok_status();
}

Result<std::vector<CollectivePoint>> find_trained_stats(const Graph& graph, const BatchAxes& axes,
                                                        const std::vector<NodeId>& losses,
                                                        const std::vector<CollectivePoint>& collectives,
                                                        bool statistics) {
  ARGOSY_ASSIGN_OR_RETURN(const auto operands, cross_example_operands(graph, axes, losses, values_of(collectives)));
  const auto is_error = [](const CrossExampleOperand& operand) { return !operand.statistic; };
  if (!statistics && std::none_of(operands.begin(), operands.end(), is_error)) return std::vector<CollectivePoint>();
  Reductions reductions(graph, axes, losses, collectives);
  ARGOSY_ASSIGN_OR_RETURN(std::vector<CollectivePoint> found, reductions.find(true));
  if (!reductions.left.empty() && statistics) return refuse(graph.node(reductions.left[0].node), "rows");
  if (!reductions.left.empty()) found.clear();
  return found;
}

Status sum_gradients_of_means(Graph& graph, const BatchAxes& axes, const StatGradients& of,
                              std::vector<CollectivePoint>& collectives) {
  const std::vector<char> gradient = descendants(graph, of.seeds);
  const std::vector<CollectivePoint> stats = collectives;
  GradientSums sums(graph, axes, collectives);
  for (const auto& [mean, divisions] : divisions_of_means(graph)) {
    if (!is_among(stats, {mean, 0})) continue;
    for (const NodeId division : divisions) {
      if (!gradient[division.index]) continue;
      // Where it is spread over the rows that the mean was made of: there, or before.
      NodeId taker = division;
      while (takes_rows_first(graph, axes, taker)) taker = graph.node(taker).inputs[0].node;
      ARGOSY_RETURN_IF_ERROR(sums.give(taker, 0));
    }
  }
  return ok_status();
}

Status sum_gradients_of_stats(Graph& graph, const BatchAxes& axes, const StatGradients& of,
                              std::vector<CollectivePoint>& collectives) {
  ARGOSY_ASSIGN_OR_RETURN(const auto found,
                          cross_example_gradient_operands(graph, axes, of.train, of.seeds, values_of(collectives)));
  GradientSums sums(graph, axes, collectives);
  for (const CrossExampleOperand& operand : found) ARGOSY_RETURN_IF_ERROR(sums.give(operand.taker, operand.input));
  return ok_status();
}

}  // namespace argosy
