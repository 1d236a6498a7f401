// Connectionist temporal classification: losses and decoders for label sequences that are not aligned with the frames.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Options of the CTC loss.
struct CtcOptions {
  bool preprocess_collapse_repeated = false;       // merge repeated labels first
  bool ctc_merge_repeated = true;                  // merge frames that repeat a label without a blank between
  bool ignore_longer_outputs_than_inputs = false;  // cost 0 for a sequence shorter than its labels, not an error
};
// The loss per example. `inputs`: logits [time, batch, classes], the last class being the blank. Labels: the rows of a
// sparse matrix.
Value ctc_loss(Value inputs, Value labels_indices, Value labels_values, Value sequence_length,
               const CtcOptions& options = {});

// The labellings that a decoder found, best first.
struct CtcDecoded {
  std::vector<Value> indices, values, shapes;  // sparse matrices [batch, length], best first
  Value log_probability;                       // [batch, top_paths]
};
// The likeliest label of every step; repeated ones become one with `merge_repeated`.
CtcDecoded ctc_greedy_decoder(Value inputs, Value sequence_length, bool merge_repeated = true);
// The likeliest labellings, found with `beam_width` candidates at a time.
CtcDecoded ctc_beam_search_decoder(Value inputs, Value sequence_length, int beam_width, int top_paths = 1,
                                   bool merge_repeated = true);

// Sequences as a sparse tensor: its last axis runs along a sequence, and elements come in the order of their indices.
struct SparseSequences {
  Value indices, values, shape;  // a sparse tensor: [n, rank] int64, [n], [rank] int64
};
// The Levenshtein distance of each hypothesis from its truth. With `normalize`, divided by the length of the truth.
Value edit_distance(const SparseSequences& hypothesis, const SparseSequences& truth, bool normalize = true);

}  // namespace argosy
