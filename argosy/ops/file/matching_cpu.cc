#include "argosy/ops/file/matching.h"

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>

#include "argosy/base/system/file.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/op/kernel/file_policy.h"

namespace argosy {

namespace {

// Runs glob(). After the step is cancelled, every folder looks empty to it.
int walk(const std::string& pattern, glob_t& found) {
  found.gl_closedir = [](void* folder) { ::closedir(static_cast<DIR*>(folder)); };
  found.gl_readdir = [](void* folder) { return interrupted() ? nullptr : ::readdir(static_cast<DIR*>(folder)); };
  found.gl_opendir = [](const char* path) -> void* { return interrupted() ? nullptr : ::opendir(path); };
  found.gl_lstat = ::lstat;
  found.gl_stat = ::stat;
  return ::glob(pattern.c_str(), GLOB_ALTDIRFUNC | GLOB_NOSORT, nullptr, &found);
}

class Found {
 public:
  Found() = default;
  ~Found() { ::globfree(&list); }
  Found(const Found&) = delete;
  Found& operator=(const Found&) = delete;
  glob_t list = {};
};

}  // namespace

Result<std::vector<std::string>> matching_files(const KernelContext& c, const std::string& pattern) {
  // The step must be allowed to access the folder before the first special character, and each file found below it.
  const std::size_t special = pattern.find_first_of("*?[\\");
  const std::string fixed = special == std::string::npos ? pattern : parent_directory(pattern.substr(0, special) + "x");
  ARGOSY_RETURN_IF_ERROR(allowed_file(c, fixed).status());
  constexpr std::string_view kLocal = "file://";
  const std::string local = pattern.starts_with(kLocal) ? pattern.substr(kLocal.size()) : pattern;
  Found found;
  const int failed = walk(local, found.list);
  check_interrupted();
  if (failed == GLOB_NOSPACE) return resource_exhausted("too many files match '", pattern, "'");
  std::vector<std::string> paths;
  for (std::size_t i = 0; failed == 0 && i < found.list.gl_pathc; ++i) {
    check_interrupted();
    if (allowed_file(c, found.list.gl_pathv[i]).ok()) paths.emplace_back(found.list.gl_pathv[i]);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace argosy
