// RandomSource: random numbers from outside, behind an interface, so that tests bring their own. Numbers that depend on
// a seed never come from here. Thread-safe.
#pragma once

#include <cstdint>

namespace argosy {

class RandomSource {
 public:
  virtual ~RandomSource() = default;
  virtual std::uint64_t next() = 0;
};

// The operating system's source; lives for ever.
RandomSource& system_random_source();

}  // namespace argosy
