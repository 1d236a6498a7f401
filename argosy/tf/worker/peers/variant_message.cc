#include "argosy/tf/worker/peers/variant_message.h"

#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/formats/proto/types.pb.h"
#include "argosy/formats/proto/wire.h"
#include "argosy/ops/iterator/optional_value.h"
#include "argosy/ops/list/tensor_list.h"

namespace argosy::tf {

namespace {

using tensorflow::TensorProto;
using tensorflow::VariantTensorDataProto;

using datasets::OptionalValue;

constexpr const char* kList = "tensorflow::TensorList";
constexpr const char* kOptional = "tensorflow::data::Optional";
constexpr int kMostLevels = 32;  // protobuf reads 100 messages in each other, and a level is two
constexpr std::int64_t kMostBytes = std::int64_t{1} << 31;

Status damaged(const auto&... what) { return invalid_argument("a variant: ", what...).with_id("ARG-PROTO-001"); }

Status does_not_travel(const auto&... what) {
  return unimplemented(what..., " does not travel between tasks")
      .with_id("ARG-SEND-009")
      .with_hint("put the op that makes it and those that use it on one task, with tf.device");
}

Status write(const Variant& value, VariantTensorDataProto& to);
Result<Variant> read(const VariantTensorDataProto& from);

// Lists hold lists: their tensors have variants.
Status write_tensor(const Tensor& tensor, TensorProto& to) {
  if (tensor.dtype() != DType::kVariant) return to_proto(tensor, &to);
  to.set_dtype(tensorflow::DT_VARIANT);
  to_proto(PartialShape(tensor.shape()), to.mutable_tensor_shape());
  for (const Variant& element : tensor.values<Variant>()) ARGOSY_RETURN_IF_ERROR(write(element, *to.add_variant_val()));
  return ok_status();
}

Result<Tensor> read_tensor(const TensorProto& from) {
  if (from.dtype() != tensorflow::DT_VARIANT) return from_proto(from, kMostBytes);
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape partial, from_proto(from.tensor_shape()));
  if (!partial.is_full() || partial.elements() != from.variant_val_size()) {
    return damaged(from.variant_val_size(), " variants for shape ", partial);
  }
  ARGOSY_ASSIGN_OR_RETURN(Shape shape, partial.full());
  ARGOSY_ASSIGN_OR_RETURN(const Tensor tensor, Tensor::allocate(DType::kVariant, std::move(shape), host_allocator()));
  for (int i = 0; i < from.variant_val_size(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(tensor.data<Variant>()[i], read(from.variant_val(i)));
  }
  return tensor;
}

// Metadata: how many places are empty, which; dtype, most elements, the elements' shape. Tensors: those that are there.
Status write_list(const TensorList& list, VariantTensorDataProto& to) {
  to.set_type_name(kList);
  std::string empty_places;
  std::uint64_t empty = 0;
  for (std::int64_t i = 0; i < list.size(); ++i) {
    const Element element = list.at(i);
    if (!element.valid()) {
      ++empty;
      put_varint(empty_places, static_cast<std::uint64_t>(i));
      continue;
    }
    ARGOSY_ASSIGN_OR_RETURN(const Tensor here, on_host(element));
    ARGOSY_RETURN_IF_ERROR(write_tensor(here, *to.add_tensors()));
  }
  std::string metadata;
  put_varint(metadata, empty);
  metadata += empty_places;
  put_varint(metadata, static_cast<std::uint64_t>(list.dtype()));
  put_varint(metadata, static_cast<std::uint64_t>(list.most_elements()));  // -1: 2^64 - 1, as TensorFlow's
  tensorflow::TensorShapeProto shape;
  to_proto(list.element_shape(), &shape);
  to.set_metadata(metadata + shape.SerializeAsString());
  return ok_status();
}

// Metadata: a byte that says whether there is a value. Tensors: its components.
Status write_optional(const OptionalValue& optional, VariantTensorDataProto& to) {
  to.set_type_name(kOptional);
  to.set_metadata(std::string(1, optional.value() ? '\1' : '\0'));
  if (!optional.value()) return ok_status();
  for (const Tensor& t : *optional.value()) ARGOSY_RETURN_IF_ERROR(write_tensor(t, *to.add_tensors()));
  return ok_status();
}

Status write(const Variant& value, VariantTensorDataProto& to) {
  const VariantValue* const held = value.value().get();
  if (held == nullptr) return ok_status();  // an empty one has no type
  if (held->nesting() > kMostLevels)
    return does_not_travel("a variant in variants, ", held->nesting(), " levels deep,");
  if (const auto* const list = dynamic_cast<const TensorList*>(held)) return write_list(*list, to);
  if (const auto* const optional = dynamic_cast<const OptionalValue*>(held)) return write_optional(*optional, to);
  return does_not_travel("a ", held->describe());
}

Result<Variant> read_list(const VariantTensorDataProto& from) {
  std::string_view rest = from.metadata();
  std::uint64_t empty = 0, number = 0, most = 0;
  if (!take_varint(rest, empty) || empty > rest.size()) return damaged("its metadata is cut");
  const std::int64_t size = from.tensors_size() + static_cast<std::int64_t>(empty);
  if (size > TensorList::kMaxElements) return damaged("it has ", size, " elements");
  std::vector<char> is_empty(static_cast<std::size_t>(size), 0);
  for (std::uint64_t i = 0; i < empty; ++i) {
    if (!take_varint(rest, number) || number >= static_cast<std::uint64_t>(size) || is_empty[number] != 0) {
      return damaged("its empty places are damaged");
    }
    is_empty[number] = 1;
  }
  if (!take_varint(rest, number) || !take_varint(rest, most)) return damaged("its metadata is cut");
  tensorflow::TensorShapeProto proto;
  if (number == 0 || number > static_cast<std::uint64_t>(DType::kUint64) ||
      !proto.ParseFromArray(rest.data(), static_cast<int>(rest.size()))) {
    return damaged("its dtype or shape is damaged");
  }
  ARGOSY_ASSIGN_OR_RETURN(PartialShape shape, from_proto(proto));
  auto list = std::make_shared<TensorList>(static_cast<DType>(number), std::move(shape),
                                           static_cast<std::int64_t>(static_cast<std::int32_t>(most)));
  for (std::int64_t i = 0, at = 0; i < size; ++i) {
    Element element;
    if (is_empty[static_cast<std::size_t>(i)] == 0) {
      ARGOSY_ASSIGN_OR_RETURN(element.value, read_tensor(from.tensors(static_cast<int>(at++))));
      ARGOSY_RETURN_IF_ERROR(list->check_element(element.value));
      element.home = &host_allocator();
    }
    list = list->pushed(std::move(element));
  }
  return Variant(std::move(list));
}

Result<Variant> read_optional(const VariantTensorDataProto& from) {
  const std::string& metadata = from.metadata();
  if (metadata.size() != 1 || metadata[0] < 0 || metadata[0] > 1) return damaged("an optional's metadata is damaged");
  if (metadata[0] == 0) return Variant(std::make_shared<OptionalValue>(std::nullopt));
  datasets::Element element;
  for (const TensorProto& t : from.tensors()) {
    ARGOSY_ASSIGN_OR_RETURN(element.emplace_back(), read_tensor(t));
  }
  return Variant(std::make_shared<OptionalValue>(std::move(element)));
}

Result<Variant> read(const VariantTensorDataProto& from) {
  if (from.type_name().empty()) return Variant();
  if (from.type_name() == kList) return read_list(from);
  if (from.type_name() == kOptional) return read_optional(from);
  return does_not_travel("a value of type ", from.type_name().substr(0, 100));
}

}  // namespace

Result<std::string> write_variant(const Variant& value) {
  VariantTensorDataProto message;
  ARGOSY_RETURN_IF_ERROR(write(value, message));
  if (message.ByteSizeLong() < static_cast<std::size_t>(kMostBytes)) return message.SerializeAsString();
  return resource_exhausted("a variant of ", format_bytes(message.ByteSizeLong()), " exceeds the 2 GiB of a message")
      .with_id("ARG-PROTO-002");
}

Result<Variant> read_variant(std::string_view bytes) {
  VariantTensorDataProto message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return damaged("the message is damaged");
  return read(message);
}

}  // namespace argosy::tf
