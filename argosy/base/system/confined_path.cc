#include "argosy/base/system/confined_path.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace argosy {

namespace {

// Closes without a trace in errno.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor() {
    const int before = errno;
    if (value_ >= 0) ::close(value_);
    errno = before;
  }
  int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

struct Parts {
  std::string folder, rest;
};

bool split(const std::string& path, Parts& to) {
  const std::size_t at = path.find(kConfined);
  if (at == std::string::npos) return false;
  to.folder = at == 0 ? "/" : path.substr(0, at);
  to.rest = path.substr(at + kConfined.size());
  return true;
}

int outside() {
  errno = EACCES;
  return -1;
}

// Without openat2 (Linux before 5.6, some sandboxes): component by component, no link at all is followed.
int open_by_steps(int folder, const std::string& rest, int flags, unsigned mode) {
  Descriptor here(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  for (std::size_t at = 0; here.get() >= 0;) {
    while (at < rest.size() && rest[at] == '/') ++at;
    const std::size_t end = rest.find('/', at);
    const std::string name = rest.substr(at, end == std::string::npos ? end : end - at);
    if (name == "..") return outside();
    if (end == std::string::npos) {
      const int opened = ::openat(here.get(), name.empty() ? "." : name.c_str(), flags | O_NOFOLLOW, mode);
      return opened < 0 && errno == ELOOP ? outside() : opened;
    }
    if (!name.empty() && name != ".") {
      Descriptor next(::openat(here.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      struct stat info = {};
      if (next.get() < 0 && errno == ENOTDIR && ::fstatat(here.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISLNK(info.st_mode)) {
        return outside();
      }
      here = std::move(next);
    }
    at = end + 1;
  }
  return -1;
}

int open_beneath(const Parts& parts, int flags, unsigned mode) {
  const Descriptor folder(::open(parts.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return -1;
  const std::string rest = parts.rest.empty() ? "." : parts.rest;
  struct open_how how = {};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int tries = 0; tries < 100; ++tries) {
    const long opened = ::syscall(SYS_openat2, folder.get(), rest.c_str(), &how, sizeof how);
    if (opened >= 0) return static_cast<int>(opened);
    if (errno == EXDEV || errno == ELOOP) return outside();
    if (errno == ENOSYS || errno == EPERM) return open_by_steps(folder.get(), rest, flags | O_CLOEXEC, mode);
    if (errno != EAGAIN) return -1;  // EAGAIN: something was renamed meanwhile
  }
  return outside();
}

// The folder that holds a name, and the name.
Descriptor open_parent(const Parts& parts, std::string& name) {
  Parts parent = parts;
  while (parent.rest.ends_with('/')) parent.rest.pop_back();
  const std::size_t slash = parent.rest.rfind('/');
  name = slash == std::string::npos ? parent.rest : parent.rest.substr(slash + 1);
  parent.rest = slash == std::string::npos ? "" : parent.rest.substr(0, slash);
  if (name.empty() || name == "." || name == "..") {
    errno = EINVAL;
    return Descriptor(-1);
  }
  return Descriptor(open_beneath(parent, O_PATH | O_DIRECTORY, 0));
}

}  // namespace

std::string confined_path(std::string_view folder, std::string_view rest) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  std::string path(folder);
  path += kConfined;
  path += rest;
  return path;
}

std::string plain_path(const std::string& path) {
  Parts parts;
  if (!split(path, parts)) return path;
  if (parts.rest.empty()) return parts.folder;
  return parts.folder == "/" ? "/" + parts.rest : parts.folder + "/" + parts.rest;
}

int open_confined(const std::string& path, int flags, unsigned mode) {
  Parts parts;
  if (!split(path, parts)) return ::open(path.c_str(), flags, mode);
  return open_beneath(parts, flags, mode);
}

int mkdir_confined(const std::string& path, unsigned mode) {
  Parts parts;
  if (!split(path, parts)) return ::mkdir(path.c_str(), mode);
  if (parts.rest.empty()) {
    errno = EEXIST;
    return -1;
  }
  std::string name;
  const Descriptor parent = open_parent(parts, name);
  return parent.get() < 0 ? -1 : ::mkdirat(parent.get(), name.c_str(), mode);
}

int rename_confined(const std::string& from, const std::string& to) {
  Parts source, target;
  if (!split(from, source) || !split(to, target)) return std::rename(from.c_str(), to.c_str());
  std::string source_name, target_name;
  const Descriptor source_folder = open_parent(source, source_name);
  if (source_folder.get() < 0) return -1;
  const Descriptor target_folder = open_parent(target, target_name);
  if (target_folder.get() < 0) return -1;
  return ::renameat(source_folder.get(), source_name.c_str(), target_folder.get(), target_name.c_str());
}

int unlink_confined(const std::string& path) {
  Parts parts;
  if (!split(path, parts)) return ::unlink(path.c_str());
  std::string name;
  const Descriptor parent = open_parent(parts, name);
  return parent.get() < 0 ? -1 : ::unlinkat(parent.get(), name.c_str(), 0);
}

int rmdir_confined(const std::string& path) {
  Parts parts;
  if (!split(path, parts)) return ::rmdir(path.c_str());
  std::string name;
  const Descriptor parent = open_parent(parts, name);
  return parent.get() < 0 ? -1 : ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
}

}  // namespace argosy
