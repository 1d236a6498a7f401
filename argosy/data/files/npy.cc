#include "argosy/data/files/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "argosy/base/checked.h"
#include "argosy/base/system/file.h"
#include "argosy/data/files/swap_bytes.h"

namespace argosy::data {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostHeader = 1 << 20;

struct TypeName {
  std::string_view name;  // NumPy's, without byte order
  DType dtype;
};
constexpr TypeName kTypes[] = {
    {"f4", DType::kFloat32}, {"f8", DType::kFloat64},   {"f2", DType::kFloat16},     {"V2", DType::kBfloat16},
    {"i1", DType::kInt8},    {"i2", DType::kInt16},     {"i4", DType::kInt32},       {"i8", DType::kInt64},
    {"u1", DType::kUint8},   {"u2", DType::kUint16},    {"u4", DType::kUint32},      {"u8", DType::kUint64},
    {"b1", DType::kBool},    {"c8", DType::kComplex64}, {"c16", DType::kComplex128},
};

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<std::int64_t> sizes;
};

// The Python literal that NumPy writes: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  std::optional<Header> parse() {
    Header h;
    int seen = 0;
    if (!take('{')) return {};
    while (!take('}')) {
      const auto key = quoted();
      if (!key || !take(':')) return {};
      if (*key == "descr") {
        auto value = quoted();
        if (!value) return {};
        h.descr = *value;
        seen |= 1;
      } else if (*key == "fortran_order") {
        h.fortran = word("True");
        if (!h.fortran && !word("False")) return {};
        seen |= 2;
      } else if (*key == "shape") {
        if (!tuple(h.sizes)) return {};
        seen |= 4;
      } else {
        return {};
      }
      if (!take(',') && !peek('}')) return {};
    }
    skip();
    return seen == 7 && text_.empty() ? std::optional(std::move(h)) : std::nullopt;
  }

 private:
  void skip() { text_.remove_prefix(std::min(text_.find_first_not_of(" \n\t"), text_.size())); }
  bool peek(char c) {
    skip();
    return text_.starts_with(c);
  }
  bool take(char c) {
    if (!peek(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view w) {
    skip();
    if (!text_.starts_with(w)) return false;
    text_.remove_prefix(w.size());
    return true;
  }
  std::optional<std::string_view> quoted() {
    const char quote = peek('"') ? '"' : '\'';
    if (!take(quote)) return {};
    const std::size_t end = text_.find(quote);
    if (end == std::string_view::npos) return {};
    const std::string_view inside = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return inside;
  }
  bool tuple(std::vector<std::int64_t>& sizes) {
    sizes.clear();
    if (!take('(')) return false;
    while (!take(')')) {
      std::int64_t size = 0;
      skip();
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc()) return false;
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      sizes.push_back(size);
      if (!take(',') && !peek(')')) return false;
    }
    return true;
  }

  std::string_view text_;
};

}  // namespace

Result<Tensor> read_npy(const std::string& path) {
  ARGOSY_ASSIGN_OR_RETURN(const File file, File::open(path));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t file_bytes, file.size());
  const auto damaged = [&](const auto&... what) {
    return data_loss("npy file ", path, ": ", what...).with_id("ARG-DATA-006");
  };
  unsigned char start[12] = {};
  ARGOSY_RETURN_IF_ERROR(file.read_at(0, start, static_cast<std::size_t>(std::min<std::int64_t>(file_bytes, 12))));
  if (std::memcmp(start, kMagic.data(), kMagic.size()) != 0) return damaged("it does not begin with \\x93NUMPY");
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0) return damaged("format version ", version, ".", int{start[7]});
  const std::size_t header_at = version == 1 ? 10 : 12;
  std::size_t header_bytes = start[8] + (std::size_t{start[9]} << 8);
  if (version > 1) header_bytes += (std::size_t{start[10]} << 16) + (std::size_t{start[11]} << 24);
  const std::int64_t data_at = static_cast<std::int64_t>(header_at + header_bytes);
  if (header_bytes > kMostHeader || data_at > file_bytes) {
    return damaged("a header of ", header_bytes, " bytes in a file of ", file_bytes);
  }
  std::string text(header_bytes, '\0');
  ARGOSY_RETURN_IF_ERROR(file.read_at(static_cast<std::int64_t>(header_at), text.data(), text.size()));
  const std::optional<Header> header = HeaderParser(text).parse();
  if (!header) return damaged("its header cannot be parsed: ", text.substr(0, 80));

  const char order = header->descr.empty() ? '?' : header->descr[0];
  const auto type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeName& t) {
    return header->descr.size() > 1 && t.name == std::string_view(header->descr).substr(1);
  });
  if (type == std::end(kTypes) || (order != '<' && order != '>' && order != '|' && order != '=')) {
    return unimplemented("npy file ", path, " has type '", header->descr, "', which cannot be read")
        .with_id("ARG-DATA-006")
        .with_hint("save it as float32, an integer type or bool");
  }
  if (header->fortran && header->sizes.size() > 1) {
    return unimplemented("npy file ", path, " is in Fortran order")
        .with_id("ARG-DATA-006")
        .with_hint("save numpy.ascontiguousarray(x)");
  }
  Result<Shape> shape = Shape::make(header->sizes);
  if (!shape.ok()) return damaged(shape.status().message());
  const auto bytes = checked_mul(shape->elements(), static_cast<std::int64_t>(element_bytes(type->dtype)));
  if (!bytes || *bytes != file_bytes - data_at) {
    return damaged(dtype_name(type->dtype), *shape, " does not have the ", file_bytes - data_at,
                   " bytes that follow the header");
  }
  ARGOSY_ASSIGN_OR_RETURN(const Tensor values, Tensor::allocate(type->dtype, *shape, host_allocator()));
  ARGOSY_RETURN_IF_ERROR(file.read_at(data_at, values.raw(), values.bytes()));
  if (order == '>') swap_elements(values);
  if (type->dtype == DType::kBool) {
    // A byte other than 0 and 1 is no C++ bool.
    for (std::int64_t i = 0; i < values.elements(); ++i) {
      auto& byte = values.raw_as<std::uint8_t>()[i];
      byte = byte != 0 ? 1 : 0;
    }
  }
  return values;
}

Status write_npy(const std::string& path, const Tensor& tensor) {
  const auto type =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeName& t) { return t.dtype == tensor.dtype(); });
  if (type == std::end(kTypes)) {
    return unimplemented("a ", dtype_name(tensor.dtype()), " tensor cannot be written as npy").with_id("ARG-DATA-006");
  }
  const char order = element_bytes(tensor.dtype()) == 1 ? '|' : '<';
  const bool one = tensor.shape().rank() == 1;  // Python's one-tuple needs its comma
  std::string header = str_cat("{'descr': '", order, type->name, "', 'fortran_order': False, 'shape': (",
                               str_join(tensor.shape().sizes()), one ? "," : "", "), }");
  const std::size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header += '\n';
  if (header.size() > UINT16_MAX) return invalid_argument("shape ", tensor.shape(), " does not fit an npy header");
  std::string start(kMagic);
  start += '\1';
  start += '\0';
  start += static_cast<char>(header.size() & 0xff);
  start += static_cast<char>(header.size() >> 8);
  ARGOSY_ASSIGN_OR_RETURN(File file, File::create(path));
  ARGOSY_RETURN_IF_ERROR(file.write(start + header));
  ARGOSY_RETURN_IF_ERROR(file.write({tensor.raw_as<const char>(), tensor.bytes()}));
  return file.close();
}

}  // namespace argosy::data
