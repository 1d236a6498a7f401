#include "argosy/base/system/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "argosy/base/str.h"

namespace argosy {

namespace {

std::string path_of(std::int64_t process, std::int64_t file) { return str_cat("/proc/", process, "/fd/", file); }

std::byte* map(int file, std::size_t bytes) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

}  // namespace

bool SharedMemory::is_there(std::int64_t process, std::int64_t file, std::string_view name) {
  char target[PATH_MAX];
  const ssize_t length = ::readlink(path_of(process, file).c_str(), target, sizeof target);
  const std::string_view found(target, length < 0 ? 0 : static_cast<std::size_t>(length));
  return found == str_cat("/memfd:", name, " (deleted)");
}

Result<SharedMemory> SharedMemory::make(const std::string& name, std::size_t bytes) {
  const int file = ::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  std::byte* at = nullptr;
  if (file >= 0 && ::fallocate(file, 0, 0, static_cast<off_t>(bytes)) == 0 &&
      ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) == 0) {
    at = map(file, bytes);
  }
  if (at != nullptr) return SharedMemory(at, bytes, file);
  const int why = errno;
  if (file >= 0) ::close(file);
  return unavailable("no memory to share: ", std::strerror(why));
}

Result<SharedMemory> SharedMemory::open(std::int64_t process, std::int64_t file, std::string_view name,
                                        std::size_t least, std::size_t most) {
  const std::string path = path_of(process, file);
  // Nothing else is opened: that could wait, or do something.
  if (!is_there(process, file, name)) return unavailable(path, " is not the memory ", name);
  const int own = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (own < 0) return unavailable(path, " cannot be opened: ", std::strerror(errno));
  struct stat about = {};
  const int seals = ::fcntl(own, F_GET_SEALS);
  const bool same = is_there(::getpid(), own, name);  // its process may have put another file there meanwhile
  const bool sealed = ::fstat(own, &about) == 0 && seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
  const auto bytes = static_cast<std::size_t>(about.st_size);
  const bool fits = bytes >= least && bytes <= most;
  std::byte* const at = same && sealed && fits ? map(own, bytes) : nullptr;
  ::close(own);
  if (at != nullptr) return SharedMemory(at, bytes, -1);
  return unavailable(path, !same     ? " is another file now"
                           : !sealed ? " is not sealed against shrinking"
                           : !fits   ? " has another size"
                                     : " cannot be mapped");
}

SharedMemory::~SharedMemory() {
  close_file();
  if (at_ != nullptr) ::munmap(at_, bytes_);
}

void SharedMemory::close_file() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

}  // namespace argosy
