#include "argosy/formats/records/record.h"

#include <algorithm>

#include "argosy/formats/proto/crc32c.h"
#include "argosy/formats/proto/wire.h"

namespace argosy::tf {

namespace {
constexpr std::size_t kHeader = 12;
constexpr std::size_t kFooter = 4;
constexpr std::size_t kBuffer = 256 << 10;
}  // namespace

void frame_record(std::string_view payload, std::string& to) {
  std::string length;
  put_u64(length, payload.size());
  to += length;
  put_u32(to, mask_crc(crc32c(length)));
  to += payload;
  put_u32(to, mask_crc(crc32c(payload)));
}

Result<RecordWriter> RecordWriter::create(const std::string& path) {
  ARGOSY_ASSIGN_OR_RETURN(File file, File::create(path));
  return RecordWriter(std::move(file));
}

Status RecordWriter::write(std::string_view payload) {
  frame_record(payload, buffer_);
  return buffer_.size() < kBuffer ? ok_status() : flush();
}

Status RecordWriter::flush() {
  const std::string bytes = std::exchange(buffer_, {});
  return file_.write(bytes);
}

Status RecordWriter::sync() {
  ARGOSY_RETURN_IF_ERROR(flush());
  return file_.sync();
}

RecordWriter::~RecordWriter() {
  if (!buffer_.empty()) (void)flush();  // a destructor has nobody to tell
}

Result<RecordReader> RecordReader::open(const std::string& path) {
  ARGOSY_ASSIGN_OR_RETURN(File file, File::open(path));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t bytes, file.size());
  return RecordReader(std::move(file), bytes);
}

Result<const char*> RecordReader::peek(std::size_t bytes) {
  const std::int64_t have = buffer_offset_ + static_cast<std::int64_t>(buffer_.size()) - offset_;
  if (offset_ < buffer_offset_ || have < static_cast<std::int64_t>(bytes)) {
    const auto left = static_cast<std::size_t>(bytes_ - offset_);
    const std::size_t size = std::min(left, std::max(bytes, kBuffer));
    if (size > std::max(buffer_.capacity(), kBuffer)) {
      buffer_ = {};
      ARGOSY_ASSIGN_OR_RETURN(
          counted_, host_budget().reserve(HostUse::kFiles, static_cast<std::int64_t>(size), "a record of a file"));
    }
    buffer_.resize(size);
    buffer_offset_ = offset_;
    ARGOSY_RETURN_IF_ERROR(file_.read_at(offset_, buffer_.data(), buffer_.size()));
  }
  return buffer_.data() + (offset_ - buffer_offset_);
}

Result<std::optional<std::string_view>> RecordReader::next() {
  const auto damaged = [this](std::string_view what) {
    return data_loss(file_.path(), ": the record at byte ", offset_, " ", what).with_id("ARG-RECORD-001");
  };
  const auto left = static_cast<std::uint64_t>(bytes_ - offset_);
  if (left == 0) return std::optional<std::string_view>();
  if (left < kHeader + kFooter) return damaged(str_cat("is cut short: ", left, " bytes are left"));
  ARGOSY_ASSIGN_OR_RETURN(const char* header, peek(kHeader));
  const std::uint64_t length = get_u64(header);
  if (!crc_agrees(unmask_crc(get_u32(header + 8)), crc32c({header, 8}))) return damaged("has a damaged length");
  if (length > left - kHeader - kFooter) {
    return damaged(str_cat("is cut short: ", length, " bytes long, ", left - kHeader, " are left"));
  }
  ARGOSY_ASSIGN_OR_RETURN(const char* record, peek(kHeader + length + kFooter));
  const std::string_view payload(record + kHeader, length);
  if (!crc_agrees(unmask_crc(get_u32(payload.data() + length)), crc32c(payload))) return damaged("fails its checksum");
  offset_ += static_cast<std::int64_t>(kHeader + length + kFooter);
  return std::optional(payload);
}

}  // namespace argosy::tf
