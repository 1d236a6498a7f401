// Spinning: a thread that waits first spins, then sleeps. Handing a cache line to another core takes a tenth of a
// microsecond; waking a sleeping thread takes a hundred times that. So a wait spins for about the cost of a wake-up.
#pragma once

#include <cstdint>

namespace argosy {

// How long a wait should spin before it sleeps: about one wake-up, so that a wait costs at most twice the best.
inline constexpr std::int64_t kSpinNanos = 20'000;

// A hint to the core: this is a spin loop.
inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// Permission to spin for long. At most available_cores() threads of the process hold one, and none on a single core,
// where spinning keeps the awaited thread from running. It affects only speed.
class SpinPermit {
 public:
  SpinPermit();
  ~SpinPermit();
  SpinPermit(const SpinPermit&) = delete;
  SpinPermit& operator=(const SpinPermit&) = delete;
  bool granted() const { return granted_; }

 private:
  bool granted_;
};

namespace internal {
bool spin_with_permit(bool (*done)(const void* what), const void* what, std::int64_t nanos);
}

// Spins until done() or for about `nanos`; returns done(). The first microsecond is free, the rest needs a permit.
template <typename Done>
bool spin_until(const Done& done, std::int64_t nanos = kSpinNanos) {
  for (int i = 0; i < 32; ++i) {
    if (done()) return true;
    spin_pause();
  }
  return internal::spin_with_permit([](const void* what) { return (*static_cast<const Done*>(what))(); }, &done, nanos);
}

}  // namespace argosy
