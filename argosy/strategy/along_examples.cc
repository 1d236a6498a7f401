#include "argosy/strategy/along_examples.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace argosy {

namespace {

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

class Looker {
 public:
  Looker(const Graph& graph, const BatchAxes& axes) : graph_(graph), axes_(axes) {}

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
    if (op == "RandomShuffle") return axes_.axis(n.inputs[0]) == 0;
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

 private:
  bool has_rows(Endpoint e) const { return axes_.axis(e) >= 0; }

  const Graph& graph_;
  const BatchAxes& axes_;
};

}  // namespace

bool works_along_examples(const Graph& graph, const BatchAxes& axes, const Node& n) {
  return Looker(graph, axes).works_along_examples(n);
}

bool names_batch(const Graph& graph, const BatchAxes& axes, Endpoint given, Endpoint of) {
  return Looker(graph, axes).names(given, of);
}

}  // namespace argosy
