// Histograms as TensorFlow's summaries hold them: fixed exponential buckets, so that steps can be compared.
#pragma once

#include <vector>

#include "argosy/tensor/tensor.h"

namespace tensorflow {
class HistogramProto;
}  // namespace tensorflow

namespace argosy::tf {

// counts[i] values lie in [limits[i-1], limits[i]).
struct Histogram {
  double min = 0, max = 0, count = 0, sum = 0, sum_squares = 0;
  std::vector<double> limits, counts;
};

// Over all elements of a real tensor; runs of empty buckets are one bucket. INVALID_ARGUMENT for NaN and infinities,
// UNIMPLEMENTED for other dtypes.
Result<Histogram> make_histogram(const Tensor& values);

// As a summary has it. REQUIRES: `to` is empty.
void to_proto(const Histogram& h, tensorflow::HistogramProto& to);

}  // namespace argosy::tf
