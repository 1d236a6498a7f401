// TFRecord framing: length (u64), masked CRC-32C of it, payload, masked CRC-32C of the payload; little endian, no
// header. One thread per object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "argosy/base/memory/host_budget.h"
#include "argosy/base/system/file.h"

namespace argosy::tf {

// Appends the framed payload to `to`.
void frame_record(std::string_view payload, std::string& to);

class RecordWriter {
 public:
  static Result<RecordWriter> create(const std::string& path);

  // Buffers the record; flush() passes the buffer to the system. The destructor flushes, too, and ignores errors.
  Status write(std::string_view payload);
  Status flush();
  Status sync();  // flushes, and waits until the data is on the disk

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

  // Returns the next payload, valid until the next call; nullopt: the end of the file. DATA_LOSS names the file and the
  // offset of a record that is incomplete or fails its checksum. RESOURCE_EXHAUSTED (ARG-MEM-004): a record is larger
  // than the budget of host memory allows. After an error the reader stays at that record.
  Result<std::optional<std::string_view>> next();
  std::int64_t offset() const { return offset_; }

 private:
  RecordReader(File file, std::int64_t bytes) : file_(std::move(file)), bytes_(bytes) {}
  // Returns the next `bytes` bytes, at offset_, from the buffer or the file.
  Result<const char*> peek(std::size_t bytes);

  File file_;
  std::int64_t bytes_;
  std::int64_t offset_ = 0;
  std::string buffer_;
  std::int64_t buffer_offset_ = 0;
  HostBudget::Reservation counted_;  // of a buffer for one large record
};

}  // namespace argosy::tf
