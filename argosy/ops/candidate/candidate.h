// Candidates for sampled losses: a few classes drawn out of many, with how often each was to be expected. Numbers are
// TensorFlow's for TensorFlow's seeds.
#pragma once

#include <optional>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// How classes are drawn for a sampled loss.
struct CandidateOptions {
  int num_true = 1;                       // true classes per example
  int num_sampled = 1;                    // classes to draw, for the global batch
  bool unique = true;                     // no class twice
  std::optional<std::int64_t> seed = {};  // unset: the graph's seed, or chance
};
// Of a batch's true classes, int64 [batch, num_true].
struct Candidates {
  Value sampled;                 // int64 [num_sampled]
  Value true_expected_count;     // float [batch, num_true]
  Value sampled_expected_count;  // float [num_sampled]
};

// Classes in [0, range_max), class k with probability log((k + 2) / (k + 1)) / log(range_max + 1): for vocabularies
// sorted by falling frequency (Zipf).
Candidates log_uniform_candidates(Value true_classes, std::int64_t range_max, const CandidateOptions& options);
// Every class below range_max is as likely.
Candidates uniform_candidates(Value true_classes, std::int64_t range_max, const CandidateOptions& options);
// By how often each class was among the true ones so far.
Candidates learned_unigram_candidates(Value true_classes, std::int64_t range_max, const CandidateOptions& options);

}  // namespace argosy
