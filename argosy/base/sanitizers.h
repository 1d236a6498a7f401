// Which sanitizers this file is compiled with, whatever the compiler: ARGOSY_ASAN, ARGOSY_TSAN (defined or not), and
// kKeepsFreedMemory for tests that look at resident memory. Included by .cc files only.
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

namespace argosy {

#if defined(ARGOSY_ASAN) || defined(ARGOSY_TSAN)
inline constexpr bool kKeepsFreedMemory = true;
#else
inline constexpr bool kKeepsFreedMemory = false;
#endif

}  // namespace argosy
