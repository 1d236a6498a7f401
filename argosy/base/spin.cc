#include "argosy/base/spin.h"

#include <atomic>

#include "argosy/base/parallel.h"

namespace argosy {

namespace {
// Cores belong to the process, so who burns them is counted per process.
std::atomic<int>& spinners() {
  alignas(64) static std::atomic<int> count{0};
  return count;
}
}  // namespace

SpinPermit::SpinPermit() : granted_(available_cores() > 1) {
  if (!granted_) return;
  if (spinners().fetch_add(1, std::memory_order_relaxed) < available_cores()) return;
  spinners().fetch_sub(1, std::memory_order_relaxed);
  granted_ = false;
}

SpinPermit::~SpinPermit() {
  if (granted_) spinners().fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace argosy
