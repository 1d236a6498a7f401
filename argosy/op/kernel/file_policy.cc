#include "argosy/op/kernel/file_policy.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <filesystem>

#include "argosy/base/system/confined_path.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/op/kernel/step_context.h"

namespace argosy {

namespace {

constexpr int kMostLinks = 40;  // as the system

Status outside(std::string_view path) {
  return Status(Code::kPermissionDenied, str_cat("file '", path, "' is in none of the folders that this server allows"))
      .with_id("ARG-FILE-001")
      .with_hint("use a path below one of them, or start the server with --allow-files DIR");
}

// Resolves an absolute path: follows every link, even to a name that does not exist, and applies every "..". Names
// behind the last one that exists are kept.
Result<std::string> resolved(std::string_view path) {
  std::string todo(path), done;
  for (int links = 0; !todo.empty();) {
    const std::size_t end = std::min(todo.find('/'), todo.size());
    const std::string name = todo.substr(0, end);
    todo.erase(0, std::min(end + 1, todo.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      done.erase(done.empty() ? 0 : done.rfind('/'));
      continue;
    }
    const std::string here = str_cat(done, "/", name);
    std::array<char, PATH_MAX> target;
    const ssize_t bytes = ::readlink(here.c_str(), target.data(), target.size());
    if (bytes < 0) {  // no link; what cannot be looked at cannot be opened either
      done = here;
      continue;
    }
    if (++links > kMostLinks || bytes == static_cast<ssize_t>(target.size())) {
      return invalid_argument("path '", path, "': too many levels of symbolic links");
    }
    const std::string to(target.data(), static_cast<std::size_t>(bytes));
    if (to.starts_with('/')) done.clear();
    todo = str_cat(to, "/", todo);
  }
  return done.empty() ? std::string("/") : done;
}

}  // namespace

Result<FilePolicy> FilePolicy::within(const std::vector<std::string>& folders) {
  FilePolicy policy;
  policy.everything_ = false;
  for (const std::string& folder : folders) {
    std::error_code failed;
    const std::filesystem::path canonical = std::filesystem::canonical(folder, failed);
    if (failed) return not_found("folder '", folder, "': ", failed.message());
    if (!std::filesystem::is_directory(canonical, failed)) return not_found("folder '", folder, "': not a folder");
    std::string path = canonical.string();
    if (!path.ends_with('/')) path += '/';
    policy.folders_.push_back(std::move(path));
  }
  return policy;
}

Result<std::string> FilePolicy::check(std::string_view path) const {
  constexpr std::string_view kLocal = "file://";
  if (path.starts_with(kLocal)) {
    path.remove_prefix(kLocal.size());
  } else if (const std::size_t scheme = path.find("://"); scheme != std::string_view::npos) {
    return unimplemented("File system scheme '", path.substr(0, scheme), "' not implemented (file: '", path, "')")
        .with_hint("copy the file to this machine");
  }
  if (everything_) return std::string(path);
  if (path.find('\0') != std::string_view::npos) return invalid_argument("a path has a zero byte in it");
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(std::filesystem::path(path), failed);
  if (failed) return invalid_argument("path '", path, "': ", failed.message());
  ARGOSY_ASSIGN_OR_RETURN(const std::string real, resolved(absolute.string()));
  for (const std::string& folder : folders_) {
    if (real.starts_with(folder)) return confined_path(folder, std::string_view(real).substr(folder.size()));
    if (real + "/" == folder || (folder == "/" && real == "/")) return real;
  }
  return outside(path);
}

Result<std::string> allowed_file(const KernelContext& c, std::string_view path) {
  static const FilePolicy kEverything;
  const StepContext* const step = c.step();
  const FilePolicy* const policy = step != nullptr ? step->files() : nullptr;
  return (policy != nullptr ? *policy : kEverything).check(path);
}

}  // namespace argosy
