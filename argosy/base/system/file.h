// File: files with errors as values. An error names the operation, the path and the system's reason: NOT_FOUND,
// PERMISSION_DENIED, RESOURCE_EXHAUSTED (the disk is full), DATA_LOSS (the file is shorter than expected). Reading is
// positional, from many threads at once; writing belongs to one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"

namespace argosy {

class File {
 public:
  static Result<File> open(const std::string& path);    // for reading; directories are refused
  static Result<File> create(const std::string& path);  // for writing: new, or emptied
  static Result<File> append(const std::string& path);  // for writing at the end: new, or with its contents kept

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::string& path() const { return path_; }
  // For system calls that this class lacks (locks, advice). The object keeps ownership.
  int descriptor() const { return descriptor_; }
  Result<std::int64_t> size() const;

  // Exactly `bytes`, or an error.
  Status read_at(std::int64_t offset, void* to, std::size_t bytes) const;
  // Threads may write disjoint ranges at once.
  Status write_at(std::int64_t offset, const void* from, std::size_t bytes);
  Status write(std::string_view bytes);  // appends to the bytes that this object wrote, or to the appended file
  // Returns when the data is on the disk. After a failure the caller must give up the file: a second call may wrongly
  // succeed.
  Status sync();
  Status close();

 private:
  File(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  static Result<File> open_with(const std::string& path, int flags);
  std::string path_;
  int descriptor_ = -1;
};

// The Status of a failed system call, e.g. "open /x/y: No such file or directory".
Status system_error(int error_number, std::string_view operation, const std::string& path);

// The whole file; RESOURCE_EXHAUSTED before any allocation when it is larger than `limit_bytes`.
Result<std::string> read_file(const std::string& path, std::int64_t limit_bytes);

// Makes renames, new names and removals inside `directory` durable.
Status sync_directory(const std::string& directory);
Status make_directories(const std::string& directory);
Status rename_file(const std::string& from, const std::string& to);
Status remove_file(const std::string& path);  // OK when it is not there
bool file_exists(const std::string& path);
bool is_directory(const std::string& path);
// Names (not paths) inside a directory, sorted.
Result<std::vector<std::string>> list_directory(const std::string& directory);
// "a/b/c" → "a/b"; "c" → ".".
std::string parent_directory(const std::string& path);
std::string join_path(std::string_view directory, std::string_view name);

}  // namespace argosy
