// Candidate samplers of sampled losses: they draw a few of many classes, and return how often each was expected. For
// the same seeds, the classes are those that TensorFlow draws.
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
  std::optional<std::int64_t> seed = {};  // unset: the graph's, or a random one
};
// A sampler's outputs for a batch's true classes, int64 [batch, num_true].
struct Candidates {
  Value sampled;                 // int64 [num_sampled]
  Value true_expected_count;     // float [batch, num_true]
  Value sampled_expected_count;  // float [num_sampled]
};

// Classes in [0, range_max), class k with probability log((k + 2) / (k + 1)) / log(range_max + 1): for vocabularies
// sorted by falling frequency (Zipf).
Candidates log_uniform_candidates(Value true_classes, std::int64_t range_max, const CandidateOptions& options);
// Classes in [0, range_max), all equally likely.
Candidates uniform_candidates(Value true_classes, std::int64_t range_max, const CandidateOptions& options);
// Classes in [0, range_max), with probabilities by how often each was among the true classes so far.
Candidates learned_unigram_candidates(Value true_classes, std::int64_t range_max, const CandidateOptions& options);

}  // namespace argosy
