// For tests: a temporary folder, removed with its owner.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "argosy/base/system/file.h"

namespace argosy {

class TempDirectory {
 public:
  TempDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "argosy_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string path(std::string_view name) const { return join_path(path_, name); }
  void write(std::string_view name, std::string_view bytes) const {
    // Emptying an old file would make ext4 write it out at once; a new one it keeps in memory.
    ASSERT_TRUE(remove_file(path(name)).ok());
    Result<File> file = File::create(path(name));
    ASSERT_TRUE(file.ok()) << file.status().to_string();
    ASSERT_TRUE(file->write(bytes).ok());
  }
  std::string read(std::string_view name) const { return read_file(path(name), 1 << 30).value_or(""); }

 private:
  std::string path_;
};

}  // namespace argosy
