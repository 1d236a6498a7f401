#include "tools/argosy/run/run_hook.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "argosy/base/system/file.h"
#include "argosy/base/system/random_source.h"
#include "tools/argosy/run_hook_source.h"

extern char** environ;

namespace argosy::cli {

// A client copies what it feeds and fetches into fresh memory, several times: 64 MiB are 28,000 page faults, a quarter
// of the call. glibc from 2.35 on asks for huge pages when told so.
constexpr const char* kHugePages = "glibc.malloc.hugetlb=1";

namespace {

// As std::filesystem::temp_directory_path(), but also where there is no such folder: the error names it.
std::string temporary_folder() {
  for (const char* const name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return std::filesystem::absolute(value).string();
  }
  return "/tmp";
}

Status no_folder(const Status& error, const std::string& folder) {
  return Status(error.code(), str_cat("the program's Python needs a temporary folder, and \"", folder,
                                      "\" cannot be used: ", error.message()))
      .with_id(std::string(error.id()))
      .with_where("argosy run")
      .with_hint("TMPDIR=DIR argosy run ..., with a folder that may be written and has 1 MB free");
}

}  // namespace

Result<RunHook> RunHook::write() {
  const std::string temporary = temporary_folder();
  std::string pattern = join_path(temporary, "argosy_run_XXXXXX");
  if (::mkdtemp(pattern.data()) == nullptr) return no_folder(system_error(errno, "create", pattern), temporary);
  RunHook hook(pattern);
  std::error_code error;
  const std::string secret = str_cat(system_random_source().next(), "-", system_random_source().next());
  const std::string here = std::filesystem::current_path(error).string();
  for (const auto& [name, source] : {std::pair("sitecustomize.py", std::string_view(kRunHookSource)),
                                     std::pair("argosy_feeds.py", std::string_view(kFeedsSource)),
                                     std::pair("argosy_py_func.py", std::string_view(kPyFuncSource)),
                                     std::pair("argosy_server.py", std::string_view(kServerSource)),
                                     std::pair("argosy_versions.py", std::string_view(kVersionsSource)),
                                     std::pair("secret", std::string_view(secret)),  // of lent feeds
                                     std::pair("folder", std::string_view(here))}) {
    auto file = File::create(join_path(pattern, name));
    if (!file.ok()) return no_folder(file.status(), temporary);
    Status written = file->write(source);
    if (written.ok()) written = file->close();
    if (!written.ok()) return no_folder(written, temporary);
  }
  return hook;
}

std::vector<std::string> RunHook::served() const {
  std::vector<std::string> tasks;
  const auto text = read_file(join_path(folder_, "served"), 1 << 20);
  if (!text.ok()) return tasks;  // it started none
  for (const std::string& line : str_split(*text, '\n')) {
    if (!line.empty()) tasks.push_back(line);
  }
  return tasks;
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
