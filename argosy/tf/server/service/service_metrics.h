// ServiceMetrics: the counters of the session server, for /metrics. They only grow. Thread-safe, without locks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "argosy/base/status.h"

namespace argosy::tf {

class ServiceMetrics {
 public:
  void count(int method, Code code, std::size_t request_bytes, std::int64_t nanos);
  // Counts an error in the body of a response whose call is OK.
  void count_step_error(Code code);
  void count_response(std::size_t bytes) { response_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  std::int64_t calls(int method) const {
    return calls_[static_cast<std::size_t>(method)].load(std::memory_order_relaxed);
  }

  // Prometheus' text format, version 0.0.4.
  std::string to_prometheus() const;

 private:
  static constexpr int kCodes = 17;
  static constexpr int kBuckets = 12;  // of the durations of RunStep, RunCallable: up to 50 us, … 102 ms; one above
  using Counter = std::atomic<std::int64_t>;
  std::array<Counter, 10> calls_{};
  std::array<Counter, kCodes> errors_{};
  std::array<Counter, kBuckets + 1> buckets_{};
  Counter step_nanos_{0};
  Counter request_bytes_{0};
  Counter response_bytes_{0};
};

}  // namespace argosy::tf
