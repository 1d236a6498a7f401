#include "argosy/ops/candidate/candidate.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/random/random.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status candidates_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape classes, c.with_rank(0, 2));
  const std::int64_t num_true = c.attrs().get_int("num_true");
  if (!classes.compatible({PartialShape::kUnknown, num_true})) {
    return invalid_argument(c.op().name, ": true_classes must have num_true = ", num_true, " columns, not the shape ",
                            classes);
  }
  const std::int64_t sampled = c.attrs().get_int("num_sampled");
  if (c.attrs().get_bool("unique") && c.attrs().find("range_max") != nullptr &&
      c.attrs().get_int("range_max") < sampled) {
    return invalid_argument(c.op().name, ": ", sampled,
                            " different classes cannot be drawn out of range_max = ", c.attrs().get_int("range_max"));
  }
  c.set_output(0, {sampled});
  c.set_output(1, {classes[0], num_true});
  c.set_output(2, {sampled});
  return ok_status();
}

Status hits_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape classes, c.with_rank(0, 2));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 1).status());
  const std::int64_t num_true = c.attrs().get_int("num_true");
  if (!classes.compatible({PartialShape::kUnknown, num_true})) {
    return invalid_argument(c.op().name, ": true_classes must have num_true = ", num_true, " columns, not the shape ",
                            classes);
  }
  c.set_all_outputs({PartialShape::kUnknown});
  return ok_status();
}

}  // namespace

static void add_candidate_ops(OpRegistry& ops) {
  const auto add = [&](const char* name, const char* doc, std::vector<std::string> more) {
    std::vector<std::string> attrs = {"num_true: int >= 1", "num_sampled: int >= 1", "unique: bool"};
    attrs.insert(attrs.end(), more.begin(), more.end());
    attrs.insert(attrs.end(), {"seed: int = 0", "seed2: int = 0"});
    const bool learns = std::string_view(name).find("Unigram") != std::string_view::npos &&
                        !std::string_view(name).starts_with("Fixed");  // from the classes of all steps
    ops.add({.name = name,
             .doc = doc,
             .inputs = {"true_classes: int64"},
             .outputs = {"sampled_candidates: int64", "true_expected_count: float", "sampled_expected_count: float"},
             .attrs = std::move(attrs),
             .shape = candidates_shape,
             .gradient = kNotDifferentiable,
             .stateful = true,
             .cpu_only = true,
             .blocks_gradient = true,
             .random = !learns,
             .opens_files = std::string_view(name) == "FixedUnigramCandidateSampler",
             .draws_whole_stream = true});
  };
  const std::string range = "range_max: int >= 1";
  add("LogUniformCandidateSampler", "Classes drawn by a Zipfian distribution.", {range});
  add("UniformCandidateSampler", "Classes drawn evenly.", {range});
  add("LearnedUnigramCandidateSampler", "Classes drawn as often as they were true so far.", {range});
  add("ThreadUnsafeUnigramCandidateSampler", "Classes drawn as often as they were true so far.", {range});
  add("FixedUnigramCandidateSampler", "Classes drawn by weights given once.",
      {range, "vocab_file: string = ''", "distortion: float = 1.0", "num_reserved_ids: int = 0",
       "num_shards: int >= 1 = 1", "shard: int >= 0 = 0", "unigrams: list(float) = []"});
  add("AllCandidateSampler", "All classes.", {});
  ops.add({.name = "ComputeAccidentalHits",
           .doc = "Where sampled candidates are true classes.",
           .inputs = {"true_classes: int64", "sampled_candidates: int64"},
           .outputs = {"indices: int32", "ids: int64", "weights: float"},
           .attrs = {"num_true: int", "seed: int = 0", "seed2: int = 0"},
           .shape = hits_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true});
}

void define_candidate(OpRegistry& ops) {
  with_sharding(ops, add_candidate_ops, {}, "whole: candidates are drawn for all examples");
}

namespace {

Candidates sample(const char* op, Value true_classes, std::int64_t range_max, const CandidateOptions& options) {
  if (!true_classes.valid()) return {};
  Graph& graph = true_classes.graph();
  const auto [seed, seed2] = op_seeds(graph, options.seed);
  const Value sampled = graph.add(op, {true_classes},
                                  {{"num_true", options.num_true},
                                   {"num_sampled", options.num_sampled},
                                   {"unique", options.unique},
                                   {"range_max", range_max},
                                   {"seed", seed},
                                   {"seed2", seed2}});
  return {sampled, sampled.output(1), sampled.output(2)};
}

}  // namespace

Candidates log_uniform_candidates(Value true_classes, std::int64_t range_max, const CandidateOptions& options) {
  return sample("LogUniformCandidateSampler", true_classes, range_max, options);
}
Candidates uniform_candidates(Value true_classes, std::int64_t range_max, const CandidateOptions& options) {
  return sample("UniformCandidateSampler", true_classes, range_max, options);
}
Candidates learned_unigram_candidates(Value true_classes, std::int64_t range_max, const CandidateOptions& options) {
  return sample("LearnedUnigramCandidateSampler", true_classes, range_max, options);
}

}  // namespace argosy
