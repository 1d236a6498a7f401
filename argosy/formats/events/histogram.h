// Histograms as TensorFlow's summaries hold them: fixed exponential buckets, so that steps can be compared.
#pragma once

#include <vector>

#include "argosy/tensor/tensor.h"

namespace tensorflow {
class HistogramProto;
}  // namespace tensorflow

namespace argosy::tf {

// counts[i] is the number of values in [limits[i-1], limits[i]).
struct Histogram {
  double min = 0, max = 0, count = 0, sum = 0, sum_squares = 0;
  std::vector<double> limits, counts;
};

// Returns the histogram of all elements of a tensor of a real dtype. Adjacent empty buckets are merged into one.
// INVALID_ARGUMENT: NaN or infinity among the elements. UNIMPLEMENTED: another dtype.
Result<Histogram> make_histogram(const Tensor& values);

// Writes the message that a Summary holds. REQUIRES: `to` is empty.
void to_proto(const Histogram& h, tensorflow::HistogramProto& to);

}  // namespace argosy::tf
