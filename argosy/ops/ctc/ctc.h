// Connectionist temporal classification: losses and decoders for label sequences that are not aligned with the frames.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Of the connectionist temporal classification loss.
struct CtcOptions {
  bool preprocess_collapse_repeated = false;       // labels that repeat become one first
  bool ctc_merge_repeated = true;                  // frames that repeat a label without a blank between are one
  bool ignore_longer_outputs_than_inputs = false;  // cost 0 for a sequence shorter than its labels, not an error
};
// inputs: logits [time, batch, classes], the last class being the blank; labels: rows of a sparse matrix. The loss per
// example.
Value ctc_loss(Value inputs, Value labels_indices, Value labels_values, Value sequence_length,
               const CtcOptions& options = {});

// What a decoder found, best first.
struct CtcDecoded {
  std::vector<Value> indices, values, shapes;  // sparse matrices [batch, length], best first
  Value log_probability;                       // [batch, top_paths]
};
// The likeliest label of every step; repeated ones become one with `merge_repeated`.
CtcDecoded ctc_greedy_decoder(Value inputs, Value sequence_length, bool merge_repeated = true);
// The likeliest labellings, found with `beam_width` candidates at a time.
CtcDecoded ctc_beam_search_decoder(Value inputs, Value sequence_length, int beam_width, int top_paths = 1,
                                   bool merge_repeated = true);

// Levenshtein's distance of the sequences in two sparse tensors, whose last axis runs along a sequence; with
// `normalize` divided by the truth's length. Sequences come in order of their indices.
struct SparseSequences {
  Value indices, values, shape;  // a sparse tensor: [n, rank] int64, [n], [rank] int64
};
// Levenshtein's distance of each sequence, over the length of the truth with `normalize`.
Value edit_distance(const SparseSequences& hypothesis, const SparseSequences& truth, bool normalize = true);

}  // namespace argosy
