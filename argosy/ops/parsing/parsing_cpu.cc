// Kernels: raw bytes, compressed bytes, serialized tensors.
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "argosy/formats/proto/serialized_tensor.h"
#include "argosy/formats/records/examples.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/parsing/csv.h"
#include "argosy/ops/parsing/examples.h"
#include "argosy/ops/string/each_string.h"

namespace argosy {

namespace {

// Numbers written the other way round.
void swap_bytes(const Tensor& t) {
  const std::size_t size = is_complex(t.dtype()) ? element_bytes(t.dtype()) / 2 : element_bytes(t.dtype());
  auto* bytes = static_cast<char*>(t.raw());
  for (std::size_t i = 0; i < t.bytes(); i += size) std::reverse(bytes + i, bytes + i + size);
}

Result<Shape> with_axis(const Shape& shape, std::int64_t size) {
  std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  sizes.push_back(size);
  if (sizes.size() > Shape::kMaxRank)
    return invalid_argument("one more axis than the ", Shape::kMaxRank, " there may be");
  return Shape::make(sizes);
}

void finish(const Tensor& y, const AttrMap& attrs) {
  if (!attrs.get_bool("little_endian")) swap_bytes(y);
  if (y.dtype() == DType::kBool) {  // any byte but 0 is true
    auto* bytes = static_cast<unsigned char*>(y.raw());
    for (std::size_t i = 0; i < y.bytes(); ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
  }
}

Status decode_raw(KernelContext& c, const AttrMap& attrs) {
  const Tensor& x = c.input(0);
  const DType dtype = c.output_dtype(0);
  const auto each = static_cast<std::int64_t>(element_bytes(dtype));
  const std::span<const std::string> strings = x.values<std::string>();
  const std::size_t length = strings.empty() ? 0 : strings[0].size();
  for (std::size_t i = 0; i < strings.size(); ++i) {
    if (strings[i].size() != length) {
      return invalid_argument("DecodeRaw requires input strings to all be the same size, but element ", i, " has size ",
                              strings[i].size(), " != ", length);
    }
  }
  if (static_cast<std::int64_t>(length) % each != 0) {
    return invalid_argument("Input to DecodeRaw has length ", length, " that is not a multiple of ", each,
                            ", the size of ", dtype_name(dtype));
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, with_axis(x.shape(), static_cast<std::int64_t>(length) / each));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  auto* to = static_cast<char*>(y->raw());
  for (const std::string& s : strings) {
    if (length > 0) std::memcpy(to, s.data(), length);
    to += length;
  }
  finish(*y, attrs);
  return ok_status();
}

Status decode_padded_raw(KernelContext& c, const AttrMap& attrs) {
  const Tensor& x = c.input(0);
  const auto each = static_cast<std::int64_t>(element_bytes(c.output_dtype(0)));
  if (c.input(1).shape().rank() != 0) {
    return invalid_argument("fixed_length must be a scalar, not of shape ", c.input(1).shape());
  }
  const std::int64_t length = *c.input(1).data<std::int32_t>();
  if (length <= 0 || length % each != 0) {
    return invalid_argument("fixed_length (", length, ") must be a positive multiple of the size of out_type (", each,
                            ")");
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, with_axis(x.shape(), length / each));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  auto* to = static_cast<char*>(y->raw());
  for (const std::string& s : x.values<std::string>()) {
    const std::size_t given = std::min(s.size(), static_cast<std::size_t>(length));
    std::memcpy(to, s.data(), given);
    std::memset(to + given, 0, static_cast<std::size_t>(length) - given);
    to += length;
  }
  finish(*y, attrs);
  return ok_status();
}

constexpr std::size_t kMostBytes = std::size_t{1} << 31;

// Zlib's or gzip's format, also several pieces one after the other.
Status inflate_all(const std::string& bytes, bool gzip, std::string& to) {
  if (bytes.size() > std::numeric_limits<uInt>::max()) return invalid_argument("more than 4 GiB to decompress");
  z_stream stream = {};
  if (inflateInit2(&stream, gzip ? MAX_WBITS + 16 : MAX_WBITS) != Z_OK) return internal_error("zlib does not start");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> ends(&stream, &inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  Status status;
  char part[1 << 15];
  int result = Z_OK;
  MadeStrings made;
  while (stream.avail_in > 0 || result == Z_OK) {
    if (result == Z_STREAM_END) inflateReset(&stream);
    stream.next_out = reinterpret_cast<Bytef*>(part);
    stream.avail_out = sizeof part;
    result = inflate(&stream, Z_NO_FLUSH);
    check_interrupted();
    ARGOSY_RETURN_IF_ERROR(made.append(to, {part, sizeof part - stream.avail_out}));
    if (to.size() > kMostBytes) {
      status = resource_exhausted("more than ", kMostBytes, " bytes come out of ", bytes.size());
      break;
    }
    if (result == Z_STREAM_END) continue;
    if (result == Z_OK) continue;
    status = data_loss("inflate() failed with error ", result, ": ",
                       result == Z_BUF_ERROR   ? "the data ends too early"
                       : stream.msg != nullptr ? stream.msg
                                               : "");
    break;
  }
  return status;
}

Status decode_compressed(KernelContext& c, const AttrMap& attrs) {
  const std::string& type = attrs.get_string("compression_type");
  if (!type.empty() && type != "ZLIB" && type != "GZIP") {
    return invalid_argument("Only ZLIB, GZIP or NONE are supported compressions, not ", type);
  }
  return each_string<std::string>(c, [&](const std::string& bytes, std::string& to) {
    if (type.empty()) {
      to = bytes;
      return ok_status();
    }
    std::string out;
    if (!bytes.empty()) ARGOSY_RETURN_IF_ERROR(inflate_all(bytes, type == "GZIP", out));
    to = std::move(out);
    return ok_status();
  });
}

Status decode_json(KernelContext& c) {
  return each_string<std::string>(c, [](const std::string& json, std::string& to) {
    ARGOSY_ASSIGN_OR_RETURN(to, tf::example_from_json(json));
    return ok_status();
  });
}

Status serialize(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(std::string bytes, tf::serialize_tensor(c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::string>() = std::move(bytes);
  return ok_status();
}

Status parse(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string_view bytes, one_string(c, 0, "ParseTensor: serialized"));
  constexpr std::int64_t kLimit = std::int64_t{1} << 36;
  auto read = tf::parse_tensor(bytes, kLimit);
  if (read.status().code() == Code::kUnimplemented) {  // also of no bytes: their type is 0
    return invalid_argument("Cannot parse tensor from proto: ", read.status().message());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor parsed, std::move(read));
  if (parsed.dtype() != c.output_dtype(0)) {
    return invalid_argument("Type mismatch between parsed tensor (", dtype_name(parsed.dtype()), ") and dtype (",
                            dtype_name(c.output_dtype(0)), ")");
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, parsed.shape()));
  copy_elements(*y, parsed);
  return ok_status();
}

}  // namespace

void add_kernels_cpu_parsing(KernelRegistry& kernels) {
  kernels.add("DecodeRaw", "cpu", AttrKernel<decode_raw>::make);
  kernels.add("DecodePaddedRaw", "cpu", AttrKernel<decode_padded_raw>::make);
  kernels.add("DecodeCompressed", "cpu", AttrKernel<decode_compressed>::make);
  kernels.add("DecodeJSONExample", "cpu", decode_json);
  kernels.add("SerializeTensor", "cpu", serialize);
  kernels.add("ParseTensor", "cpu", parse);
  add_kernels_cpu_csv(kernels);
  add_kernels_cpu_examples(kernels);
}

}  // namespace argosy
