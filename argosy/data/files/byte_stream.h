// A file's bytes from its beginning to its end, as they are or inflated on the way. One thread per object.
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
  // `buffer_bytes`: what is read at once; 0 = the default.
  static Result<ByteStream> open(const std::string& path, Compression compression, std::size_t buffer_bytes = 0);
  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;
  ~ByteStream();

  // The next line, without its "\n", in `to`; false at the end.
  Result<bool> line(std::string& to);
  // Up to `bytes` more in `to`: fewer only at the end.
  Status read(std::size_t bytes, std::string& to);
  // The same, dropped; says how many there were.
  Result<std::int64_t> skip(std::int64_t bytes);
  std::int64_t offset() const;  // of what was given out, inflated
                                // DATA_LOSS names file and offset where inflating fails.

 private:
  struct Impl;
  explicit ByteStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::data
