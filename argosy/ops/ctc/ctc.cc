#include "argosy/ops/ctc/ctc.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// Inputs [time, batch, classes]; sequence_length [batch], input `lengths`. Gives the batch's size, if known.
Result<std::int64_t> batch_of(const ShapeContext& c, int lengths) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape inputs, c.with_rank(0, 3));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape length, c.with_rank(lengths, 1));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape batch, PartialShape({inputs[1]}).merge(PartialShape({length[0]})));
  return batch[0];
}

Status loss_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape indices, c.with_rank(1, 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape values, c.with_rank(2, 1));
  if (indices[0] >= 0 && values[0] >= 0 && indices[0] != values[0]) {
    return invalid_argument("CTCLoss: ", indices[0], " indices for ", values[0], " labels");
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t batch, batch_of(c, 3));
  c.set_output(0, {batch});
  c.set_output(1, c.input(0));
  return ok_status();
}

Status decoder_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t batch, batch_of(c, 1));
  const int paths = (c.num_outputs() - 1) / 3;
  for (int i = 0; i < paths; ++i) {
    c.set_output(i, {kUnknownSize, 2});
    c.set_output(paths + i, {kUnknownSize});
    c.set_output(2 * paths + i, {2});
  }
  c.set_output(3 * paths, {batch, paths});
  return ok_status();
}

// The forward op has computed it as output 1: the gradient of each example's loss.
std::vector<Value> loss_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const auto expand = [&](Value x, int axis) { return graph.add("ExpandDims", {x, constant(graph, axis)}); };
  return {expand(expand(g.dy(0), 0), 2) * g.y(1), Value(), Value(), Value()};
}

// The sequences' axes: of each, the larger of both sides' sizes.
Status distance_shape(ShapeContext& c) {
  for (const int side : {0, 3}) {
    ARGOSY_RETURN_IF_ERROR(c.with_rank(side, 2).status());
    ARGOSY_RETURN_IF_ERROR(c.with_rank(side + 1, 1).status());
    ARGOSY_RETURN_IF_ERROR(c.with_rank(side + 2, 1).status());
  }
  const PartialInts* const guess = c.ints(2);
  const PartialInts* const truth = c.ints(5);
  if (guess == nullptr || truth == nullptr || guess->size() != truth->size() || guess->size() < 2) return ok_status();
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i + 1 < guess->size(); ++i) {
    const auto &a = (*guess)[i], &b = (*truth)[i];
    if ((a && *a < 0) || (b && *b < 0)) return invalid_argument("EditDistance: a shape has a negative size");
    sizes.push_back(a && b ? std::max(*a, *b) : kUnknownSize);
  }
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

}  // namespace

static void add_ctc_ops(OpRegistry& ops) {
  const std::string types = "T: {float, double} = float";
  ops.add({.name = "CTCLoss",
           .doc = "The loss of connectionist temporal classification, and its gradient.",
           .inputs = {"inputs: T", "labels_indices: int64", "labels_values: int32", "sequence_length: int32"},
           .outputs = {"loss: T", "gradient: T"},
           .attrs = {"preprocess_collapse_repeated: bool = false", "ctc_merge_repeated: bool = true",
                     "ignore_longer_outputs_than_inputs: bool = false", types},
           .shape = loss_shape,
           .gradient = loss_gradient,
           .cpu_only = true});
  ops.add(
      {.name = "EditDistance",
       .doc = "How many changes make a sequence of the hypothesis that of the truth; normalized: per element of it.",
       .inputs = {"hypothesis_indices: int64", "hypothesis_values: T", "hypothesis_shape: int64",
                  "truth_indices: int64", "truth_values: T", "truth_shape: int64"},
       .outputs = {"output: float"},
       .attrs = {"normalize: bool = true", "T: type"},
       .shape = distance_shape,
       .gradient = kNotDifferentiable,
       .cpu_only = true});
  ops.add({.name = "CTCGreedyDecoder",
           .doc = "The likeliest class of every frame, blanks removed.",
           .inputs = {"inputs: T", "sequence_length: int32"},
           .outputs = {"decoded_indices: int64", "decoded_values: int64", "decoded_shape: int64", "log_probability: T"},
           .attrs = {"merge_repeated: bool = false", "blank_index: int = -1", types},
           .shape = decoder_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "CTCBeamSearchDecoder",
           .doc = "The likeliest label sequences.",
           .inputs = {"inputs: T", "sequence_length: int32"},
           .outputs = {"decoded_indices: top_paths * int64", "decoded_values: top_paths * int64",
                       "decoded_shape: top_paths * int64", "log_probability: T"},
           .attrs = {"beam_width: int >= 1", "top_paths: int >= 1", "merge_repeated: bool = true", types},
           .shape = decoder_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
}

void define_ctc(OpRegistry& ops) {
  with_sharding(ops, add_ctc_ops, {}, "whole: labels and decoded words are numbered over all examples");
}

Value ctc_loss(Value inputs, Value labels_indices, Value labels_values, Value sequence_length, const CtcOptions& o) {
  if (!inputs.valid()) return inputs;
  return inputs.graph().add("CTCLoss", {inputs, labels_indices, labels_values, sequence_length},
                            {{"preprocess_collapse_repeated", o.preprocess_collapse_repeated},
                             {"ctc_merge_repeated", o.ctc_merge_repeated},
                             {"ignore_longer_outputs_than_inputs", o.ignore_longer_outputs_than_inputs}});
}

namespace {
CtcDecoded decoded(Value first, int paths) {
  CtcDecoded d;
  for (int i = 0; i < paths; ++i) {
    d.indices.push_back(first.output(i));
    d.values.push_back(first.output(paths + i));
    d.shapes.push_back(first.output(2 * paths + i));
  }
  d.log_probability = first.output(3 * paths);
  return d;
}
}  // namespace

CtcDecoded ctc_greedy_decoder(Value inputs, Value sequence_length, bool merge_repeated) {
  if (!inputs.valid()) return {};
  return decoded(
      inputs.graph().add("CTCGreedyDecoder", {inputs, sequence_length}, {{"merge_repeated", merge_repeated}}), 1);
}
CtcDecoded ctc_beam_search_decoder(Value inputs, Value sequence_length, int beam_width, int top_paths,
                                   bool merge_repeated) {
  if (!inputs.valid()) return {};
  return decoded(
      inputs.graph().add("CTCBeamSearchDecoder", {inputs, sequence_length},
                         {{"beam_width", beam_width}, {"top_paths", top_paths}, {"merge_repeated", merge_repeated}}),
      top_paths);
}

Value edit_distance(const SparseSequences& hypothesis, const SparseSequences& truth, bool normalize) {
  if (!hypothesis.indices.valid()) return {};
  return hypothesis.indices.graph().add(
      "EditDistance",
      {hypothesis.indices, hypothesis.values, hypothesis.shape, truth.indices, truth.values, truth.shape},
      {{"normalize", normalize}});
}

}  // namespace argosy
