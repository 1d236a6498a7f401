// Clock: time behind an interface, so that tests bring their own. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>

namespace argosy {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now_nanos() const = 0;  // monotonic, from an arbitrary origin
};

// The machine's clock; lives for ever.
const Clock& system_clock();

// The machine's monotonic clock, in nanoseconds, for measurements.
inline std::int64_t now_nanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
inline double seconds_since(std::int64_t start_nanos) { return static_cast<double>(now_nanos() - start_nanos) * 1e-9; }

}  // namespace argosy
