#include "argosy/base/check.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "argosy/base/guard.h"

namespace argosy::internal {

namespace {
// From the sources' top: where they lay when this was built is nobody's business.
std::string_view short_path(std::string_view file) {
  for (const std::string_view top : {"/argosy/", "/tools/"}) {
    if (const std::size_t at = file.rfind(top); at != std::string_view::npos) return file.substr(at + 1);
  }
  return file;
}
}  // namespace

// Inside a CheckScope only the work of one graph or client fails: the guard returns an error. Nothing is thrown while
// another exception unwinds the stack; that would end the process without a message.
void check_failed(const char* expression, const char* file, int line) {
  if (CheckScope::active() && std::uncaught_exceptions() == 0) {
    throw CheckFailure(str_cat("check failed: ", expression, " (", short_path(file), ":", line, ")"));
  }
  std::fprintf(stderr, "argosy: bug: check failed: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace argosy::internal
