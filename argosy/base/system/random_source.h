// Randomness from outside, behind an interface, so that tests bring their own. What a seed asks for never comes from
// here: only what was left to chance. Thread-safe.
#pragma once

#include <cstdint>

namespace argosy {

class RandomSource {
 public:
  virtual ~RandomSource() = default;
  virtual std::uint64_t next() = 0;
};

// The operating system's; lives for ever.
RandomSource& system_random_source();

}  // namespace argosy
