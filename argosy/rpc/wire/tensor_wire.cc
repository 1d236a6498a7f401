#include "argosy/rpc/wire/tensor_wire.h"

#include <algorithm>

#include "argosy/base/checked.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/formats/proto/types.pb.h"
#include "argosy/formats/proto/wire.h"
#include "argosy/op/state/variable.h"
#include "argosy/tensor/string_budget.h"

namespace argosy::tf {

namespace {

constexpr std::size_t kMessageLimit = std::size_t{1} << 31;
constexpr std::int64_t kBytesPerThread = 4 << 20;

Status damaged(const auto&... what) { return invalid_argument("TensorProto: ", what...).with_id("ARG-PROTO-001"); }

// TensorShapeProto, all sizes known.
Result<Shape> read_shape(WireReader in) {
  std::vector<std::int64_t> sizes;
  bool unknown_rank = false;
  for (WireField f; in.next(f);) {
    if (f.number == 2 && f.is_bytes()) {
      WireReader dim = in.message(f);
      std::int64_t size = 0;
      for (WireField d; dim.next(d);) {
        if (d.number == 1 && d.is_varint()) size = static_cast<std::int64_t>(d.value);
        dim.skip(d);
      }
      if (!dim.ok()) return damaged("its shape is damaged");
      if (sizes.size() == static_cast<std::size_t>(Shape::kMaxRank)) return damaged("a shape above rank 254");
      sizes.push_back(size);
    } else {
      if (f.number == 3 && f.is_varint()) unknown_rank = f.value != 0;
      in.skip(f);
    }
  }
  if (!in.ok()) return damaged("its shape is damaged");
  if (unknown_rank || std::ranges::any_of(sizes, [](std::int64_t s) { return s < 0; })) {
    return damaged("a tensor needs a fully known shape, this one has ", unknown_rank ? "no rank" : "negative sizes");
  }
  return Shape::make(sizes);
}

// Lengths of all strings, then all bytes.
Result<Tensor> read_strings(const Shape& shape, WireReader content) {
  WireReader lengths = content;
  std::uint64_t total = 0;
  const std::int64_t n = shape.elements();
  if (n > static_cast<std::int64_t>(content.remaining())) {
    return damaged(content.remaining(), " bytes of content for ", n, " strings");
  }
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint64_t length = 0;
    if (!lengths.varint(length) || length > content.remaining()) return damaged("string ", i, " is damaged");
    total += length;
  }
  if (lengths.remaining() != total) return damaged(lengths.remaining(), " bytes for strings of ", total);
  ARGOSY_ASSIGN_OR_RETURN(const Tensor tensor, Tensor::allocate(DType::kString, shape, host_allocator()));
  for (std::string& s : tensor.values<std::string>()) {
    std::uint64_t length = 0;
    (void)content.varint(length);
    s.resize(length);
    (void)lengths.copy(length, s.data());
  }
  ARGOSY_RETURN_IF_ERROR(reserve_strings(tensor, "a fed tensor"));
  return tensor;
}

Result<Tensor> read_resources(const tensorflow::TensorProto& proto, const Shape& shape, const TensorWire& wire) {
  if (proto.resource_handle_val_size() != shape.elements() || wire.find_resource == nullptr) {
    return damaged(proto.resource_handle_val_size(), " resource handles for shape ", shape);
  }
  ARGOSY_ASSIGN_OR_RETURN(const Tensor tensor, Tensor::allocate(DType::kResource, shape, host_allocator()));
  for (int i = 0; i < proto.resource_handle_val_size(); ++i) {
    const auto& handle = proto.resource_handle_val(i);
    ARGOSY_ASSIGN_OR_RETURN(tensor.data<ResourceHandle>()[i],
                            wire.find_resource(handle.device(), handle.container(), handle.name()));
  }
  return tensor;
}

Result<Tensor> read_variants(const tensorflow::TensorProto& proto, const Shape& shape, const TensorWire& wire) {
  if (proto.variant_val_size() != shape.elements()) {
    return damaged(proto.variant_val_size(), " variants for shape ", shape);
  }
  ARGOSY_ASSIGN_OR_RETURN(const Tensor tensor, Tensor::allocate(DType::kVariant, shape, host_allocator()));
  for (int i = 0; i < proto.variant_val_size(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(tensor.data<Variant>()[i], wire.read_variant(proto.variant_val(i).SerializeAsString()));
  }
  return tensor;
}

// As TensorFlow sends them: lengths of all messages, then all bytes.
Result<Tensor> read_variants(const Shape& shape, WireReader content, const TensorWire& wire) {
  ARGOSY_ASSIGN_OR_RETURN(const Tensor messages, read_strings(shape, content));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor tensor, Tensor::allocate(DType::kVariant, shape, host_allocator()));
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(tensor.data<Variant>()[i], wire.read_variant(messages.data<std::string>()[i]));
  }
  return tensor;
}

// The client is idle while a large request is copied, so all cores may help.
void copy_content(const WireReader& content, std::int64_t bytes, char* to) {
  parallel_for(bytes, kBytesPerThread, [&](std::int64_t begin, std::int64_t end) {
    WireReader part = content;
    (void)part.drop(static_cast<std::size_t>(begin));
    (void)part.copy(static_cast<std::size_t>(end - begin), to + begin);
  });
}

// Value lists, which are short: TensorFlow's client sends contents.
Result<Tensor> read_values(const WireReader& message, const Shape& shape, DType dtype, const TensorWire& wire) {
  tensorflow::TensorProto proto;
  if (!proto.ParseFromString(message.joined())) return damaged("the message is damaged");
  if (dtype == DType::kResource) return read_resources(proto, shape, wire);
  if (dtype == DType::kVariant && wire.read_variant != nullptr) return read_variants(proto, shape, wire);
  return from_proto(proto, wire.limit_bytes);
}

Status too_large(DType dtype, const Shape& shape, const TensorWire& wire) {
  return resource_exhausted("a ", dtype_name(dtype), shape, " tensor is larger than the ",
                            format_bytes(static_cast<std::uint64_t>(wire.limit_bytes)), " that one request may bring")
      .with_id("ARG-PROTO-002");
}

Result<Tensor> read_sent(WireReader message, const TensorWire& wire) {
  const WireReader whole = message;
  std::uint64_t number = 0;
  Shape shape;
  WireReader content;
  for (WireField f; message.next(f);) {
    if (f.number == 1 && f.is_varint()) {
      number = f.value;
    } else if (f.number == 2 && f.is_bytes()) {
      ARGOSY_ASSIGN_OR_RETURN(shape, read_shape(message.message(f)));
    } else if (f.number == 4 && f.is_bytes()) {
      content = message.message(f);
    } else {
      message.skip(f);
    }
  }
  if (!message.ok()) return damaged("the message is damaged");
  const DType dtype = number <= static_cast<std::uint64_t>(DType::kUint64) ? DType(number) : DType::kInvalid;
  if (dtype == DType::kInvalid) return invalid_argument("a tensor of type number ", number, " is not supported");
  const auto bytes = checked_mul(shape.elements(), static_cast<std::int64_t>(element_bytes(dtype)));
  if (!bytes || *bytes > wire.limit_bytes) return too_large(dtype, shape, wire);
  if (content.remaining() == 0) return read_values(whole, shape, dtype, wire);
  if (dtype == DType::kString) return read_strings(shape, content);
  if (dtype == DType::kVariant && wire.read_variant != nullptr) return read_variants(shape, content, wire);
  if (!is_plain(dtype)) return unimplemented("a ", dtype_name(dtype), " tensor cannot be fed by its bytes");
  if (static_cast<std::int64_t>(content.remaining()) != *bytes) {
    return damaged(dtype_name(dtype), shape, " with ", content.remaining(), " bytes of content");
  }
  Allocator& memory = wire.memory != nullptr ? *wire.memory : host_allocator();
  ARGOSY_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(dtype, shape, memory));
  copy_content(content, *bytes, tensor.raw_as<char>());
  if (dtype == DType::kBool) {
    auto* const flags = tensor.raw_as<unsigned char>();
    for (std::int64_t i = 0; i < *bytes; ++i) flags[i] = flags[i] != 0 ? 1 : 0;
  }
  return tensor;
}

}  // namespace

Result<Tensor> read_tensor(WireReader message, const TensorWire& wire) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor sent, read_sent(message, wire));
  if (wire.lent == nullptr || sent.dtype() != DType::kString || sent.shape().rank() != 0) return sent;
  auto lent = wire.lent(*sent.data<std::string>());
  if (!lent) return sent;
  if (lent->ok() && static_cast<std::int64_t>((*lent)->bytes()) > wire.limit_bytes) {
    return too_large((*lent)->dtype(), (*lent)->shape(), wire);
  }
  return *std::move(lent);
}

Result<TensorMessage> TensorMessage::make(const Tensor& tensor, const TensorWire& wire) {
  TensorMessage m;
  WireWriter head;
  head.varint_field(1, static_cast<std::uint64_t>(tensor.dtype()));
  WireWriter shape;
  for (const std::int64_t size : tensor.shape().sizes()) {
    const auto value = static_cast<std::uint64_t>(size);
    shape.begin_bytes(2, value == 0 ? 0 : 1 + WireWriter::varint_size(value));
    shape.varint_field(1, value);
  }
  head.bytes_field(2, joined(shape.take()));
  if (tensor.dtype() == DType::kString) {
    for (const std::string& s : tensor.values<std::string>()) head.bytes_field(8, s);
  } else if (tensor.dtype() == DType::kResource) {
    for (const ResourceHandle& handle : tensor.values<ResourceHandle>()) {
      tensorflow::ResourceHandleProto proto;
      if (wire.device_of != nullptr) proto.set_device(wire.device_of(handle));
      proto.set_container(handle.container());
      proto.set_name(handle.name());
      if (const auto variable = std::dynamic_pointer_cast<Variable>(handle.resource())) {
        auto* kind = proto.add_dtypes_and_shapes();
        kind->set_dtype(static_cast<tensorflow::DataType>(variable->dtype()));
        to_proto(variable->shape(), kind->mutable_shape());
      }
      head.bytes_field(14, proto.SerializeAsString());
    }
  } else if (tensor.dtype() == DType::kVariant && wire.write_variant != nullptr) {
    std::string lengths, bytes;
    for (const Variant& value : tensor.values<Variant>()) {
      ARGOSY_ASSIGN_OR_RETURN(const std::string message, wire.write_variant(value));
      put_varint(lengths, message.size());
      bytes += message;
    }
    head.bytes_field(4, lengths + bytes);
  } else if (!is_plain(tensor.dtype())) {
    return unimplemented("a ", dtype_name(tensor.dtype()), " tensor cannot be sent to a client")
        .with_hint("fetch values made from it");
  } else if (tensor.bytes() > 0) {
    head.begin_bytes(4, tensor.bytes());
    m.lends_ = true;
    m.tensor_ = tensor;
  }
  m.head_ = joined(head.take());
  m.size_ = m.head_.size() + (m.lends_ ? tensor.bytes() : 0);
  if (m.size_ >= kMessageLimit) {
    return resource_exhausted("a fetched tensor of ", format_bytes(m.size_), " exceeds the 2 GiB of a message")
        .with_id("ARG-PROTO-002")
        .with_hint("fetch parts of it");
  }
  return m;
}

void TensorMessage::append_to(WireWriter& to) const {
  to.append(head_);
  if (lends_) to.append_elements(tensor_);
}

}  // namespace argosy::tf
