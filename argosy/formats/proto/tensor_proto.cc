#include "argosy/formats/proto/tensor_proto.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "argosy/base/checked.h"
#include "argosy/formats/proto/types.pb.h"
#include "argosy/formats/proto/wire.h"
#include "argosy/tensor/string_budget.h"

namespace argosy::tf {

namespace {

Status damaged(const auto&... what) { return invalid_argument("TensorProto: ", what...).with_id("ARG-PROTO-001"); }

// The list as it is, then its last value again; nothing at all means zeros. T: what the dtype's elements are made of.
template <typename T, typename List, typename Convert>
Status fill(const Tensor& to, const List& list, Convert&& convert) {
  const std::int64_t n = to.elements();
  if (list.size() > n) return damaged(list.size(), " values for a tensor of shape ", to.shape());
  T* out = to.raw_as<T>();
  for (std::int64_t i = 0; i < list.size(); ++i) out[i] = convert(list.Get(static_cast<int>(i)));
  std::fill(out + list.size(), out + n, list.empty() ? T() : T(out[list.size() - 1]));
  return ok_status();
}

// Real and imaginary parts in turn.
template <typename T, typename List>
Status fill_complex(const Tensor& to, const List& list) {
  const std::int64_t n = to.elements();
  const std::int64_t given = list.size() / 2;
  if (list.size() % 2 != 0 || given > n) return damaged(list.size(), " parts for a tensor of shape ", to.shape());
  auto* out = to.data<std::complex<T>>();
  for (std::int64_t i = 0; i < given; ++i) {
    out[i] = {list.Get(static_cast<int>(2 * i)), list.Get(static_cast<int>(2 * i + 1))};
  }
  std::fill(out + given, out + n, given == 0 ? std::complex<T>() : out[given - 1]);
  return ok_status();
}

template <typename T>
Status fill_small(const Tensor& to, const tensorflow::TensorProto& p) {
  return fill<T>(to, p.int_val(), [](std::int32_t v) { return static_cast<T>(v); });
}

Status fill_values(const Tensor& to, const tensorflow::TensorProto& p) {
  const auto bits16 = [&]<typename T>(T) {
    return fill<T>(to, p.half_val(), [](std::int32_t v) { return T::from_bits(static_cast<std::uint16_t>(v)); });
  };
  const auto same = [](auto v) { return v; };
  switch (to.dtype()) {
    case DType::kFloat32: return fill<float>(to, p.float_val(), same);
    case DType::kFloat64: return fill<double>(to, p.double_val(), same);
    case DType::kFloat16: return bits16(float16());
    case DType::kBfloat16: return bits16(bfloat16());
    case DType::kInt32: return fill_small<std::int32_t>(to, p);
    case DType::kInt16: return fill_small<std::int16_t>(to, p);
    case DType::kInt8: return fill_small<std::int8_t>(to, p);
    case DType::kUint8: return fill_small<std::uint8_t>(to, p);
    case DType::kUint16: return fill_small<std::uint16_t>(to, p);
    case DType::kQint8: return fill_small<std::int8_t>(to, p);
    case DType::kQuint8: return fill_small<std::uint8_t>(to, p);
    case DType::kQint16: return fill_small<std::int16_t>(to, p);
    case DType::kQuint16: return fill_small<std::uint16_t>(to, p);
    case DType::kQint32: return fill_small<std::int32_t>(to, p);
    case DType::kInt64: return fill<std::int64_t>(to, p.int64_val(), same);
    case DType::kUint32: return fill<std::uint32_t>(to, p.uint32_val(), same);
    case DType::kUint64: return fill<std::uint64_t>(to, p.uint64_val(), same);
    case DType::kBool: return fill<bool>(to, p.bool_val(), same);
    case DType::kString: return fill<std::string>(to, p.string_val(), same);
    case DType::kComplex64: return fill_complex<float>(to, p.scomplex_val());
    case DType::kComplex128: return fill_complex<double>(to, p.dcomplex_val());
    default: return unimplemented("TensorProto of type ", dtype_name(to.dtype())).with_id("ARG-PROTO-001");
  }
}

// Strings in tensor_content: all lengths as varints, then all bytes.
Status fill_strings(const Tensor& to, std::string_view content) {
  std::string_view lengths = content;
  std::uint64_t total = 0;
  for (std::int64_t i = 0; i < to.elements(); ++i) {
    std::uint64_t length = 0;
    if (!take_varint(lengths, length) || length > content.size()) return damaged("string ", i, " is damaged");
    total += length;
    if (total > content.size()) return damaged("strings are longer than their ", content.size(), " bytes");
  }
  if (lengths.size() != total) return damaged(lengths.size(), " bytes for strings of ", total);
  for (std::string& s : to.values<std::string>()) {
    std::uint64_t length = 0;
    (void)take_varint(content, length);
    s.assign(lengths.substr(0, length));
    lengths.remove_prefix(length);
  }
  return ok_status();
}

// What the strings of such a list take on the heap: its last one is repeated.
std::optional<std::int64_t> string_bytes(const tensorflow::TensorProto& p, std::int64_t elements) {
  const std::int64_t given = p.string_val_size();
  std::int64_t bytes = 0;
  for (const std::string& s : p.string_val()) bytes += static_cast<std::int64_t>(s.size());
  if (given == 0 || given >= elements) return bytes;
  const auto last = static_cast<std::int64_t>(p.string_val(static_cast<int>(given) - 1).size());
  const auto repeated = checked_mul(elements - given, last);
  if (!repeated || *repeated > INT64_MAX - bytes) return std::nullopt;
  return bytes + *repeated;
}

// A tensor for values of a list, not filled yet. Its memory is counted where it is more than the message's.
Result<Tensor> room_for_list(DType dtype, const Shape& shape, std::int64_t bytes, std::size_t message, HostUse use) {
  constexpr std::int64_t kUncounted = 4096;
  if (!is_plain(dtype) || bytes <= std::max(static_cast<std::int64_t>(message), kUncounted)) {
    return Tensor::allocate(dtype, shape, host_allocator());  // which counts the objects of strings
  }
  return allocate_reserved(use, dtype, shape, str_cat("a ", dtype_name(dtype), shape.to_string(), " of few values"));
}

Status fill_repeated(const Tensor& to, const tensorflow::TensorProto& p, std::size_t message) {
  if (to.dtype() != DType::kString) return fill_values(to, p);
  const std::string what = str_cat("a string", to.shape().to_string(), " of few values");
  const auto bytes = string_bytes(p, to.elements());
  if (bytes && *bytes <= static_cast<std::int64_t>(message)) return fill_values(to, p);
  {
    ARGOSY_ASSIGN_OR_RETURN(const auto while_filled,
                            host_budget().reserve(HostUse::kStrings, bytes.value_or(INT64_MAX), what));
    ARGOSY_RETURN_IF_ERROR(fill_values(to, p));
  }
  return reserve_strings(to, what);
}

}  // namespace

void to_proto(const PartialShape& shape, tensorflow::TensorShapeProto* proto) {
  proto->Clear();
  if (!shape.has_rank()) {
    proto->set_unknown_rank(true);
    return;
  }
  for (const std::int64_t size : shape.sizes()) proto->add_dim()->set_size(size);
}

Status to_proto(const Tensor& tensor, tensorflow::TensorProto* proto) {
  proto->Clear();
  proto->set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
  to_proto(PartialShape(tensor.shape()), proto->mutable_tensor_shape());
  if (tensor.dtype() == DType::kString) {
    for (const std::string& s : tensor.values<std::string>()) proto->add_string_val(s);
    return ok_status();
  }
  if (!is_plain(tensor.dtype())) {
    return unimplemented("a ", dtype_name(tensor.dtype()), " tensor cannot be written as a TensorProto")
        .with_id("ARG-PROTO-001");
  }
  if (tensor.bytes() >= (std::size_t{1} << 31)) {
    return resource_exhausted("a tensor of ", format_bytes(tensor.bytes()), " exceeds protobuf's 2 GiB")
        .with_id("ARG-PROTO-002")
        .with_hint("keep it in a variable and its value in a checkpoint");
  }
  proto->set_tensor_content(tensor.raw_as<const char>(), tensor.bytes());
  return ok_status();
}

Result<PartialShape> from_proto(const tensorflow::TensorShapeProto& proto) {
  if (proto.unknown_rank()) return PartialShape::unknown();
  std::vector<std::int64_t> sizes;
  for (const auto& dim : proto.dim()) {
    if (dim.size() < -1) return damaged("a dimension of size ", dim.size());
    sizes.push_back(dim.size());
  }
  if (sizes.size() > static_cast<std::size_t>(Shape::kMaxRank)) return damaged("a shape of rank ", sizes.size());
  return PartialShape(std::move(sizes));
}

Result<Tensor> from_proto(const tensorflow::TensorProto& proto, std::int64_t limit_bytes, HostUse use) {
  const int number = proto.dtype();
  const auto dtype =
      number > 0 && number <= static_cast<int>(DType::kUint64) ? static_cast<DType>(number) : DType::kInvalid;
  if (!is_plain(dtype) && dtype != DType::kString) {
    return unimplemented("TensorProto of type number ", number).with_id("ARG-PROTO-001");
  }
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape partial, from_proto(proto.tensor_shape()));
  if (!partial.is_full()) return damaged("shape ", partial, " is not known");
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, partial.full());
  const auto bytes = checked_mul(shape.elements(), static_cast<std::int64_t>(element_bytes(dtype)));
  if (!bytes || *bytes > limit_bytes) {
    return resource_exhausted("TensorProto: ", dtype_name(dtype), shape, " exceeds ",
                              format_bytes(static_cast<std::uint64_t>(limit_bytes)))
        .with_id("ARG-PROTO-002");
  }
  const std::string& content = proto.tensor_content();
  if (!content.empty() && dtype != DType::kString && static_cast<std::int64_t>(content.size()) != *bytes) {
    return damaged(dtype_name(dtype), shape, " with ", content.size(), " bytes of content");
  }
  if (content.empty()) {
    const std::size_t message = proto.ByteSizeLong();
    ARGOSY_ASSIGN_OR_RETURN(const Tensor tensor, room_for_list(dtype, shape, *bytes, message, use));
    ARGOSY_RETURN_IF_ERROR(fill_repeated(tensor, proto, message));
    return tensor;
  }
  ARGOSY_ASSIGN_OR_RETURN(const Tensor tensor, Tensor::allocate(dtype, shape, host_allocator()));
  if (dtype == DType::kString) {
    ARGOSY_RETURN_IF_ERROR(fill_strings(tensor, content));
  } else if (dtype == DType::kBool) {
    std::transform(content.begin(), content.end(), tensor.data<bool>(), [](char c) { return c != 0; });
  } else {
    std::memcpy(tensor.raw(), content.data(), content.size());
  }
  return tensor;
}

}  // namespace argosy::tf
