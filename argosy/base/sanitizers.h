// Which sanitizers this file is compiled with, whatever the compiler: ARGOSY_ASAN, ARGOSY_TSAN (defined or not),
// kKeepsFreedMemory for tests that look at resident memory, LeaksOnPurpose for those that leave something behind,
// hands_over and takes_over for what the thread sanitizer cannot see.
// Included by .cc files only.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define ARGOSY_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define ARGOSY_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(ARGOSY_ASAN)
#define ARGOSY_ASAN 1
#endif
#if __has_feature(thread_sanitizer) && !defined(ARGOSY_TSAN)
#define ARGOSY_TSAN 1
#endif
#endif
#if defined(ARGOSY_ASAN)
#include <sanitizer/lsan_interface.h>
#endif
#if defined(ARGOSY_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace argosy {

// What this thread allocates while one lives may stay for ever.
class LeaksOnPurpose {
 public:
#if defined(ARGOSY_ASAN)
  LeaksOnPurpose() { __lsan_disable(); }
  ~LeaksOnPurpose() { __lsan_enable(); }
#else
  LeaksOnPurpose() {}
  ~LeaksOnPurpose() {}
#endif
  LeaksOnPurpose(const LeaksOnPurpose&) = delete;
  LeaksOnPurpose& operator=(const LeaksOnPurpose&) = delete;
};

// What this thread did before hands_over(x) comes before what another does after takes_over(x), for `x` goes from one
// to the other by way of a library that is not built for the thread sanitizer, which therefore does not see it.
inline void hands_over([[maybe_unused]] void* x) {
#if defined(ARGOSY_TSAN)
  __tsan_release(x);
#endif
}
inline void takes_over([[maybe_unused]] void* x) {
#if defined(ARGOSY_TSAN)
  __tsan_acquire(x);
#endif
}

#if defined(ARGOSY_ASAN) || defined(ARGOSY_TSAN)
inline constexpr bool kKeepsFreedMemory = true;
#else
inline constexpr bool kKeepsFreedMemory = false;
#endif

}  // namespace argosy
