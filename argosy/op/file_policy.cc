#include "argosy/op/file_policy.h"

#include <algorithm>
#include <filesystem>

#include "argosy/op/kernel.h"
#include "argosy/op/step_context.h"

namespace argosy {

namespace {

Result<std::string> resolved(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) return invalid_argument("a path has a zero byte in it");
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(std::filesystem::path(path), failed);
  if (failed) return invalid_argument("path '", path, "': ", failed.message());
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(absolute, failed);
  if (failed) return invalid_argument("path '", path, "': ", failed.message());
  return canonical.lexically_normal().string();
}

}  // namespace

Result<FilePolicy> FilePolicy::within(const std::vector<std::string>& folders) {
  FilePolicy policy;
  policy.everything_ = false;
  for (const std::string& folder : folders) {
    std::error_code failed;
    const std::filesystem::path canonical = std::filesystem::canonical(folder, failed);
    if (failed) return not_found("folder '", folder, "': ", failed.message());
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
        .with_next("copy the file to this machine");
  }
  if (everything_) return std::string(path);
  ARGOSY_ASSIGN_OR_RETURN(std::string real, resolved(path));
  const bool inside = std::any_of(folders_.begin(), folders_.end(), [&](const std::string& folder) {
    return real.starts_with(folder) || real + "/" == folder;
  });
  if (inside) return real;
  return Status(Code::kPermissionDenied, str_cat("file '", path, "' is in none of the folders that this server allows"))
      .with_id("ARG-FILE-001")
      .with_next("use a path below one of them, or start the server with --allow-files DIR");
}

Result<std::string> allowed_file(const KernelContext& c, std::string_view path) {
  static const FilePolicy kEverything;
  const StepContext* const step = c.step();
  const FilePolicy* const policy = step != nullptr ? step->files() : nullptr;
  return (policy != nullptr ? *policy : kEverything).check(path);
}

}  // namespace argosy
