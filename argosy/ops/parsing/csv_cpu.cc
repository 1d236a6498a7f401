#include "argosy/ops/parsing/csv.h"

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/string/number.h"

namespace argosy {

namespace {

// Takes a field in quotes, and the delimiter behind it, off the front of `rest` (which is behind the opening quote).
Result<std::string> quoted_field(std::string_view& rest, char delimiter) {
  std::string field;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] != '"') {
      field += rest[i];
      continue;
    }
    const bool last = i + 1 == rest.size();
    if (last || rest[i + 1] == delimiter) {
      rest.remove_prefix(last ? i + 1 : i + 2);
      return field;
    }
    if (rest[i + 1] != '"') return invalid_argument("Quote inside a string has to be escaped by another quote");
    field += '"';
    ++i;
  }
  return invalid_argument("Quoted field has to end with quote followed by delim or end");
}

}  // namespace

Result<std::vector<std::string>> csv_fields(std::string_view record, char delimiter, bool quotes) {
  std::vector<std::string> fields;
  const bool open_end = record.ends_with(delimiter);  // one more, empty field
  for (std::string_view rest = record; !rest.empty();) {
    if (rest[0] == '\n' || rest[0] == '\r') {
      rest.remove_prefix(1);
      continue;
    }
    if (quotes && rest[0] == '"') {
      rest.remove_prefix(1);
      ARGOSY_ASSIGN_OR_RETURN(std::string field, quoted_field(rest, delimiter));
      fields.push_back(std::move(field));
      continue;
    }
    const std::string_view field = rest.substr(0, rest.find(delimiter));
    if (field.find_first_of(quotes ? "\"\n\r" : "\n\r") != std::string_view::npos) {
      return invalid_argument("Unquoted fields cannot have quotes/CRLFs inside");
    }
    fields.emplace_back(field);
    rest.remove_prefix(std::min(rest.size(), field.size() + 1));
  }
  if (open_end) fields.emplace_back();
  return fields;
}

namespace {

class DecodeCsv final : public Kernel {
 public:
  explicit DecodeCsv(const AttrMap& attrs)
      : delimiter_(attrs.get_string("field_delim")[0]),
        quotes_(attrs.get_bool("use_quote_delim")),
        missing_(attrs.get_string("na_value")),
        columns_(attrs.get<std::vector<std::int64_t>>("select_cols")) {}

  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const std::string& delimiter = init.attrs.get_string("field_delim");
    if (delimiter.size() != 1) return invalid_argument("field_delim should be only 1 char, not \"", delimiter, "\"");
    const auto& columns = init.attrs.get<std::vector<std::int64_t>>("select_cols");
    if (!columns.empty() && columns.size() != init.output_dtypes.size()) {
      return invalid_argument("select_cols should match output size: ", columns.size(), " columns for ",
                              init.output_dtypes.size(), " outputs");
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] < 0) return invalid_argument("select_cols should be non-negative indices, not ", columns[i]);
      if (i > 0 && columns[i] <= columns[i - 1]) {
        return invalid_argument("select_cols should be strictly increasing indices");
      }
    }
    return std::unique_ptr<Kernel>(std::make_unique<DecodeCsv>(init.attrs));
  }

  Status run(KernelContext& c) override {
    const std::span<const std::string> records = c.input(0).values<std::string>();
    std::vector<Tensor*> outputs;
    for (int f = 0; f < c.num_outputs(); ++f) {
      const Shape& shape = c.input(f + 1).shape();
      if (shape.rank() > 1) return invalid_argument("Each record default should be at most rank 1");
      if (shape.elements() > 1) {
        return invalid_argument("There should only be 1 default per field but field ", f, " has ", shape.elements());
      }
    }
    for (int f = 0; f < c.num_outputs(); ++f) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(f, c.input(0).shape()));
      outputs.push_back(y);
    }
    Poll poll(16);
    for (std::size_t i = 0; i < records.size(); ++i) {
      poll();
      ARGOSY_ASSIGN_OR_RETURN(std::vector<std::string> fields, csv_fields(records[i], delimiter_, quotes_));
      ARGOSY_RETURN_IF_ERROR(select(fields, outputs.size(), i));
      for (std::size_t f = 0; f < fields.size(); ++f) {
        ARGOSY_RETURN_IF_ERROR(store(fields[f], c.input(static_cast<int>(f) + 1), *outputs[f], f, i));
      }
    }
    return ok_status();
  }

 private:
  Status select(std::vector<std::string>& fields, std::size_t wanted, std::size_t record) const {
    if (!columns_.empty()) {
      std::vector<std::string> selected;
      for (const std::int64_t column : columns_) {
        if (column < static_cast<std::int64_t>(fields.size())) {
          selected.push_back(std::move(fields[static_cast<std::size_t>(column)]));
        }
      }
      fields = std::move(selected);
    }
    if (fields.size() == wanted) return ok_status();
    return invalid_argument("Expect ", wanted, " fields but have ", fields.size(), " in record ", record);
  }

  Status store(std::string& field, const Tensor& fallback, const Tensor& y, std::size_t f, std::size_t record) const {
    const bool absent = field.empty() || field == missing_;
    if (absent && fallback.elements() == 0) {
      return invalid_argument("Field ", f, " is required but missing in record ", record, "!");
    }
    using Types = TypeList<float, double, std::int32_t, std::int64_t, std::string>;
    return dispatch<Types>(y.dtype(), "DecodeCSV", [&]<typename T>() {
      T& to = y.data<T>()[record];
      if (absent) {
        to = *fallback.data<T>();
        return ok_status();
      }
      if constexpr (std::is_same_v<T, std::string>) {
        to = std::move(field);
      } else if (!parse_number(field, to)) {
        return invalid_argument("Field ", f, " in record ", record, " is not a valid ", dtype_name(y.dtype()), ": ",
                                field);
      }
      return ok_status();
    });
  }

  const char delimiter_;
  const bool quotes_;
  const std::string missing_;
  const std::vector<std::int64_t> columns_;
};

}  // namespace

void add_kernels_cpu_csv(KernelRegistry& kernels) { kernels.add("DecodeCSV", "cpu", DecodeCsv::make); }

}  // namespace argosy
