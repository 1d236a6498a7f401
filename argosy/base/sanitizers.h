// The sanitizers of this build, for every compiler:
// * ARGOSY_ASAN, ARGOSY_TSAN: defined or not.
// * kSanitized: the address or the thread sanitizer is on. Freed memory is kept, and code is slow.
// * LeaksOnPurpose: for tests that leak.
// * hands_over(), takes_over(): an order that the thread sanitizer cannot see.
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

// While it lives, allocations of this thread may leak.
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

// Orders this thread's work before hands_over(x) ahead of another thread's work after takes_over(x). For an object `x`
// that passes through a library built without the thread sanitizer.
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
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace argosy
