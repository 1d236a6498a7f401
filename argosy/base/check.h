// ARGOSY_CHECK reports a bug of ours. Inside a guard (guard.h) it fails that step or call; elsewhere it aborts the
// process. Never for an error that a user, a file or a peer may cause: that is a Status.
#pragma once

namespace argosy::internal {
[[noreturn]] void check_failed(const char* expression, const char* file, int line);
}  // namespace argosy::internal

#define ARGOSY_CHECK(condition)                                         \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::argosy::internal::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
