// TFRecord framing: length (u64), masked CRC-32C of it, payload, masked CRC-32C of the payload; little endian, no
// header. One thread per object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "argosy/base/system/file.h"

namespace argosy::tf {

// Appends the framed payload to `to`.
void frame_record(std::string_view payload, std::string& to);

class RecordWriter {
 public:
  static Result<RecordWriter> create(const std::string& path);

  // Buffered; flush() hands everything to the system. Records not flushed are flushed by the destructor, silently.
  Status write(std::string_view payload);
  Status flush();
  Status sync();  // flush, and on the disk when it returns

  RecordWriter(RecordWriter&&) noexcept = default;
  RecordWriter& operator=(RecordWriter&&) noexcept = default;
  ~RecordWriter();

 private:
  explicit RecordWriter(File file) : file_(std::move(file)) {}
  File file_;
  std::string buffer_;
};

class RecordReader {
 public:
  static Result<RecordReader> open(const std::string& path);

  // The next payload, valid until the next call; empty at the end. DATA_LOSS names file and offset of the record that
  // is cut short or fails its checksum; after an error the reader stays where it is.
  Result<std::optional<std::string_view>> next();
  std::int64_t offset() const { return offset_; }

 private:
  RecordReader(File file, std::int64_t bytes) : file_(std::move(file)), bytes_(bytes) {}
  // `bytes` bytes at offset_ + skip, from the buffer or the file.
  Result<const char*> peek(std::size_t bytes);

  File file_;
  std::int64_t bytes_;
  std::int64_t offset_ = 0;
  std::string buffer_;
  std::int64_t buffer_offset_ = 0;
};

}  // namespace argosy::tf
