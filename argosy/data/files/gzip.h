// GzipSource: reads a file sequentially, and decompresses it if it is gzipped. Internal to argosy/data.
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

  // Reads exactly `bytes` bytes. DATA_LOSS: there are fewer, or the compressed data are damaged.
  Status read(void* to, std::size_t bytes);
  // DATA_LOSS: something is left to read, or the checksum at the end is wrong.
  Status finish();
  // An upper bound of the content: the file's size, 1032 times that if it is gzipped (zlib's technical details).
  std::int64_t most_bytes() const;

 private:
  struct Impl;
  explicit GzipSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::data
