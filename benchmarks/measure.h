// Timing for all benchmarks here: time a piece of work many times, interleaved with what it is compared to, and report
// the smallest and the median time. Others use the machine too; the smallest says what the work costs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "argosy/base/clock.h"

namespace argosy::benchmark {

class Times {
 public:
  void add(double seconds) { seconds_.push_back(seconds); }
  // REQUIRES: something was added.
  double min() const { return *std::min_element(seconds_.begin(), seconds_.end()); }
  double median() const {
    std::vector<double> sorted = seconds_;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }

 private:
  std::vector<double> seconds_;
};

// Seconds of one call of work(), averaged over `repeats` in a row.
template <typename Work>
double time_of(int repeats, Work&& work) {
  const std::int64_t start = now_nanos();
  for (int i = 0; i < repeats; ++i) work();
  return seconds_since(start) / repeats;
}

// "    3.21 us"
inline std::string format_time(double seconds) {
  char text[32];
  if (seconds < 1e-3) {
    std::snprintf(text, sizeof text, "%9.2f us", seconds * 1e6);
  } else {
    std::snprintf(text, sizeof text, "%9.2f ms", seconds * 1e3);
  }
  return text;
}

}  // namespace argosy::benchmark
