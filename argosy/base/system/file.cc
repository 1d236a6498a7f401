#include "argosy/base/system/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "argosy/base/memory/host_budget.h"
#include "argosy/base/system/confined_path.h"

namespace argosy {

Status system_error(int error_number, std::string_view operation, const std::string& path) {
  Code code = Code::kUnknown;
  switch (error_number) {
    case ENOENT:
    case ENOTDIR: code = Code::kNotFound; break;
    case EACCES:
    case EPERM:
    case EROFS: code = Code::kPermissionDenied; break;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM: code = Code::kResourceExhausted; break;
    case EEXIST: code = Code::kAlreadyExists; break;
    case EISDIR:
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP: code = Code::kInvalidArgument; break;
    case EIO:
    case ESTALE: code = Code::kDataLoss; break;
    default: break;
  }
  return Status(code, str_cat(operation, " ", plain_path(path), ": ", std::generic_category().message(error_number)))
      .with_id("ARG-FILE-001");
}

Result<File> File::open_with(const std::string& path, int flags) {
  int descriptor = -1;
  do {
    descriptor = open_confined(path, flags | O_CLOEXEC, 0666);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) return system_error(errno, "open", path);
  return File(plain_path(path), descriptor);
}

Result<File> File::open(const std::string& path) {
  // A FIFO would block here for ever without O_NONBLOCK.
  ARGOSY_ASSIGN_OR_RETURN(File file, open_with(path, O_RDONLY | O_NONBLOCK));
  struct stat info = {};
  if (::fstat(file.descriptor_, &info) != 0) return system_error(errno, "stat", path);
  if (S_ISDIR(info.st_mode)) return system_error(EISDIR, "open", path);
  if (!S_ISREG(info.st_mode))
    return invalid_argument("open ", plain_path(path), ": not a regular file").with_id("ARG-FILE-001");
  return file;
}
Result<File> File::create(const std::string& path) { return open_with(path, O_RDWR | O_CREAT | O_TRUNC); }
Result<File> File::append(const std::string& path) { return open_with(path, O_WRONLY | O_CREAT | O_APPEND); }

File::File(File&& other) noexcept : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) ::close(descriptor_);
    path_ = std::move(other.path_);
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}
File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::int64_t> File::size() const {
  struct stat info = {};
  if (::fstat(descriptor_, &info) != 0) return system_error(errno, "stat", path_);
  return static_cast<std::int64_t>(info.st_size);
}

Status File::read_at(std::int64_t offset, void* to, std::size_t bytes) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(descriptor_, static_cast<char*>(to) + done, bytes - done,
                              static_cast<off_t>(offset + static_cast<std::int64_t>(done)));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(errno, "read", path_);
    if (n == 0) {
      return data_loss(path_, " ends at byte ", offset + static_cast<std::int64_t>(done), ", but ", bytes,
                       " bytes were to be read from byte ", offset)
          .with_id("ARG-FILE-002");
    }
    done += static_cast<std::size_t>(n);
  }
  return ok_status();
}

Status File::write_at(std::int64_t offset, const void* from, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pwrite(descriptor_, static_cast<const char*>(from) + done, bytes - done,
                               static_cast<off_t>(offset + static_cast<std::int64_t>(done)));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(errno, "write", path_);
    done += static_cast<std::size_t>(n);
  }
  return ok_status();
}

Status File::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(errno, "write", path_);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return ok_status();
}

Status File::sync() {
  if (::fdatasync(descriptor_) != 0) return system_error(errno, "fdatasync", path_);
  return ok_status();
}

Status File::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0 && ::close(descriptor) != 0 && errno != EINTR) return system_error(errno, "close", path_);
  return ok_status();
}

Result<std::string> read_file(const std::string& path, std::int64_t limit_bytes) {
  ARGOSY_ASSIGN_OR_RETURN(const File file, File::open(path));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t size, file.size());
  if (size > limit_bytes) {
    return resource_exhausted(file.path(), " has ", size, " bytes, the limit is ", limit_bytes).with_id("ARG-FILE-003");
  }
  ARGOSY_ASSIGN_OR_RETURN(
      const auto reserved,
      host_budget().reserve(HostUse::kFiles, size, str_cat("the contents of ", plain_path(file.path()))));
  std::string bytes(static_cast<std::size_t>(size), '\0');
  ARGOSY_RETURN_IF_ERROR(file.read_at(0, bytes.data(), bytes.size()));
  return bytes;
}

Status sync_directory(const std::string& directory) {
  const int descriptor = open_confined(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return system_error(errno, "open", directory);
  const int failed = ::fsync(descriptor) != 0 ? errno : 0;
  ::close(descriptor);
  if (failed != 0) return system_error(failed, "fsync", directory);
  return ok_status();
}

Status make_directories(const std::string& directory) {
  if (const std::size_t at = directory.find(kConfined); at != std::string::npos) {
    // The folder is there; what is below it is made one after the other.
    for (std::size_t slash = at + kConfined.size(); slash != std::string::npos && slash < directory.size();) {
      slash = directory.find('/', slash + 1);
      const std::string part = directory.substr(0, slash);
      if (mkdir_confined(part, 0777) == 0 || (errno == EEXIST && is_directory(part))) continue;
      return system_error(errno == EEXIST ? ENOTDIR : errno, "mkdir", part);
    }
    return ok_status();
  }
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return system_error(error.value(), "mkdir", directory);
  return ok_status();
}

Status rename_file(const std::string& from, const std::string& to) {
  if (rename_confined(from, to) != 0) return system_error(errno, str_cat("rename ", plain_path(from), " to"), to);
  return ok_status();
}

Status remove_file(const std::string& path) {
  if (unlink_confined(path) != 0 && errno != ENOENT) return system_error(errno, "remove", path);
  return ok_status();
}

namespace {

bool look(const std::string& path, struct stat& info) {
  if (path.find(kConfined) == std::string::npos) return ::stat(path.c_str(), &info) == 0;
  const int descriptor = open_confined(path, O_PATH | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool seen = ::fstat(descriptor, &info) == 0;
  ::close(descriptor);
  return seen;
}

}  // namespace

bool file_exists(const std::string& path) {
  struct stat info = {};
  return look(path, info);
}
bool is_directory(const std::string& path) {
  struct stat info = {};
  return look(path, info) && S_ISDIR(info.st_mode);
}

Result<std::vector<std::string>> list_directory(const std::string& directory) {
  // Not std::filesystem's iterator: it ends the process where it has no memory.
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(directory.c_str()), ::closedir);
  if (listing == nullptr) return system_error(errno, "list", directory);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* const entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return system_error(errno, "list", directory);
  std::sort(names.begin(), names.end());
  return names;
}

std::string parent_directory(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string join_path(std::string_view directory, std::string_view name) {
  if (directory.empty()) return std::string(name);
  return directory.ends_with('/') ? str_cat(directory, name) : str_cat(directory, "/", name);
}

}  // namespace argosy
