#include "argosy/strategy/sharding/cross_example_check.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "argosy/strategy/analysis/reachability.h"
#include "argosy/strategy/analysis/tensor_arrays.h"
#include "argosy/strategy/sharding/batch_dim_ops.h"
#include "argosy/strategy/sharding/batch_placement.h"
#include "argosy/strategy/sharding/batch_positions.h"
#include "argosy/strategy/sharding/device_varying.h"

namespace argosy {

namespace {

// The kind of a device-varying value without rows.
enum class MadeOf : char {
  kOfShared,      // random candidates, drawn independently of the true classes
  kOfSizes,       // shapes: no numbers of the batch, as far as is known
  kOfExamples,    // made of several examples, or of their count
  kOfStatistics,  // of means and variances for normalisation
};

constexpr const char* kNoRule = "is an op of which it is not known that it treats the examples of a batch apart";

Status refuse(const Node& n, std::string_view why) {
  return unimplemented("'", n.name, "' (", n.op->name, ") ", why)
      .with_id("ARG-DP-007")
      .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
      .with_hint("train on one device: shards of the batch know only themselves");
}

class CrossExampleChecker {
 public:
  CrossExampleChecker(const Graph& graph, const BatchAxes& axes, std::span<const Endpoint> global)
      : graph_(graph),
        axes_(axes),
        uses_(graph.consumers()),
        varies_(graph, axes, global),
        takes_part_(graph.size(), 1),
        made_of_(graph.size(), MadeOf::kOfShared),
        positions_(graph, axes, varies_) {}

  Result<bool> check(const std::vector<NodeId>& losses) {
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph_.topological_order());
    takes_part_ = ancestors(graph_, losses, false);
    bool has_means = false;
    find_statistics();
    for (const NodeId id : order) {
      if (!takes_part_[id.index] || !axes_.depends(id)) continue;
      const Node& n = graph_.node(id);
      record(n, id);
      has_means = has_means || (statistics_.contains(id.index) && !has_rows({id, 0}) && varies({id, 0}));
      if (const auto why = why_cross_example(n, id)) return refuse(n, *why);
    }
    return has_means;
  }

  // The same for gradients. The count by which a mean's gradient divides does not count: the shard's count belongs to
  // the shard's weight in the numerator.
  Result<std::vector<CrossExampleOperand>> gradient_operands(const std::vector<NodeId>& train,
                                                             const std::vector<char>& gradient) {
    counts_are_sizes_ = true;
    ARGOSY_ASSIGN_OR_RETURN(auto found, operands_before(ancestors(graph_, train, true)));
    std::erase_if(found, [&](const CrossExampleOperand& operand) { return gradient[operand.value.node.index] == 0; });
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (!takes_part_[i] || !axes_.depends(NodeId{i}) || !gradient[i] || !may_be_rows(n, NodeId{i})) continue;
      return refuse(n, "is made of a number of several examples, and of a size that nobody can tell: it may be rows");
    }
    return found;
  }

  Result<std::vector<CrossExampleOperand>> operands(const std::vector<NodeId>& losses) {
    return operands_before(ancestors(graph_, losses, false));
  }

  Result<std::vector<char>> find_cross_gradients(const std::vector<NodeId>& seeds) {
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph_.topological_order());
    const std::vector<char> gradients = descendants(graph_, seeds);
    std::vector<char> cross_example(graph_.size(), 0);
    for (const NodeId id : order) {
      const Node& n = graph_.node(id);
      if (!gradients[id.index] || !axes_.depends(id) || n.output_dtypes.empty()) continue;
      const auto brings = [&](Endpoint e) { return cross_example[e.node.index] && varies(e); };
      cross_example[id.index] = why_rows_mix(n).has_value() || std::any_of(n.inputs.begin(), n.inputs.end(), brings);
    }
    return cross_example;
  }

  Result<std::vector<char>> find_cross_example(const std::vector<NodeId>& losses, const std::vector<NodeId>& seeds) {
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph_.topological_order());
    const std::vector<char> gradients = descendants(graph_, seeds);
    std::transform(gradients.begin(), gradients.end(), takes_part_.begin(), [](char after) { return after == 0; });
    std::vector<char> cross_example(graph_.size(), 0);
    find_statistics();
    const std::vector<char> before_losses = ancestors(graph_, losses, false);
    std::erase_if(statistics_, [&](std::int32_t id) { return before_losses[static_cast<std::size_t>(id)] == 0; });
    for (const NodeId id : order) {
      const Node& n = graph_.node(id);
      if (!axes_.depends(id) || n.output_dtypes.empty()) continue;
      const auto brings = [&](Endpoint e) { return cross_example[e.node.index] && varies(e); };
      if (takes_part_[id.index]) record(n, id);
      const bool is_cross_here =
          takes_part_[id.index] ? why_cross_example(n, id).has_value() : why_rows_mix(n).has_value();
      cross_example[id.index] = is_cross_here || std::any_of(n.inputs.begin(), n.inputs.end(), brings);
    }
    return cross_example;
  }

 private:
  Result<std::vector<CrossExampleOperand>> operands_before(std::vector<char> takes_part) {
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph_.topological_order());
    takes_part_ = std::move(takes_part);
    std::vector<CrossExampleOperand> found;
    find_statistics();
    for (const NodeId id : order) {
      if (!takes_part_[id.index] || !axes_.depends(id)) continue;
      record(graph_.node(id), id);
      const std::vector<CrossExampleOperand> met = operands_of(id);
      found.insert(found.end(), met.begin(), met.end());
    }
    return found;
  }

  // (Candidates and how often each is expected are drawn whatever the true classes are.)
  bool varies(Endpoint e) {
    return e.index >= 0 && varies_(e) && (e.index == 1 || !graph_.node(e.node).op->name.ends_with("CandidateSampler"));
  }
  bool has_rows(Endpoint e) const { return axes_.axis(e) >= 0; }
  bool is_number(Endpoint e) const {
    return axes_.axis(e) == BatchAxes::kNone && (is_floating(graph_.dtype(e)) || is_complex(graph_.dtype(e)));
  }

  // tf.nn.moments: means, and means of the squares of what differs from them, which pass no gradient on to them.
  void find_statistics() {
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& stop = graph_.node(NodeId{i});
      if (stop.op->name != "StopGradient") continue;
      const NodeId mean = stop.inputs[0].node;
      if (graph_.node(mean).op->name != "Mean") continue;
      for (const Graph::Use& use : uses_[i]) {
        const Node& square = graph_.node(use.node);
        if (use.input < 0 || square.op->name != "SquaredDifference") continue;
        if (square.inputs[static_cast<std::size_t>(1 - use.input)] != graph_.node(mean).inputs[0]) continue;
        statistics_.insert(mean.index);
        for (const Graph::Use& next : uses_[use.node.index]) {
          if (next.input == 0 && graph_.node(next.node).op->name == "Mean") statistics_.insert(next.node.index);
        }
      }
    }
  }

  void record(const Node& n, NodeId id) {
    made_of_[id.index] = classify(n, id);
    positions_.record(n, id);
  }

  MadeOf classify(const Node& n, NodeId id) {
    if (statistics_.contains(id.index) || rule_of(*n.op) == BatchRule::kStatistics) return MadeOf::kOfStatistics;
    if (n.op->name == "_ShardWeight") return MadeOf::kOfSizes;  // a shard's part of whatever it is multiplied with
    if (axes_.scales_with_batch({id, 0})) return counts_are_sizes_ ? MadeOf::kOfSizes : MadeOf::kOfExamples;
    if (reads_shape_only(*n.op)) return MadeOf::kOfSizes;
    if (is_slice_of_others(n, id)) return MadeOf::kOfSizes;
    MadeOf made = MadeOf::kOfShared;
    bool of_sizes = false;
    for (const Endpoint e : n.inputs) {
      // All shards iterate a loop equally often (dataflow_loops.h).
      const bool turns = n.op->flow == Flow::kSwitch && graph_.node(e.node).op->flow == Flow::kLoopCond;
      if (turns || !varies(e)) continue;
      const MadeOf of = axes_.axis(e) != BatchAxes::kNone ? MadeOf::kOfExamples : made_of_[e.node.index];
      if (of == MadeOf::kOfExamples) return of;
      made = of == MadeOf::kOfShared || made == MadeOf::kOfStatistics ? made : of;
      of_sizes = of_sizes || (of == MadeOf::kOfSizes && is_integer(graph_.dtype(e)));
    }
    // Sizes that differ from shard to shard, as numbers and no longer as shapes.
    const bool is_number = !n.output_dtypes.empty() && !is_integer(n.output_dtypes[0]) && n.op->elementwise;
    return of_sizes && is_number && !counts_are_sizes_ ? MadeOf::kOfExamples : made;
  }

  std::optional<std::string> why_rows_mix(const Node& n) {
    const auto is_shard_local = [&](Endpoint e) { return varies(e); };
    if (has_no_rule(graph_, n) && std::any_of(n.inputs.begin(), n.inputs.end(), is_shard_local)) return kNoRule;
    if (is_cross_example_op(graph_, axes_, n)) return "works along the examples of a batch";
    return std::nullopt;
  }

  std::optional<std::string> why_cross_example(const Node& n, NodeId id) {
    const auto counted = std::find_if(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) { return counts_equal(e); });
    if (counted != n.inputs.end()) {
      return str_cat("takes how often '", graph_.node(counted->node).name, "' met each in the batch");
    }
    if (auto why = why_rows_mix(n)) return why;
    if (auto why = positions_.misuse(n, id)) return why;
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
      const Endpoint out{id, k};
      const bool apart = !has_rows(out) || is_uneven(out) || axes_.repeats(out) != 0 || has_own_rows(n, id);
      if (!is_of_rows(out)) continue;
      if (is_uneven(out) && !is_sliced_apart(id)) return "has not as many rows for every example of a batch";
      if (!apart) return "has rows of which it cannot be told whose they are";
    }
    for (const CrossExampleOperand& operand : operands_of(id)) {
      if (operand.statistic) continue;
      if (n.op->flow == Flow::kSwitch) {
        return str_cat("branches on '", graph_.node(operand.value.node).name, "', which is made of several examples");
      }
      return str_cat("computes rows of examples with '", graph_.node(operand.value.node).name,
                     "', which is made of several");
    }
    return std::nullopt;
  }

  bool is_uneven(Endpoint e) const { return has_rows(e) && axes_.rows_per_example(e) == 0; }

  // Rows of the examples, followed by other rows, each looked up for itself and used separately: labels and candidates,
  // as nce_loss gathers them.
  bool is_sliced_apart(NodeId id) const {
    if (rows_before_others(id) == 0) return false;
    return std::all_of(uses_[id.index].begin(), uses_[id.index].end(), [&](const Graph::Use& use) {
      const Node& taker = graph_.node(use.node);
      const bool takes = use.input >= 0 && takes_part_[use.node.index] && !reads_shape_only(*taker.op);
      return !takes || rows_before_others(use.node) > 0 || is_slice_of_examples(taker, use.node) ||
             is_slice_of_others(taker, use.node);
    });
  }

  // Number of such rows per example; 0: none.
  std::int64_t rows_before_others(NodeId id) const {
    const Node& n = graph_.node(id);
    if (n.op->name == "ConcatV2" && axes_.axis({id, 0}) == 0 && axes_.axis(n.inputs[0]) == 0 &&
        std::none_of(n.inputs.begin() + 1, n.inputs.end(), [&](Endpoint e) { return has_rows(e); })) {
      return axes_.rows_per_example(n.inputs[0]);
    }
    const bool looks_up = rule_of(*n.op) == BatchRule::kGather && !axes_.depends(n.inputs[0].node);
    if (!looks_up && n.op->name != "Identity" && n.op->name != "Cast") return 0;
    const Endpoint from = n.inputs[looks_up ? 1 : 0];
    return is_uneven(from) ? rows_before_others(from.node) : 0;
  }

  // Slices of such rows: from the first on, as many as the examples have; from the first of the others on.
  bool is_slice_of_examples(const Node& n, NodeId id) const {
    if (n.op->name != "Slice" || axes_.axis({id, 0}) != 0) return false;
    const PartialInts* const begin = graph_.known_ints(n.inputs[1]);
    const std::int64_t rows = rows_before_others(n.inputs[0].node);
    return rows > 0 && axes_.rows_per_example({id, 0}) == rows && begin != nullptr && !begin->empty() &&
           (*begin)[0] == 0;
  }
  bool is_slice_of_others(const Node& n, NodeId id) const {
    if (n.op->name != "Slice" || axes_.axis({id, 0}) != BatchAxes::kNone || !is_uneven(n.inputs[0])) return false;
    const Node& begin = graph_.node(n.inputs[1].node);
    const bool behind =
        axes_.scales_with_batch(n.inputs[1]) || (begin.op->name == "Pack" && axes_.scales_with_batch(begin.inputs[0]));
    return behind && rows_before_others(n.inputs[0].node) > 0;
  }

  // A case that BatchAxes cannot decide: the first part of such rows, and values made of it row by row.
  bool has_own_rows(const Node& n, NodeId id) {
    const auto is_own = [&](Endpoint e) {
      return !has_rows(e) || axes_.repeats(e) == 1 || own_rows_.contains(e.node.index);
    };
    const auto has_as_many = [&](Endpoint e) {
      return !has_rows(e) || axes_.rows_per_example(e) == axes_.rows_per_example({id, 0});
    };
    const bool own = is_slice_of_examples(n, id) || (std::all_of(n.inputs.begin(), n.inputs.end(), is_own) &&
                                                     std::all_of(n.inputs.begin(), n.inputs.end(), has_as_many) &&
                                                     std::any_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) {
                                                       return has_rows(e) && own_rows_.contains(e.node.index);
                                                     }));
    if (own) own_rows_.insert(id.index);
    return own;
  }

  bool is_of_rows(Endpoint e) { return is_floating(graph_.dtype(e)) && has_rows(e) && varies(e); }

  // The inputs of this node that are made of several examples and that rows are computed with.
  std::vector<CrossExampleOperand> operands_of(NodeId id) {
    const Node& n = graph_.node(id);
    std::vector<CrossExampleOperand> found;
    bool rows = false;
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
      const Endpoint out{id, k};
      rows = rows || (may_have_rows(out) && varies(out));
    }
    const std::vector<Endpoint> data = data_inputs(n);
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      const Endpoint e = n.inputs[k];
      if (e.index < 0 || axes_.axis(e) != BatchAxes::kNone || !varies(e)) continue;
      if (!(rows && meets(n, e, data)) && !decides(n, k)) continue;
      // The mean that a variance is taken about is the one that rows are normalised with, which may be trained through.
      const Node& stop = graph_.node(e.node);
      const bool of_moments = stop.op->name == "StopGradient" && statistics_.contains(stop.inputs[0].node.index);
      const Endpoint value = of_moments ? stop.inputs[0] : e;
      found.push_back({.value = value,
                       .statistic = made_of_[value.node.index] == MadeOf::kOfStatistics,
                       .taker = id,
                       .input = static_cast<int>(k)});
    }
    return found;
  }

  // True if the output rows are computed with this value: it is no shape, axis or number of rows.
  bool meets(const Node& n, Endpoint e, const std::vector<Endpoint>& data) const {
    const DType dtype = graph_.dtype(e);
    const bool number = is_floating(dtype) || is_complex(dtype);
    const MadeOf made = made_of_[e.node.index];
    if (number) return made > MadeOf::kOfSizes && !is_tensor_array_op(n);
    if (made == MadeOf::kOfShared) return false;
    if (counts_are_sizes_ || (!is_integer(dtype) && dtype != DType::kBool)) return false;
    if (dtype == DType::kBool && made == MadeOf::kOfSizes) return false;
    const bool chooses = dtype == DType::kBool && n.op->name == "Select";
    const bool is_data = n.op->linear == Linear::kJointly && std::find(data.begin(), data.end(), e) != data.end();
    const bool is_taken = rule_of(*n.op) == BatchRule::kGather && e == n.inputs[0];
    return chooses || n.op->elementwise || is_data || is_taken;
  }

  // True for the predicate of a conditional; false for that of a loop (dataflow_loops.h).
  bool decides(const Node& n, std::size_t input) const {
    if (n.op->flow != Flow::kSwitch || input != 1) return false;
    const NodeId by = n.inputs[1].node;
    return graph_.node(by).op->flow != Flow::kLoopCond && made_of_[by.index] > MadeOf::kOfSizes;
  }

  bool may_have_rows(Endpoint e) const {
    return has_rows(e) || (axes_.axis(e) == BatchAxes::kUnknown && is_floating(graph_.dtype(e)));
  }

  // It cannot be decided whether the rows over which the number is spread are the examples.
  bool may_be_rows(const Node& n, NodeId id) {
    const auto is_made_of = [&](Endpoint e) {
      return e.index >= 0 && is_number(e) && made_of_[e.node.index] == MadeOf::kOfExamples && varies(e);
    };
    return !n.output_dtypes.empty() && is_floating(n.output_dtypes[0]) && axes_.axis({id, 0}) == BatchAxes::kUnknown &&
           std::any_of(n.inputs.begin(), n.inputs.end(), is_made_of);
  }

  // How many equal ones there are of each.
  bool counts_equal(Endpoint e) const {
    return e.index == 2 && graph_.node(e.node).op->name.starts_with("UniqueWithCounts");
  }

  const Graph& graph_;
  const BatchAxes& axes_;
  const Graph::Uses uses_;
  Varying varies_;
  bool counts_are_sizes_ = false;
  std::vector<char> takes_part_;  // by node: asked about
  std::vector<MadeOf> made_of_;   // by node
  BatchPositions positions_;
  std::unordered_set<std::int32_t> statistics_;  // nodes
  std::unordered_set<std::int32_t> own_rows_;    // nodes, see has_own_rows()
};

}  // namespace

Status check_one_batch_axis(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& roots) {
  const std::vector<char> used = ancestors(graph, roots, true);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    for (std::int32_t k = 0; used[i] && k < std::ssize(n.output_dtypes); ++k) {
      if (axes.axis({NodeId{i}, k}) != BatchAxes::kSeveral) continue;
      return refuse(n, "pairs every sample of the batch with every other");
    }
  }
  return ok_status();
}

Status check_rules(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& to,
                   const std::vector<NodeId>& seeds) {
  const std::vector<char> used = ancestors(graph, to, true);
  const std::vector<char> behind =
      seeds.empty() ? std::vector<char>(static_cast<std::size_t>(graph.size()), 1) : descendants(graph, seeds);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    if (!used[i] || !behind[i] || !axes.depends(NodeId{i}) || n.output_dtypes.empty() || !has_no_rule(graph, n))
      continue;
    const auto is_row = [&](Endpoint e) { return axes.depends(e.node) && axes.axis(e) != BatchAxes::kNone; };
    if (std::any_of(n.inputs.begin(), n.inputs.end(), is_row)) return refuse(n, kNoRule);
  }
  return ok_status();
}

Result<bool> check_no_cross_example_ops(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& losses,
                                        std::span<const Endpoint> global) {
  return CrossExampleChecker(graph, axes, global).check(losses);
}

Result<std::vector<CrossExampleOperand>> cross_example_operands(const Graph& graph, const BatchAxes& axes,
                                                                const std::vector<NodeId>& losses,
                                                                std::span<const Endpoint> global) {
  return CrossExampleChecker(graph, axes, global).operands(losses);
}

Result<std::vector<CrossExampleOperand>> cross_example_gradient_operands(const Graph& graph, const BatchAxes& axes,
                                                                         const std::vector<NodeId>& train,
                                                                         const std::vector<NodeId>& seeds,
                                                                         std::span<const Endpoint> global) {
  return CrossExampleChecker(graph, axes, global).gradient_operands(train, descendants(graph, seeds));
}

Result<std::vector<char>> find_cross_example_nodes(const Graph& graph, const BatchAxes& axes,
                                                   const std::vector<NodeId>& losses, const std::vector<NodeId>& seeds,
                                                   std::span<const Endpoint> global) {
  return CrossExampleChecker(graph, axes, global).find_cross_example(losses, seeds);
}

Result<std::vector<char>> find_cross_example_gradients(const Graph& graph, const BatchAxes& axes,
                                                       const std::vector<NodeId>& seeds,
                                                       std::span<const Endpoint> global) {
  return CrossExampleChecker(graph, axes, global).find_cross_gradients(seeds);
}

}  // namespace argosy
