#include "argosy/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace argosy::internal {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "argosy: bug: check failed: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace argosy::internal
