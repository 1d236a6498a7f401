// Metrics as mergeable state: a sum over examples and their number (or weight). The states of batches, shards and
// devices add up to that of all examples, however they are split. So every example counts once.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// A metric in the graph: the values that one batch adds to the state.
struct Metric {
  std::string name;  // in reports
  Value total;       // scalar
  Value weight;      // scalar
};

// The fraction of rows whose largest logit is at the label. `labels`: class numbers, in the shape of logits without the
// last axis; others ([n, 1], one-hot) are INVALID_ARGUMENT. The same for the next.
Metric accuracy(Value logits, Value labels);
// The fraction of rows whose label is among the k largest logits.
Metric top_k_accuracy(Value logits, Value labels, int k);
// The mean of one number per example.
Metric mean_metric(std::string name, Value per_example);

// The state of a metric on the host: the sums so far.
class MetricState {
 public:
  void add(double total, double weight);  // Adds a batch: sum of its values, sum of their weights.
  void merge(const MetricState& other) { add(other.total_, other.weight_); }  // as if both had been added to one
  double weight() const { return weight_; }                                   // of all that was added
  double value() const { return weight_ > 0 ? total_ / weight_ : 0; }         // 0 if nothing was added

 private:
  double total_ = 0, weight_ = 0;
};

}  // namespace argosy
