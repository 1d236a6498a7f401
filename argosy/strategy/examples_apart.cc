#include "argosy/strategy/examples_apart.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_set>

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

template <std::size_t n>
bool is_one_of(std::string_view name, const std::array<std::string_view, n>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
template <std::size_t n>
bool begins_with_one_of(std::string_view name, const std::array<std::string_view, n>& names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view begin) { return name.starts_with(begin); });
}

// They work along the last axis of their first input, along its last two, or along all but the first.
constexpr std::array<std::string_view, 7> kAlongLast = {
    "Softmax", "LogSoftmax", "SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits", "TopK",
    "TopKV2",  "NthElement"};
constexpr std::array<std::string_view, 14> kOfMatrices = {"Cholesky",
                                                          "Qr",
                                                          "Svd",
                                                          "SelfAdjointEigV2",
                                                          "Eig",
                                                          "MatrixInverse",
                                                          "MatrixDeterminant",
                                                          "MatrixSquareRoot",
                                                          "FFT",
                                                          "FFT2D",
                                                          "IFFT",
                                                          "IFFT2D",
                                                          "MatrixExponential",
                                                          "LogMatrixDeterminant"};
constexpr std::array<std::string_view, 10> kOfImages = {
    "Conv2D",  "Conv3D", "DepthwiseConv2d", "Dilation2D",   "MaxPool",
    "AvgPool", "LRN",    "Resize",          "DepthToSpace", "SpaceToDepth"};
struct OpInput {
  std::string_view op;
  int input;
};
// They make a list of this input's rows, which a loop then takes one after the other.
constexpr std::array<OpInput, 3> kLists = {
    {{"TensorArrayScatterV3", 2}, {"TensorArraySplitV3", 1}, {"TensorListFromTensor", 0}}};
// This input says along which axes.
constexpr std::array<OpInput, 5> kAlongGiven = {
    {{"Cumsum", 1}, {"Cumprod", 1}, {"CumulativeLogsumexp", 1}, {"ReverseV2", 1}, {"Roll", 2}}};

Status refuse(const Node& n, std::string_view why) {
  return unimplemented("'", n.name, "' (", n.op->name, ") ", why)
      .with_id("ARG-DP-007")
      .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
      .with_next("train on one device: shares of the batch know only themselves");
}

class Checker {
 public:
  Checker(const Graph& graph, const BatchAxes& axes, std::span<const Endpoint> whole)
      : graph_(graph), axes_(axes), varies_(graph, axes, whole), made_(graph.size(), Made::kOfSizes) {}

  Result<bool> check(const std::vector<NodeId>& losses) {
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph_.topological_order());
    const std::vector<char> used = ancestors(graph_, losses, false);
    bool has_means = false;
    find_statistics();
    for (const NodeId id : order) {
      if (!used[id.index] || !axes_.depends(id)) continue;
      const Node& n = graph_.node(id);
      made_[id.index] = find_out(n, id);
      has_means = has_means || (statistics_.contains(id.index) && !has_rows({id, 0}) && varies({id, 0}));
      if (const auto why = mixes(n, id)) return refuse(n, *why);
    }
    return has_means;
  }

  Result<std::vector<Endpoint>> numbers(const std::vector<NodeId>& losses) {
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph_.topological_order());
    const std::vector<char> used = ancestors(graph_, losses, false);
    std::vector<Endpoint> found;
    find_statistics();
    for (const NodeId id : order) {
      if (!used[id.index] || !axes_.depends(id)) continue;
      made_[id.index] = find_out(graph_.node(id), id);
      const std::vector<Endpoint> met = numbers_met(id);
      found.insert(found.end(), met.begin(), met.end());
    }
    return found;
  }

  Result<std::vector<char>> find_all(const std::vector<NodeId>& seeds) {
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph_.topological_order());
    const std::vector<char> gradients = descendants(graph_, seeds);
    std::vector<char> mixed(graph_.size(), 0);
    find_statistics();
    for (const NodeId id : order) {
      const Node& n = graph_.node(id);
      if (gradients[id.index] || !axes_.depends(id) || n.output_dtypes.empty()) continue;
      made_[id.index] = find_out(n, id);
      const auto brings = [&](Endpoint e) { return mixed[e.node.index] && varies(e); };
      mixed[id.index] = std::any_of(n.inputs.begin(), n.inputs.end(), brings) || mixes(n, id).has_value();
    }
    return mixed;
  }

 private:
  bool varies(Endpoint e) { return e.index >= 0 && varies_(e); }
  bool has_rows(Endpoint e) const { return axes_.axis(e) >= 0; }
  bool is_number(Endpoint e) const {
    return axes_.axis(e) == BatchAxes::kNone && (is_floating(graph_.dtype(e)) || is_complex(graph_.dtype(e)));
  }

  // tf.nn.moments: means, and means of the squares of what differs from them, which pass no gradient on to them.
  void find_statistics() {
    const auto uses = graph_.consumers();
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& stop = graph_.node(NodeId{i});
      if (stop.op->name != "StopGradient") continue;
      const NodeId mean = stop.inputs[0].node;
      if (graph_.node(mean).op->name != "Mean") continue;
      for (const Graph::Use& use : uses[i]) {
        const Node& square = graph_.node(use.node);
        if (use.input < 0 || square.op->name != "SquaredDifference") continue;
        if (square.inputs[static_cast<std::size_t>(1 - use.input)] != graph_.node(mean).inputs[0]) continue;
        statistics_.insert(mean.index);
        for (const Graph::Use& next : uses[use.node.index]) {
          if (next.input == 0 && graph_.node(next.node).op->name == "Mean") statistics_.insert(next.node.index);
        }
      }
    }
  }

  Made find_out(const Node& n, NodeId id) {
    if (statistics_.contains(id.index) || n.op->name.starts_with("FusedBatchNorm")) return Made::kOfStatistics;
    constexpr std::array<std::string_view, 6> kLook = {"Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike"};
    if (is_one_of(n.op->name, kLook)) return axes_.counts_samples({id, 0}) ? Made::kOfExamples : Made::kOfSizes;
    if (axes_.counts_samples({id, 0})) return Made::kOfExamples;
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
    if (works_along_examples(n)) return "works along the examples of a batch";
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
      if (is_of_rows({id, k}) && axes_.rows_per_example({id, k}) == 0) {
        return "has not as many rows for every example of a batch";
      }
    }
    for (const Endpoint e : numbers_met(id)) {
      if (made_[e.node.index] == Made::kOfStatistics) continue;
      return str_cat("computes rows of examples with '", graph_.node(e.node).name, "', which is made of several");
    }
    return std::nullopt;
  }

  bool is_of_rows(Endpoint e) { return is_floating(graph_.dtype(e)) && has_rows(e) && varies(e); }

  // What is made of several examples among that which this node computes rows with.
  std::vector<Endpoint> numbers_met(NodeId id) {
    const Node& n = graph_.node(id);
    std::vector<Endpoint> found;
    bool rows = false;
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) rows = rows || is_of_rows({id, k});
    for (const Endpoint e : n.inputs) {
      if (!rows || e.index < 0 || axes_.axis(e) != BatchAxes::kNone) continue;
      const bool chooses = graph_.dtype(e) == DType::kBool && n.op->name.starts_with("Select");
      const bool meets = chooses || (is_number(e) && !is_container_op(n));
      if (meets && made_[e.node.index] != Made::kOfSizes && varies(e)) found.push_back(e);
    }
    return found;
  }

  // How many equal ones there are of each.
  bool counts_equal(Endpoint e) const {
    return e.index == 2 && graph_.node(e.node).op->name.starts_with("UniqueWithCounts");
  }

  bool works_along_examples(const Node& n) const {
    if (n.inputs.empty()) return false;
    const std::string_view op = n.op->name;
    const auto reaches = [&](int axes_from_end) {
      const PartialShape& shape = graph_.shape(n.inputs[0]);
      return has_rows(n.inputs[0]) && shape.has_rank() && axes_.axis(n.inputs[0]) >= shape.rank() - axes_from_end;
    };
    if (is_one_of(op, kAlongLast)) return reaches(1);
    if (is_one_of(op, kOfMatrices)) return reaches(2);
    if (op.starts_with("FusedBatchNorm")) {
      // Statistics of a channel are an example's own where channels are examples: so Keras normalises layers.
      const bool first = n.attrs.get_string("data_format").starts_with("NC");
      const PartialShape& shape = graph_.shape(n.inputs[0]);
      const int channels = first ? 1 : shape.has_rank() ? shape.rank() - 1 : -1;
      return axes_.axis(n.inputs[0]) > 0 && axes_.axis(n.inputs[0]) != channels;
    }
    if (begins_with_one_of(op, kOfImages)) {
      return std::any_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) { return axes_.axis(e) > 0; });
    }
    if (op == "ReverseSequence") return has_rows(n.inputs[0]) && n.attrs.get_int("seq_dim") == axes_.axis(n.inputs[0]);
    if (op == "StridedSlice") return turns(n);
    for (const OpInput& list : kLists) {
      if (op == list.op) return axes_.axis(n.inputs[static_cast<std::size_t>(list.input)]) == 0;
    }
    for (const OpInput& along : kAlongGiven) {
      if (op == along.op) return names(n.inputs[static_cast<std::size_t>(along.input)], n.inputs[0]);
    }
    return false;
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

  // A slice that takes examples from the last one on. (Fewer than all have not as many rows for each.)
  bool turns(const Node& n) const {
    const PartialInts* const strides = graph_.known_ints(n.inputs[3]);
    if (!has_rows(n.inputs[0]) || strides == nullptr) return false;
    const auto back = [](const auto& stride) { return stride && *stride < 0; };
    const bool plain = n.attrs.get_int("ellipsis_mask") == 0 && n.attrs.get_int("new_axis_mask") == 0;
    if (!plain) return std::any_of(strides->begin(), strides->end(), back);
    const auto axis = static_cast<std::size_t>(axes_.axis(n.inputs[0]));
    return axis < strides->size() && back((*strides)[axis]);
  }

  const Graph& graph_;
  const BatchAxes& axes_;
  Varying varies_;
  std::vector<Made> made_;                       // by node
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

Result<std::vector<Endpoint>> numbers_beside_rows(const Graph& graph, const BatchAxes& axes,
                                                  const std::vector<NodeId>& losses, std::span<const Endpoint> whole) {
  return Checker(graph, axes, whole).numbers(losses);
}

Result<std::vector<char>> find_mixed(const Graph& graph, const BatchAxes& axes, const std::vector<NodeId>& seeds,
                                     std::span<const Endpoint> whole) {
  return Checker(graph, axes, whole).find_all(seeds);
}

}  // namespace argosy
