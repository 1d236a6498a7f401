#include "argosy/ops/file/matching.h"

#include <glob.h>

#include <algorithm>

#include "argosy/base/file.h"
#include "argosy/op/file_policy.h"

namespace argosy {

namespace {

constexpr std::size_t kMostFiles = 1 << 20;

}  // namespace

Result<std::vector<std::string>> matching_files(const KernelContext& c, const std::string& pattern) {
  // The folder before the first special character must be allowed; of what is below it, each file.
  const std::size_t special = pattern.find_first_of("*?[\\");
  const std::string fixed = special == std::string::npos ? pattern : parent_directory(pattern.substr(0, special) + "x");
  ARGOSY_RETURN_IF_ERROR(allowed_file(c, fixed).status());
  constexpr std::string_view kLocal = "file://";
  const std::string local = pattern.starts_with(kLocal) ? pattern.substr(kLocal.size()) : pattern;
  glob_t found = {};
  const int failed = ::glob(local.c_str(), 0, nullptr, &found);
  std::vector<std::string> paths;
  for (std::size_t i = 0; failed == 0 && i < std::min<std::size_t>(found.gl_pathc, kMostFiles); ++i) {
    if (allowed_file(c, found.gl_pathv[i]).ok()) paths.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  if (failed == GLOB_NOSPACE) return resource_exhausted("too many files match '", pattern, "'");
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace argosy
