#include "tools/argosy/run/run_hook.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tools/argosy/run_hook_source.h"

extern char** environ;

namespace argosy::cli {

// A client copies what it feeds and fetches into fresh memory, several times: 64 MiB are 28,000 page faults, a quarter
// of the call. glibc from 2.35 on asks for huge pages when told so.
constexpr const char* kHugePages = "glibc.malloc.hugetlb=1";

Result<RunHook> RunHook::write() {
  std::error_code error;
  std::string pattern = (std::filesystem::temp_directory_path(error) / "argosy_run_XXXXXX").string();
  if (error || ::mkdtemp(pattern.data()) == nullptr) {
    return unavailable("no folder for the program's Python could be made in ", pattern, ": ", std::strerror(errno))
        .with_hint("TMPDIR=<a folder that may be written> argosy run …");
  }
  RunHook hook(pattern);
  const std::string here = std::filesystem::current_path(error).string();
  for (const auto& [name, source] :
       {std::pair("sitecustomize.py", std::string_view(kRunHookSource)),
        std::pair("argosy_py_func.py", std::string_view(kPyFuncSource)),
        std::pair("argosy_server.py", std::string_view(kServerSource)), std::pair("folder", std::string_view(here))}) {
    std::ofstream file(std::filesystem::path(pattern) / name, std::ios::binary);
    file << source;
    file.close();
    if (!file) return unavailable(pattern, "/", name, " could not be written");
  }
  return hook;
}

RunHook::~RunHook() { remove(); }

void RunHook::remove() const {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

std::vector<std::string> RunHook::environment(const std::string& target, const std::vector<std::string>& more) const {
  std::vector<std::string> list;
  std::string path = folder_, tunables = kHugePages;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("PYTHONPATH=")) {
      if (text.size() > 11) path += str_cat(":", text.substr(11));
    } else if (text.starts_with("GLIBC_TUNABLES=")) {
      const std::string_view given = text.substr(15);
      if (given.find("glibc.malloc.hugetlb") != given.npos) {
        tunables = given;
      } else if (!given.empty()) {
        tunables = str_cat(given, ":", kHugePages);
      }
    } else if (!text.starts_with("ARGOSY_TARGET=")) {
      list.emplace_back(text);
    }
  }
  list.push_back("PYTHONPATH=" + path);
  list.push_back("GLIBC_TUNABLES=" + tunables);
  list.push_back("ARGOSY_TARGET=" + target);
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

}  // namespace argosy::cli
