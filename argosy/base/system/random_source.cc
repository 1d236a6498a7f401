#include "argosy/base/system/random_source.h"

#include <sys/random.h>

#include <chrono>

namespace argosy {

namespace {

class SystemRandom final : public RandomSource {
 public:
  std::uint64_t next() override {
    std::uint64_t value = 0;
    if (getrandom(&value, sizeof value, 0) == sizeof value) return value;
    // A kernel without the call: the clock still differs from run to run.
    return static_cast<std::uint64_t>(std::chrono::high_resolution_clock::now().time_since_epoch().count());
  }
};

}  // namespace

RandomSource& system_random_source() {
  static auto* source = new SystemRandom;  // never destroyed: kernels may outlive everything
  return *source;
}

}  // namespace argosy
