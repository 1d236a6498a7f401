// ARGOSY_CHECK ends what runs on a bug of ours: the step or call inside a guard (guard.h), elsewhere the process. Never for
// what a user, a file or a peer may cause: that is a Status.
#pragma once

namespace argosy::internal {
[[noreturn]] void check_failed(const char* expression, const char* file, int line);
}  // namespace argosy::internal

#define ARGOSY_CHECK(condition)                                         \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::argosy::internal::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
