// CSVDataset: the records of CSV files, one component per column. A malformed record is an error, and the next call
// continues behind it.
#include <optional>

#include "argosy/base/memory/growing_text.h"
#include "argosy/data/files/byte_stream.h"
#include "argosy/ops/dataset/dataset_kernel.h"
#include "argosy/ops/string/number.h"

namespace argosy::datasets {

namespace {

using data::ByteStream;
using data::Compression;

struct CsvOptions {
  std::vector<std::string> files;
  Compression compression = Compression::kNone;
  std::size_t buffer = 0;
  bool header = false, quotes = true;
  char delimiter = ',';
  std::string missing;
  std::vector<std::int64_t> selected, excluded;  // columns, ascending
  std::vector<Tensor> defaults;                  // of what is given out
};

// The fields of records, out of a file's bytes.
class CsvFile {
 public:
  CsvFile(ByteStream stream, const CsvOptions& options) : stream_(std::move(stream)), o_(options) {}

  // Reads the next record. Returns false at the end of the file. An error of the record is in `wrong`.
  Result<bool> record(std::vector<std::string>& fields, Status& wrong) {
    bytes_read_ = 0;
    counted_.emplace(HostUse::kFiles, "a record of a CSV file");
    Result<bool> some = fields_of_record(fields, wrong);
    counted_.reset();
    return some;
  }

 private:
  Result<bool> fields_of_record(std::vector<std::string>& fields, Status& wrong) {
    fields.clear();
    wrong = ok_status();
    ARGOSY_ASSIGN_OR_RETURN(std::optional<char> c, peek());
    if (!c) return false;
    while (true) {
      std::string field;
      ARGOSY_RETURN_IF_ERROR(o_.quotes && c == '"' ? quoted(field, wrong) : plain(field, wrong));
      fields.push_back(std::move(field));
      ARGOSY_ASSIGN_OR_RETURN(c, take());
      if (!c || *c != o_.delimiter) break;  // else: the end of the record
      ARGOSY_ASSIGN_OR_RETURN(c, peek());
    }
    if (c == '\r') {
      ARGOSY_ASSIGN_OR_RETURN(const std::optional<char> next, peek());
      if (next == '\n') ++at_;
    }
    return true;
  }

  Result<std::optional<char>> peek() {
    if (at_ == bytes_.size()) {
      ARGOSY_RETURN_IF_ERROR(stream_.read(std::size_t{64} << 10, bytes_));
      at_ = 0;
      bytes_read_ += bytes_.size();
      ARGOSY_RETURN_IF_ERROR(counted_->grow_to(bytes_read_));
    }
    return at_ < bytes_.size() ? std::optional(bytes_[at_]) : std::nullopt;
  }
  Result<std::optional<char>> take() {
    ARGOSY_ASSIGN_OR_RETURN(const std::optional<char> c, peek());
    if (c) ++at_;
    return c;
  }
  bool ends_field(std::optional<char> c) const { return !c || *c == o_.delimiter || *c == '\n' || *c == '\r'; }

  Status plain(std::string& field, Status& wrong) {
    while (true) {
      ARGOSY_ASSIGN_OR_RETURN(const std::optional<char> c, peek());
      if (ends_field(c)) return ok_status();
      if (o_.quotes && *c == '"' && wrong.ok()) {
        wrong = invalid_argument("Unquoted fields cannot have quotes inside");
      }
      field += *c;
      ++at_;
    }
  }

  // Reads to the quote that ends the field. Other quotes are skipped, as in TensorFlow.
  Status quoted(std::string& field, Status& wrong) {
    ++at_;
    while (true) {
      ARGOSY_ASSIGN_OR_RETURN(const std::optional<char> c, take());
      if (!c) {
        wrong = invalid_argument("Reached end of file without closing quoted field in record");
        return ok_status();
      }
      if (*c != '"') {
        field += *c;
        continue;
      }
      ARGOSY_ASSIGN_OR_RETURN(const std::optional<char> next, peek());
      if (ends_field(next)) return ok_status();
      if (*next == '"') {
        field += '"';
        ++at_;
      } else if (wrong.ok()) {
        wrong = invalid_argument("Quote inside a string has to be escaped by another quote");
      }
    }
  }

  ByteStream stream_;
  const CsvOptions& o_;
  std::string bytes_;
  std::size_t at_ = 0;
  std::optional<GrowingText> counted_;  // the record that is being read
  std::size_t bytes_read_ = 0;          // for that record
};

class Csv final : public DatasetValue {
 public:
  Csv(const DatasetArgs& a, CsvOptions options)
      : DatasetValue(a.op(), a.types(), a.shapes()), options_(std::move(options)) {}
  Result<IteratorPtr> iterate(const IteratorContext&) const override {
    return IteratorPtr(std::make_unique<Iterator>(self<Csv>()));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    explicit Iterator(std::shared_ptr<const Csv> d) : d_(std::move(d)), o_(d_->options_) {}

    Result<bool> next(Element& out) override {
      std::vector<std::string> fields;
      Status wrong;
      while (true) {
        if (!file_) {
          if (number_ == o_.files.size()) return false;
          ARGOSY_ASSIGN_OR_RETURN(ByteStream stream, ByteStream::open(o_.files[number_], o_.compression, o_.buffer));
          file_.emplace(std::move(stream), o_);
          if (o_.header) ARGOSY_RETURN_IF_ERROR(file_->record(fields, wrong).status());
        }
        const Result<bool> some = file_->record(fields, wrong);
        if (some.ok() && *some) break;
        file_.reset();
        const std::string& name = o_.files[number_++];
        if (!some.ok()) return Status(some.status()).with_where(str_cat("file ", name));
      }
      ARGOSY_RETURN_IF_ERROR(wrong);
      return convert(fields, out);
    }

   private:
    Result<bool> convert(std::vector<std::string>& fields, Element& out) const {
      std::vector<std::string> kept;
      std::size_t selected = 0, excluded = 0;
      for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto column = static_cast<std::int64_t>(i);
        const bool wanted = o_.selected.empty() || (selected < o_.selected.size() && o_.selected[selected] == column);
        const bool unwanted = excluded < o_.excluded.size() && o_.excluded[excluded] == column;
        if (!o_.selected.empty() && wanted) ++selected;
        if (unwanted) ++excluded;
        if (wanted && !unwanted) kept.push_back(std::move(fields[i]));
      }
      const std::size_t count = o_.defaults.size();
      if (kept.size() > count) return invalid_argument("Expect ", count, " fields but have more in record");
      Element element;
      for (std::size_t i = 0; i < kept.size(); ++i) {
        ARGOSY_ASSIGN_OR_RETURN(Tensor value, value_of(kept[i], i));
        element.push_back(std::move(value));
      }
      if (kept.size() < count) {
        return invalid_argument("Expect ", count, " fields but have ", kept.size(), " in record");
      }
      out = std::move(element);
      return true;
    }

    Result<Tensor> value_of(std::string& field, std::size_t i) const {
      const DType dtype = d_->types()[i];
      const Tensor& fallback = o_.defaults[i];
      Tensor value = Tensor::zeros(dtype, {});
      using Types = TypeList<float, double, std::int32_t, std::int64_t, std::string>;
      ARGOSY_RETURN_IF_ERROR(dispatch<Types>(dtype, d_->op(), [&]<typename T>() -> Status {
        if (field.empty() || field == o_.missing) {
          if (fallback.elements() == 0) return invalid_argument("Field ", i, " is required but missing in record!");
          *value.data<T>() = *fallback.data<T>();
        } else if constexpr (std::is_same_v<T, std::string>) {
          *value.data<T>() = std::move(field);
        } else if (!parse_number(field, *value.data<T>())) {
          return invalid_argument("Field ", i, " in record is not a valid ", dtype_name(dtype), ": ", field);
        }
        return ok_status();
      }));
      return value;
    }

    const std::shared_ptr<const Csv> d_;
    const CsvOptions& o_;
    std::optional<CsvFile> file_;
    std::size_t number_ = 0;  // of the open file, or the next
  };
  const CsvOptions options_;
};

Result<std::vector<std::int64_t>> columns_of(const DatasetArgs& a, const std::string& name) {
  const Tensor given = a.tensors(name)[0];
  if (given.shape().rank() != 1) return invalid_argument(name, " must be a vector, not of shape ", given.shape());
  const auto values = given.values<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0) return invalid_argument(name, " should be non-negative indices");
    if (i > 0 && values[i] <= values[i - 1]) return invalid_argument(name, " should be strictly increasing indices");
  }
  return std::vector<std::int64_t>(values.begin(), values.end());
}

Result<DatasetPtr> make_csv(const DatasetArgs& a) {
  CsvOptions o;
  ARGOSY_ASSIGN_OR_RETURN(o.files, a.files("filenames"));
  ARGOSY_ASSIGN_OR_RETURN(const std::string type, a.text("compression_type"));
  if (type != "" && type != "ZLIB" && type != "GZIP") return invalid_argument("Unsupported compression_type: ", type);
  if (!type.empty()) o.compression = type == "ZLIB" ? Compression::kZlib : Compression::kGzip;
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t buffer, a.integer("buffer_size"));
  if (buffer <= 0) return invalid_argument("buffer_size should be positive");
  o.buffer = static_cast<std::size_t>(std::min<std::int64_t>(buffer, 1 << 24));
  ARGOSY_ASSIGN_OR_RETURN(o.header, a.boolean("header"));
  ARGOSY_ASSIGN_OR_RETURN(o.quotes, a.boolean("use_quote_delim"));
  ARGOSY_ASSIGN_OR_RETURN(const std::string delimiter, a.text("field_delim"));
  if (delimiter.size() != 1) return invalid_argument("field_delim should be only 1 char");
  o.delimiter = delimiter[0];
  ARGOSY_ASSIGN_OR_RETURN(o.missing, a.text("na_value"));
  ARGOSY_ASSIGN_OR_RETURN(o.selected, columns_of(a, "select_cols"));
  if (a.op() == "CSVDatasetV2") {
    ARGOSY_ASSIGN_OR_RETURN(o.excluded, columns_of(a, "exclude_cols"));
    if (!o.selected.empty() && !o.excluded.empty()) {
      return invalid_argument("Either select_cols or exclude_cols should be empty");
    }
  }
  o.defaults = a.tensors("record_defaults");
  if (!o.selected.empty() && o.selected.size() != o.defaults.size()) {
    return invalid_argument("select_cols should match output size");
  }
  for (std::size_t i = 0; i < o.defaults.size(); ++i) {
    if (o.defaults[i].shape().rank() > 1) return invalid_argument("Each record default should be at most rank 1");
    if (o.defaults[i].elements() > 1) {
      return invalid_argument("There should only be 1 default per field but field ", i, " has ",
                              o.defaults[i].elements());
    }
  }
  return DatasetPtr(std::make_shared<Csv>(a, std::move(o)));
}

}  // namespace

void add_csv(KernelRegistry& kernels) {
  add_dataset<make_csv>(kernels, {"CSVDataset", "CSVDatasetV2", "ExperimentalCSVDataset"});
}

}  // namespace argosy::datasets
