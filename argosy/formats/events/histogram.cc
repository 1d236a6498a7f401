#include "argosy/formats/events/histogram.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "argosy/formats/proto/event.pb.h"

namespace argosy::tf {

namespace {

// 1e-12 * 1.1^k below 1e20, then the largest double; mirrored, with 0 between (tsl lib/histogram).
std::vector<double> default_limits() {
  std::vector<double> positive;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
  positive.push_back(DBL_MAX);
  std::vector<double> limits;
  for (auto it = positive.rbegin(); it != positive.rend(); ++it) limits.push_back(-*it);
  limits.push_back(0.0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

}  // namespace

Result<Histogram> make_histogram(const Tensor& values) {
  static const std::vector<double> limits = default_limits();
  std::vector<double> counts(limits.size(), 0.0);
  Histogram h;
  h.min = DBL_MAX;
  h.max = -DBL_MAX;
  Status status = dispatch<RealTypes>(values.dtype(), "histogram", [&]<typename T>() {
    for (const T& element : values.values<T>()) {
      const auto value = static_cast<double>(element);
      if (!std::isfinite(value)) {
        return invalid_argument("a histogram of ", values.shape(), " values, element ", &element - values.data<T>(),
                                " of which is ", value)
            .with_id("ARG-EVENT-001");
      }
      // The largest double itself belongs to the last bucket.
      const auto bucket = std::upper_bound(limits.begin(), limits.end() - 1, value) - limits.begin();
      counts[static_cast<std::size_t>(bucket)] += 1;
      h.min = std::min(h.min, value);
      h.max = std::max(h.max, value);
      h.sum += value;
      h.sum_squares += value * value;
    }
    return ok_status();
  });
  if (!status.ok()) return status;
  h.count = static_cast<double>(values.elements());
  for (std::size_t i = 0; i < limits.size();) {
    double limit = limits[i];
    const double count = counts[i++];
    while (count == 0 && i < limits.size() && counts[i] == 0) limit = limits[i++];
    h.limits.push_back(limit);
    h.counts.push_back(count);
  }
  return h;
}

void to_proto(const Histogram& h, tensorflow::HistogramProto& to) {
  to.set_min(h.min);
  to.set_max(h.max);
  to.set_num(h.count);
  to.set_sum(h.sum);
  to.set_sum_squares(h.sum_squares);
  to.mutable_bucket_limit()->Add(h.limits.begin(), h.limits.end());
  to.mutable_bucket()->Add(h.counts.begin(), h.counts.end());
}

}  // namespace argosy::tf
