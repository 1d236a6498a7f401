#include <algorithm>
#include <limits>
#include <optional>

#include "argosy/base/memory/growing_text.h"
#include "argosy/base/system/file.h"
#include "argosy/formats/records/record.h"
#include "argosy/op/definition/attr.h"
#include "argosy/ops/reader/reader_state.h"

namespace argosy {

namespace {

// A file from its start, in pieces.
class Source {
 public:
  Status open(const std::string& path) {
    ARGOSY_ASSIGN_OR_RETURN(File file, File::open(path));
    ARGOSY_ASSIGN_OR_RETURN(bytes_, file.size());
    file_.emplace(std::move(file));
    buffer_.clear();
    at_ = next_ = 0;
    return ok_status();
  }
  // The next line without its end; false when there is none.
  Result<bool> line(std::string& to) {
    to.clear();
    GrowingText counted(HostUse::kFiles, "a line of a file");
    while (true) {
      const std::size_t end = buffer_.find('\n', at_);
      to.append(buffer_, at_, end == std::string::npos ? std::string::npos : end - at_);
      if (end != std::string::npos) {
        at_ = end + 1;
        break;
      }
      at_ = buffer_.size();
      if (next_ >= bytes_) {
        if (to.empty()) return false;
        break;
      }
      ARGOSY_RETURN_IF_ERROR(fill());
      ARGOSY_RETURN_IF_ERROR(counted.grow_to(to.size() + buffer_.size()));
    }
    if (to.ends_with('\r')) to.pop_back();
    return true;
  }

 private:
  Status fill() {
    constexpr std::int64_t kPiece = 256 << 10;
    buffer_.resize(static_cast<std::size_t>(std::min(kPiece, bytes_ - next_)));
    ARGOSY_RETURN_IF_ERROR(file_->read_at(next_, buffer_.data(), buffer_.size()));
    next_ += static_cast<std::int64_t>(buffer_.size());
    at_ = 0;
    return ok_status();
  }
  std::optional<File> file_;
  std::int64_t bytes_ = 0, next_ = 0;
  std::string buffer_;
  std::size_t at_ = 0;
};

class Lines final : public RecordFormat {
 public:
  explicit Lines(std::int64_t skip) : skip_(skip) {}
  Status open(const std::string& name, const std::string& path) override {
    name_ = name;
    number_ = 0;
    ARGOSY_RETURN_IF_ERROR(source_.open(path));
    std::string header;
    for (; number_ < skip_; ++number_) {
      ARGOSY_ASSIGN_OR_RETURN(const bool there, source_.line(header));
      if (!there) break;
    }
    return ok_status();
  }
  Result<bool> next(Record& record) override {
    ARGOSY_ASSIGN_OR_RETURN(const bool there, source_.line(record.second));
    if (there) record.first = str_cat(name_, ":", ++number_);
    return there;
  }

 private:
  const std::int64_t skip_;
  std::string name_;
  std::int64_t number_ = 0;
  Source source_;
};

// Files, or only their names, as records.
class Whole final : public RecordFormat {
 public:
  explicit Whole(bool names_only) : names_only_(names_only) {}
  Status open(const std::string& name, const std::string& path) override {
    name_ = name;
    path_ = path;
    given_ = false;
    return ok_status();
  }
  Result<bool> next(Record& record) override {
    if (given_) return false;
    given_ = true;
    record.first = record.second = name_;
    if (!names_only_) {
      ARGOSY_ASSIGN_OR_RETURN(record.second, read_file(path_, std::numeric_limits<std::int64_t>::max()));
    }
    return true;
  }
  bool ended() const override { return given_; }
  bool names_only() const override { return names_only_; }
  bool serializable() const override { return true; }

 private:
  const bool names_only_;
  std::string name_, path_;
  bool given_ = true;
};

class FixedLength final : public RecordFormat {
 public:
  FixedLength(std::int64_t header, std::int64_t record, std::int64_t footer, std::int64_t hop)
      : header_(header), record_(record), footer_(footer), hop_(hop > 0 ? hop : record) {}
  Status open(const std::string& name, const std::string& path) override {
    ARGOSY_ASSIGN_OR_RETURN(File file, File::open(path));
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t bytes, file.size());
    if (header_ > bytes) return out_of_range("reached end of file: ", path, " has ", bytes, " bytes");
    file_.emplace(std::move(file));
    name_ = name;
    number_ = 0;
    at_ = header_;
    end_ = std::max<std::int64_t>(bytes - footer_, 0);
    return ok_status();
  }
  Result<bool> next(Record& record) override {
    if (at_ > end_ - record_) return false;
    GrowingText counted(HostUse::kFiles, "a record of a file");
    ARGOSY_RETURN_IF_ERROR(counted.grow_to(static_cast<std::size_t>(record_)));
    record.second.resize(static_cast<std::size_t>(record_));
    ARGOSY_RETURN_IF_ERROR(file_->read_at(at_, record.second.data(), record.second.size()));
    record.first = str_cat(name_, ":", number_++);
    at_ += std::min(hop_, end_ - at_ + 1);  // past the end is enough
    return true;
  }

 private:
  const std::int64_t header_, record_, footer_, hop_;
  std::optional<File> file_;
  std::string name_;
  std::int64_t number_ = 0, at_ = 0, end_ = 0;
};

class Framed final : public RecordFormat {
 public:
  Status open(const std::string& name, const std::string& path) override {
    ARGOSY_ASSIGN_OR_RETURN(tf::RecordReader reader, tf::RecordReader::open(path));
    reader_.emplace(std::move(reader));
    name_ = name;
    return ok_status();
  }
  Result<bool> next(Record& record) override {
    const std::int64_t at = reader_->offset();
    ARGOSY_ASSIGN_OR_RETURN(const auto payload, reader_->next());
    if (!payload) return false;
    record.first = str_cat(name_, ":", at);
    record.second = std::string(*payload);
    return true;
  }

 private:
  std::optional<tf::RecordReader> reader_;
  std::string name_;
};

Status not_compressed(std::string_view op, const AttrMap& attrs, const char* attr) {
  const std::string kind = attrs.get_or<std::string>(attr, "");
  if (kind.empty()) return ok_status();
  return unimplemented(op, ": files compressed by ", kind, " cannot be read")
      .with_hint("use a dataset, or files that are not compressed");
}

}  // namespace

Result<std::unique_ptr<RecordFormat>> record_format(std::string_view op, const AttrMap& attrs) {
  if (op.starts_with("TextLine")) {
    const std::int64_t skipped = attrs.get_int("skip_header_lines");
    if (skipped < 0) return invalid_argument("skip_header_lines must be >= 0 not ", skipped);
    return std::unique_ptr<RecordFormat>(std::make_unique<Lines>(skipped));
  }
  if (op.starts_with("WholeFile") || op.starts_with("Identity")) {
    return std::unique_ptr<RecordFormat>(std::make_unique<Whole>(op[0] == 'I'));
  }
  if (op.starts_with("TFRecord")) {
    ARGOSY_RETURN_IF_ERROR(not_compressed(op, attrs, "compression_type"));
    return std::unique_ptr<RecordFormat>(std::make_unique<Framed>());
  }
  ARGOSY_RETURN_IF_ERROR(not_compressed(op, attrs, "encoding"));
  const auto bytes = [&](const char* name) { return attrs.get_int(name); };
  for (const char* name : {"header_bytes", "record_bytes", "footer_bytes", "hop_bytes"}) {
    if (bytes(name) < 0) return invalid_argument(name, " must be >= 0 but got ", bytes(name));
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (bytes("record_bytes") == 0 && bytes("hop_bytes") == 0) {
    return invalid_argument("record_bytes must be positive: records of no bytes never end");
  }
  if (bytes("record_bytes") > kMost) return invalid_argument("record_bytes must be below 2^31");
  return std::unique_ptr<RecordFormat>(std::make_unique<FixedLength>(bytes("header_bytes"), bytes("record_bytes"),
                                                                     bytes("footer_bytes"), bytes("hop_bytes")));
}

}  // namespace argosy
