// A file that may be gzipped, read from its beginning. Internal to argosy/data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "argosy/base/system/file.h"

namespace argosy::data {

class GzipSource {
 public:
  static Result<GzipSource> open(const std::string& path);
  GzipSource(GzipSource&&) noexcept;
  ~GzipSource();

  // Exactly `bytes` more, or DATA_LOSS.
  Status read(void* to, std::size_t bytes);
  // DATA_LOSS unless everything has been read and the checksum at the end agrees.
  Status finish();
  // No file can hold more than this: its own size, or 1032 times that when deflated (zlib's technical details).
  std::int64_t most_bytes() const;

 private:
  struct Impl;
  explicit GzipSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::data
