// ByteStream: reads a file sequentially, as it is or decompressed. Each object is used by one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "argosy/base/status.h"

namespace argosy::data {

enum class Compression { kNone, kZlib, kGzip };

class ByteStream {
 public:
  static constexpr std::size_t kDefaultBuffer = 256 << 10;
  // `buffer_bytes`: the size of a read; 0: the default.
  static Result<ByteStream> open(const std::string& path, Compression compression, std::size_t buffer_bytes = 0);
  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;
  ~ByteStream();

  // The methods below return DATA_LOSS, with file and offset, if the compressed data are damaged, and
  // RESOURCE_EXHAUSTED if `to` becomes larger than the budget of host memory allows. They throw Interrupted when the
  // thread's step is over.
  // Sets `to` to the next line, without its "\n". False at the end.
  Result<bool> line(std::string& to);
  // Sets `to` to the next `bytes` bytes; fewer only at the end.
  Status read(std::size_t bytes, std::string& to);
  // Skips `bytes` bytes and returns how many there were; fewer only at the end.
  Result<std::int64_t> skip(std::int64_t bytes);
  std::int64_t offset() const;  // bytes that were read or skipped, after decompression

 private:
  struct Impl;
  explicit ByteStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::data
