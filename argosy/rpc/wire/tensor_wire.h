// Reads and writes tensors as TensorProtos, without a parsed message: the elements are copied at most once.
#pragma once

#include <functional>
#include <optional>

#include "argosy/rpc/wire/wire_reader.h"
#include "argosy/rpc/wire/wire_writer.h"
#include "argosy/tensor/tensor.h"

namespace argosy::tf {

// The context of reading and writing tensors: the size limit, the memory, and the conversions of handles and variants.
struct TensorWire {
  std::int64_t limit_bytes = std::int64_t{1} << 33;  // of one read tensor; above: RESOURCE_EXHAUSTED, nothing allocated
  Allocator* memory = nullptr;                       // allocates tensors that are read; null: host_allocator()
  // Finds a resource by device ("": any), container and name. NOT_FOUND: there is none.
  std::function<Result<ResourceHandle>(std::string_view device, const std::string& container, const std::string& name)>
      find_resource;
  // Returns the full name of the device that holds the resource; "": none does.
  std::function<std::string(const ResourceHandle&)> device_of;
  // Returns the tensor that this string scalar stands for (tf/server/feeds/lent_feeds.h); nullopt: it is a string. Null:
  // every string is one.
  std::function<std::optional<Result<Tensor>>(std::string_view text)> lent;
  // Convert a variant to a serialised VariantTensorDataProto, and back. Null: variants cannot be sent or received.
  std::function<Result<std::string>(const Variant&)> write_variant;
  std::function<Result<Variant>(std::string_view message)> read_variant;
};

// Reads a TensorProto. INVALID_ARGUMENT: it is damaged, or contradicts itself.
Result<Tensor> read_tensor(WireReader message, const TensorWire& wire);

// A TensorProto to write. First write size() as the length of the enclosing field, then call append_to().
// make() fails with UNIMPLEMENTED for variants without TensorWire::write_variant, and with RESOURCE_EXHAUSTED from 2
// GiB on.
class TensorMessage {
 public:
  static Result<TensorMessage> make(const Tensor& tensor, const TensorWire& wire);
  std::size_t size() const { return size_; }
  void append_to(WireWriter& to) const;

 private:
  Tensor tensor_;
  std::string head_;      // all fields but the elements of plain tensors
  bool lends_ = false;    // the elements of tensor_ follow head_
  std::size_t size_ = 0;  // of the whole message
};

}  // namespace argosy::tf
