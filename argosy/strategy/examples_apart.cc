#include "argosy/strategy/examples_apart.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "argosy/strategy/along_examples.h"
#include "argosy/strategy/ancestors.h"
#include "argosy/strategy/containers.h"
#include "argosy/strategy/varying.h"

namespace argosy {

namespace {

// What a value without rows that differs from shard to shard is made of.
enum class Made : char {
  kOfSizes,       // of shapes, as far as it can be told: not of numbers in the batch
  kOfExamples,    // of several examples, or of how many there are
  kOfStatistics,  // of means and variances for normalisation
};

// What integers say of where examples lie in the batch. A share counts its own from 0: good for taking rows of its own.
enum class Places : char {
  kNone,
  kCount,  // a number computed from how many there are
  kRows,   // each of an example of the share
};

// They take rows of their first input by the numbers in their second.
constexpr std::array<std::string_view, 6> kTakers = {"Gather",           "GatherV2",          "GatherNd",
                                                     "SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"};
constexpr std::array<std::string_view, 3> kLookUps = {"Gather", "GatherV2", "ResourceGather"};
constexpr std::array<std::string_view, 3> kNewShapes = {"Reshape", "ExpandDims", "Squeeze"};

bool is_among(std::span<const std::string_view> ops, const Node& n) {
  return std::find(ops.begin(), ops.end(), n.op->name) != ops.end();
}

Status refuse(const Node& n, std::string_view why) {
  return unimplemented("'", n.name, "' (", n.op->name, ") ", why)
      .with_id("ARG-DP-007")
      .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
      .with_next("train on one device: shares of the batch know only themselves");
}

class Checker {
 public:
  Checker(const Graph& graph, const BatchAxes& axes, std::span<const Endpoint> whole)
      : graph_(graph),
        axes_(axes),
        uses_(graph.consumers()),
        varies_(graph, axes, whole),
        takes_part_(graph.size(), 1),
        made_(graph.size(), Made::kOfSizes),
        places_(graph.size(), Places::kNone) {}

  Result<bool> check(const std::vector<NodeId>& losses) {
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph_.topological_order());
    takes_part_ = ancestors(graph_, losses, false);
    bool has_means = false;
    find_statistics();
    for (const NodeId id : order) {
      if (!takes_part_[id.index] || !axes_.depends(id)) continue;
      const Node& n = graph_.node(id);
      look_at(n, id);
      has_means = has_means || (statistics_.contains(id.index) && !has_rows({id, 0}) && varies({id, 0}));
      if (const auto why = mixes(n, id)) return refuse(n, *why);
    }
    return has_means;
  }

  // The same among gradients. What a mean's gradient divides by is no number of examples there: a share's own goes with
  // the share's part of what is divided.
  Result<std::vector<NumberBesideRows>> numbers_among(const std::vector<NodeId>& train,
                                                      const std::vector<char>& gradient) {
    counts_are_sizes_ = true;
    ARGOSY_ASSIGN_OR_RETURN(auto found, numbers_before(ancestors(graph_, train, true)));
    std::erase_if(found, [&](const NumberBesideRows& number) { return gradient[number.value.node.index] == 0; });
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (!takes_part_[i] || !axes_.depends(NodeId{i}) || !gradient[i] || !may_be_rows(n, NodeId{i})) continue;
      return refuse(n, "is made of a number of several examples, and of a size that nobody can tell: it may be rows");
    }
    return found;
  }

  Result<std::vector<NumberBesideRows>> numbers(const std::vector<NodeId>& losses) {
    return numbers_before(ancestors(graph_, losses, false));
  }

  Result<std::vector<char>> find_all(const std::vector<NodeId>& losses, const std::vector<NodeId>& seeds) {
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph_.topological_order());
    const std::vector<char> gradients = descendants(graph_, seeds);
    std::transform(gradients.begin(), gradients.end(), takes_part_.begin(), [](char after) { return after == 0; });
    std::vector<char> mixed(graph_.size(), 0);
    find_statistics();
    const std::vector<char> before_losses = ancestors(graph_, losses, false);
    std::erase_if(statistics_, [&](std::int32_t id) { return before_losses[static_cast<std::size_t>(id)] == 0; });
    for (const NodeId id : order) {
      const Node& n = graph_.node(id);
      if (!takes_part_[id.index] || !axes_.depends(id) || n.output_dtypes.empty()) continue;
      look_at(n, id);
      const auto brings = [&](Endpoint e) { return mixed[e.node.index] && varies(e); };
      mixed[id.index] = std::any_of(n.inputs.begin(), n.inputs.end(), brings) || mixes(n, id).has_value();
    }
    return mixed;
  }

 private:
  Result<std::vector<NumberBesideRows>> numbers_before(std::vector<char> takes_part) {
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph_.topological_order());
    takes_part_ = std::move(takes_part);
    std::vector<NumberBesideRows> found;
    find_statistics();
    for (const NodeId id : order) {
      if (!takes_part_[id.index] || !axes_.depends(id)) continue;
      look_at(graph_.node(id), id);
      const std::vector<NumberBesideRows> met = numbers_met(id);
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

  void look_at(const Node& n, NodeId id) {
    made_[id.index] = find_out(n, id);
    places_[id.index] = find_places(n, id);
  }

  Places find_places(const Node& n, NodeId id) const {
    if (n.output_dtypes.empty()) return Places::kNone;
    if (n.op->name == "Where" || (n.op->name == "Range" && has_rows({id, 0}))) return Places::kRows;
    Places most = Places::kNone;
    for (const Endpoint e : n.inputs) {
      if (e.index >= 0) most = std::max(most, places_[e.node.index]);
    }
    if (most == Places::kRows && is_integer(graph_.dtype({id, 0})) && axes_.axis({id, 0}) != BatchAxes::kNone)
      return most;
    if (most == Places::kCount && (n.op->elementwise || is_among(kNewShapes, n))) return most;
    return axes_.counts_samples({id, 0}) ? Places::kCount : Places::kNone;
  }

  // Rows taken or put by numbers that do not count the share's own examples: of another example, for all that is known.
  std::optional<std::string> uses_places(const Node& n) const {
    const auto has = [&](Places places) {
      return std::any_of(n.inputs.begin(), n.inputs.end(),
                         [&](Endpoint e) { return e.index >= 0 && places_[e.node.index] == places; });
    };
    if (n.op->elementwise && has(Places::kRows) && (!is_integer(n.output_dtypes[0]) || has(Places::kCount))) {
      return "depends on where in the batch an example lies";
    }
    if (is_among(kTakers, n) && takes_along_batch(n) && places_[n.inputs[1].node.index] != Places::kRows) {
      return str_cat("takes rows of the batch by '", graph_.node(n.inputs[1].node).name,
                     "', which may be other examples'");
    }
    return std::nullopt;
  }

  bool takes_along_batch(const Node& n) const {
    const Endpoint from = n.inputs[0];
    if (!has_rows(from)) return false;
    if (n.op->name == "GatherV2") return names_batch(graph_, axes_, n.inputs[2], from);
    if (n.op->name != "GatherNd") return axes_.axis(from) == 0;
    const PartialShape& by = graph_.shape(n.inputs[1]);
    return !by.has_rank() || by.rank() == 0 || by[by.rank() - 1] < 0 || axes_.axis(from) < by[by.rank() - 1];
  }

  Made find_out(const Node& n, NodeId id) {
    if (statistics_.contains(id.index) || n.op->name.starts_with("FusedBatchNorm")) return Made::kOfStatistics;
    if (n.op->name == "_BatchFactor") return Made::kOfSizes;  // a share's part of whatever it is multiplied with
    if (axes_.counts_samples({id, 0})) return counts_are_sizes_ ? Made::kOfSizes : Made::kOfExamples;
    if (looks_at_shapes(*n.op)) return Made::kOfSizes;
    if (is_rest(n, id)) return Made::kOfSizes;
    Made made = Made::kOfSizes;
    for (const Endpoint e : n.inputs) {
      if (!varies(e)) continue;
      const Made of = axes_.axis(e) != BatchAxes::kNone ? Made::kOfExamples : made_[e.node.index];
      if (of == Made::kOfExamples) return of;
      if (of == Made::kOfStatistics) made = of;
    }
    return made;
  }

  std::optional<std::string> mixes(const Node& n, NodeId id) {
    const auto counted = std::find_if(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) { return counts_equal(e); });
    if (counted != n.inputs.end()) {
      return str_cat("takes how often '", graph_.node(counted->node).name, "' met each in the batch");
    }
    if (works_along_examples(graph_, axes_, n)) return "works along the examples of a batch";
    if (auto why = uses_places(n)) return why;
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
      if (is_of_rows({id, k}) && is_uneven({id, k}) && !comes_apart_again(id)) {
        return "has not as many rows for every example of a batch";
      }
    }
    for (const NumberBesideRows& number : numbers_met(id)) {
      if (number.statistic) continue;
      return str_cat("computes rows of examples with '", graph_.node(number.value.node).name,
                     "', which is made of several");
    }
    return std::nullopt;
  }

  bool is_uneven(Endpoint e) const { return has_rows(e) && axes_.rows_per_example(e) == 0; }

  // Rows for the examples and others behind them, each looked up for itself, that are used apart: labels and what was
  // drawn, as nce_loss gathers them in one go.
  bool comes_apart_again(NodeId id) const {
    if (rows_before_others(id) == 0) return false;
    return std::all_of(uses_[id.index].begin(), uses_[id.index].end(), [&](const Graph::Use& use) {
      const Node& taker = graph_.node(use.node);
      const bool takes = use.input >= 0 && takes_part_[use.node.index] && !looks_at_shapes(*taker.op);
      return !takes || rows_before_others(use.node) > 0 || is_first_part(taker, use.node) || is_rest(taker, use.node);
    });
  }

  // How many of such rows an example has; 0 where they are none.
  std::int64_t rows_before_others(NodeId id) const {
    const Node& n = graph_.node(id);
    if (n.op->name == "ConcatV2" && axes_.axis({id, 0}) == 0 && axes_.axis(n.inputs[0]) == 0 &&
        std::none_of(n.inputs.begin() + 1, n.inputs.end(), [&](Endpoint e) { return has_rows(e); })) {
      return axes_.rows_per_example(n.inputs[0]);
    }
    const bool looks_up = is_among(kLookUps, n) && !axes_.depends(n.inputs[0].node);
    if (!looks_up && n.op->name != "Identity" && n.op->name != "Cast") return 0;
    const Endpoint from = n.inputs[looks_up ? 1 : 0];
    return is_uneven(from) ? rows_before_others(from.node) : 0;
  }

  // Slices of such rows: from the first on, as many as the examples have; from the first of the others on.
  bool is_first_part(const Node& n, NodeId id) const {
    if (n.op->name != "Slice" || axes_.axis({id, 0}) != 0) return false;
    const PartialInts* const begin = graph_.known_ints(n.inputs[1]);
    const std::int64_t rows = rows_before_others(n.inputs[0].node);
    return rows > 0 && axes_.rows_per_example({id, 0}) == rows && begin != nullptr && !begin->empty() &&
           (*begin)[0] == 0;
  }
  bool is_rest(const Node& n, NodeId id) const {
    if (n.op->name != "Slice" || axes_.axis({id, 0}) != BatchAxes::kNone || !is_uneven(n.inputs[0])) return false;
    const Node& begin = graph_.node(n.inputs[1].node);
    const bool behind =
        axes_.counts_samples(n.inputs[1]) || (begin.op->name == "Pack" && axes_.counts_samples(begin.inputs[0]));
    return behind && rows_before_others(n.inputs[0].node) > 0;
  }

  bool is_of_rows(Endpoint e) { return is_floating(graph_.dtype(e)) && has_rows(e) && varies(e); }

  // What is made of several examples among that which this node computes rows with.
  std::vector<NumberBesideRows> numbers_met(NodeId id) {
    const Node& n = graph_.node(id);
    std::vector<NumberBesideRows> found;
    bool rows = false;
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
      const Endpoint out{id, k};
      rows = rows || is_of_rows(out) || (graph_.dtype(out) == DType::kBool && has_rows(out) && varies(out));
    }
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      const Endpoint e = n.inputs[k];
      if (!rows || e.index < 0 || axes_.axis(e) != BatchAxes::kNone) continue;
      const bool chooses = graph_.dtype(e) == DType::kBool && n.op->name.starts_with("Select");
      const bool meets = chooses || (is_number(e) && !is_container_op(n));
      if (!meets || made_[e.node.index] == Made::kOfSizes || !varies(e)) continue;
      // The mean that a variance is taken about is the one that rows are normalised with, which may be trained through.
      const Node& stop = graph_.node(e.node);
      const bool of_moments = stop.op->name == "StopGradient" && statistics_.contains(stop.inputs[0].node.index);
      const Endpoint value = of_moments ? stop.inputs[0] : e;
      found.push_back({.value = value,
                       .statistic = made_[value.node.index] == Made::kOfStatistics,
                       .taker = id,
                       .input = static_cast<int>(k)});
    }
    return found;
  }

  // Nobody can tell whether what a number of several examples is spread over are the examples.
  bool may_be_rows(const Node& n, NodeId id) {
    const auto is_made_of = [&](Endpoint e) {
      return e.index >= 0 && is_number(e) && made_[e.node.index] == Made::kOfExamples && varies(e);
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
  std::vector<char> takes_part_;                 // by node: asked about
  std::vector<Made> made_;                       // by node
  std::vector<Places> places_;                   // by node
  std::unordered_set<std::int32_t> statistics_;  // nodes
};

}  // namespace

Status check_no_pairs(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& roots) {
  const std::vector<char> used = ancestors(graph, roots, true);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    for (std::int32_t k = 0; used[i] && k < std::ssize(n.output_dtypes); ++k) {
      if (axes.axis({NodeId{i}, k}) != BatchAxes::kSeveral) continue;
      return refuse(n, "sets every sample of the batch beside every other");
    }
  }
  return ok_status();
}

Result<bool> check_examples_apart(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& losses,
                                  std::span<const Endpoint> whole) {
  return Checker(graph, axes, whole).check(losses);
}

Result<std::vector<NumberBesideRows>> numbers_beside_rows(const Graph& graph, const BatchAxes& axes,
                                                          const std::vector<NodeId>& losses,
                                                          std::span<const Endpoint> whole) {
  return Checker(graph, axes, whole).numbers(losses);
}

Result<std::vector<NumberBesideRows>> gradients_beside_rows(const Graph& graph, const BatchAxes& axes,
                                                            const std::vector<NodeId>& train,
                                                            const std::vector<NodeId>& seeds,
                                                            std::span<const Endpoint> whole) {
  return Checker(graph, axes, whole).numbers_among(train, descendants(graph, seeds));
}

Result<std::vector<char>> find_mixed(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& losses,
                                     const std::vector<NodeId>& seeds, std::span<const Endpoint> whole) {
  return Checker(graph, axes, whole).find_all(losses, seeds);
}

}  // namespace argosy
