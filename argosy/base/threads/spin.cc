#include "argosy/base/threads/spin.h"

#include <atomic>

#include "argosy/base/clock.h"
#include "argosy/base/threads/parallel.h"

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

bool internal::spin_with_permit(bool (*done)(const void* what), const void* what, std::int64_t nanos) {
  const SpinPermit permit;
  if (!permit.granted()) return done(what);
  const std::int64_t end = now_nanos() + nanos;
  do {
    for (int i = 0; i < 16; ++i) {
      if (done(what)) return true;
      spin_pause();
    }
  } while (now_nanos() < end);
  return done(what);
}

}  // namespace argosy
