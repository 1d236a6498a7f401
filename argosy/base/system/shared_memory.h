// SharedMemory: memory that processes of one user share: a mapped memfd, sealed against shrinking. Another process finds
// it by the number of its owner, that of its descriptor there, and its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "argosy/base/status.h"

namespace argosy {

class SharedMemory {
 public:
  // New memory, zeroed. All of it is there: a later lack of memory ends nobody. UNAVAILABLE: the system has none.
  static Result<SharedMemory> make(const std::string& name, std::size_t bytes);
  // Maps memory of another process, of `least` to `most` bytes. UNAVAILABLE: the numbers mean another file here (another
  // namespace of processes, or it is closed), or the system forbids it.
  static Result<SharedMemory> open(std::int64_t process, std::int64_t file, std::string_view name, std::size_t least,
                                   std::size_t most);
  // False: the process has closed the file, or has ended.
  static bool is_there(std::int64_t process, std::int64_t file, std::string_view name);

  SharedMemory(SharedMemory&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), bytes_(other.bytes_), file_(std::exchange(other.file_, -1)) {}
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  std::byte* data() const { return at_; }
  std::size_t size() const { return bytes_; }
  int file() const { return file_; }  // of new memory, until close_file(); else -1
  // Nobody else opens it from now on.
  void close_file();

 private:
  SharedMemory(std::byte* at, std::size_t bytes, int file) : at_(at), bytes_(bytes), file_(file) {}

  std::byte* at_;
  std::size_t bytes_;
  int file_;
};

}  // namespace argosy
