// Records of files, one file after the other: lines, TFRecords, blocks of one length.
#include <optional>

#include "argosy/data/files/byte_stream.h"
#include "argosy/formats/proto/crc32c.h"
#include "argosy/formats/proto/wire.h"
#include "argosy/ops/dataset/dataset_kernel.h"
#include "argosy/tensor/string_budget.h"

namespace argosy::datasets {

namespace {

using data::ByteStream;
using data::Compression;

enum class Format { kLines, kRecords, kBlocks };

struct FileOptions {
  Format format = Format::kLines;
  Compression compression = Compression::kNone;
  std::size_t buffer = 0;
  std::int64_t header = 0, record = 0, footer = 0;  // of blocks
  std::vector<std::int64_t> offsets;                // of records: where reading begins in each file; empty: at 0
};

constexpr std::int64_t kMostRecordBytes = std::int64_t{1} << 31;

class Files final : public DatasetValue {
 public:
  Files(const DatasetArgs& a, std::vector<std::string> names, FileOptions options)
      : DatasetValue(a.op(), {DType::kString}, {PartialShape::scalar()}),
        names_(std::move(names)),
        options_(std::move(options)) {}
  Result<IteratorPtr> iterate(const IteratorContext&) const override {
    return IteratorPtr(std::make_unique<Iterator>(self<Files>()));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    explicit Iterator(std::shared_ptr<const Files> d) : d_(std::move(d)), o_(d_->options_) {}

    Result<bool> next(Element& out) override {
      while (true) {
        if (!stream_) {
          if (file_ == d_->names_.size()) return false;
          ARGOSY_RETURN_IF_ERROR(open(file_));  // one that cannot be opened is tried again, as in TensorFlow
        }
        std::string text;
        Result<bool> some = record(text);
        if (some.ok() && *some) {
          out.assign(1, Tensor::scalar(std::move(text)));
          ARGOSY_RETURN_IF_ERROR(reserve_strings(out[0], "a record of a file"));
          return true;
        }
        stream_.reset();
        const std::string& name = d_->names_[file_++];
        if (!some.ok()) return std::move(some).status().with_where(str_cat("file ", name));
      }
    }

   private:
    Status open(std::size_t file) {
      const std::string& name = d_->names_[file];
      if (o_.format == Format::kBlocks) ARGOSY_RETURN_IF_ERROR(measure(name));
      ARGOSY_ASSIGN_OR_RETURN(ByteStream stream, ByteStream::open(name, o_.compression, o_.buffer));
      const std::int64_t from = o_.format == Format::kBlocks ? o_.header
                                : file < o_.offsets.size()   ? o_.offsets[file]
                                                             : 0;
      ARGOSY_RETURN_IF_ERROR(stream.skip(from).status());
      stream_.emplace(std::move(stream));
      return ok_status();
    }

    // Counts the blocks of a file. Compressed files must be inflated for that: their length is not stored.
    Status measure(const std::string& name) {
      ARGOSY_ASSIGN_OR_RETURN(ByteStream stream, ByteStream::open(name, o_.compression, o_.buffer));
      ARGOSY_ASSIGN_OR_RETURN(const std::int64_t size, stream.skip(INT64_MAX));
      if (o_.header > size || o_.footer > size - o_.header) {
        return invalid_argument("The body of file ", name, " is less than 0 bytes long: ", size,
                                " bytes, less the header (", o_.header, ") and the footer (", o_.footer, ")");
      }
      const std::int64_t body = size - o_.header - o_.footer;
      if (body % o_.record != 0) {
        return invalid_argument("Excluding the header (", o_.header, " bytes) and footer (", o_.footer,
                                " bytes), input file \"", name, "\" has body length ", body,
                                " bytes, which is not an exact multiple of the record length (", o_.record, " bytes).");
      }
      blocks_ = body / o_.record;
      return ok_status();
    }

    Result<bool> record(std::string& text) {
      switch (o_.format) {
        case Format::kLines: {
          ARGOSY_ASSIGN_OR_RETURN(const bool some, stream_->line(text));
          std::erase(text, '\r');  // all of them, as TensorFlow does
          return some;
        }
        case Format::kRecords: return framed(text);
        case Format::kBlocks: break;
      }
      if (blocks_ == 0) return false;
      --blocks_;
      ARGOSY_RETURN_IF_ERROR(stream_->read(static_cast<std::size_t>(o_.record), text));
      return true;
    }

    Result<bool> framed(std::string& text) {
      const std::int64_t at = stream_->offset();
      std::string head, foot;
      ARGOSY_RETURN_IF_ERROR(stream_->read(12, head));
      if (head.empty()) return false;
      if (head.size() < 12) return data_loss("truncated record at ", at);
      const std::uint64_t length = tf::get_u64(head.data());
      if (!tf::crc_agrees(tf::unmask_crc(tf::get_u32(head.data() + 8)), tf::crc32c({head.data(), 8})) ||
          length > static_cast<std::uint64_t>(kMostRecordBytes)) {
        return data_loss("corrupted record at ", at);
      }
      ARGOSY_RETURN_IF_ERROR(stream_->read(static_cast<std::size_t>(length), text));
      ARGOSY_RETURN_IF_ERROR(stream_->read(4, foot));
      if (text.size() < length || foot.size() < 4) return data_loss("truncated record at ", at);
      if (!tf::crc_agrees(tf::unmask_crc(tf::get_u32(foot.data())), tf::crc32c(text))) {
        return data_loss("corrupted record at ", at);
      }
      return true;
    }

    const std::shared_ptr<const Files> d_;
    const FileOptions& o_;
    std::optional<ByteStream> stream_;
    std::size_t file_ = 0;     // the open one, or the next
    std::int64_t blocks_ = 0;  // left in the open file
  };
  const std::vector<std::string> names_;
  const FileOptions options_;
};

Result<FileOptions> options_of(const DatasetArgs& a, Format format, bool compressed) {
  FileOptions o{.format = format};
  if (compressed) {
    ARGOSY_ASSIGN_OR_RETURN(const std::string type, a.text("compression_type"));
    if (type == "ZLIB") {
      o.compression = Compression::kZlib;
    } else if (type == "GZIP") {
      o.compression = Compression::kGzip;
    } else if (!type.empty()) {
      return invalid_argument("Unsupported compression_type.");
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t buffer, a.integer("buffer_size"));
  const bool unsaid = buffer == -1 && format == Format::kRecords;
  if (buffer < 0 && !unsaid) return invalid_argument("`buffer_size` must be >= 0 (0 == default), and is ", buffer);
  o.buffer = unsaid ? 0 : static_cast<std::size_t>(buffer);
  return o;
}

Result<DatasetPtr> make_lines(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(auto names, a.files("filenames"));
  ARGOSY_ASSIGN_OR_RETURN(FileOptions o, options_of(a, Format::kLines, true));
  return DatasetPtr(std::make_shared<Files>(a, std::move(names), std::move(o)));
}

Result<DatasetPtr> make_records(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(auto names, a.files("filenames"));
  ARGOSY_ASSIGN_OR_RETURN(FileOptions o, options_of(a, Format::kRecords, true));
  if (a.op() == "TFRecordDatasetV2") {
    const Tensor offsets = a.tensors("byte_offsets")[0];
    if (offsets.elements() != static_cast<std::int64_t>(names.size())) {
      return invalid_argument("The number of elements in `filenames` (", names.size(), ") must match `byte_offsets` (",
                              offsets.elements(), ")");
    }
    for (const std::int64_t at : offsets.values<std::int64_t>()) {
      if (at < 0) return invalid_argument("`byte_offsets` must be >= 0, not ", at);
      o.offsets.push_back(at);
    }
  }
  return DatasetPtr(std::make_shared<Files>(a, std::move(names), std::move(o)));
}

Result<DatasetPtr> make_blocks(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(auto names, a.files("filenames"));
  ARGOSY_ASSIGN_OR_RETURN(FileOptions o, options_of(a, Format::kBlocks, a.op() == "FixedLengthRecordDatasetV2"));
  ARGOSY_ASSIGN_OR_RETURN(o.header, a.integer("header_bytes"));
  if (o.header < 0) return invalid_argument("`header_bytes` must be >= 0");
  ARGOSY_ASSIGN_OR_RETURN(o.record, a.integer("record_bytes"));
  if (o.record <= 0) return invalid_argument("`record_bytes` must be > 0");
  ARGOSY_ASSIGN_OR_RETURN(o.footer, a.integer("footer_bytes"));
  if (o.footer < 0) return invalid_argument("`footer_bytes` must be >= 0");
  if (o.record > kMostRecordBytes) return invalid_argument("a record of ", o.record, " bytes is too long");
  return DatasetPtr(std::make_shared<Files>(a, std::move(names), std::move(o)));
}

}  // namespace

void add_files(KernelRegistry& kernels) {
  add_dataset<make_lines>(kernels, {"TextLineDataset"});
  add_dataset<make_records>(kernels, {"TFRecordDataset", "TFRecordDatasetV2"});
  add_dataset<make_blocks>(kernels, {"FixedLengthRecordDataset", "FixedLengthRecordDatasetV2"});
}

}  // namespace argosy::datasets
