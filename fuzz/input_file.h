// The fuzzer's bytes as a file, since that is what the readers take. In memory where there is a /dev/shm.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "argosy/base/check.h"
#include "argosy/base/system/file.h"

namespace argosy {

inline const std::string& fuzz_directory() {
  static const std::string path = [] {
    std::string pattern = is_directory("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path().string();
    pattern += "/argosy_fuzz_XXXXXX";
    ARGOSY_CHECK(mkdtemp(pattern.data()) != nullptr);
    static std::string kept;
    kept = pattern;
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(kept, ignored);
    });
    return pattern;
  }();
  return path;
}

inline std::string input_file(std::string_view name, std::string_view bytes) {
  const std::string path = join_path(fuzz_directory(), name);
  Result<File> file = File::create(path);
  ARGOSY_CHECK(file.ok() && file->write(bytes).ok());
  return path;
}

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace argosy
