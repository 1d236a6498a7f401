// Tensors as they travel: TensorProto read from and written to the wire with one copy of the elements at most.
#pragma once

#include <functional>

#include "argosy/rpc/wire/wire_reader.h"
#include "argosy/rpc/wire/wire_writer.h"
#include "argosy/tensor/tensor.h"

namespace argosy::tf {

// The environment of tensors on the wire: limits, memory, and resources by name.
struct TensorWire {
  std::int64_t limit_bytes = std::int64_t{1} << 33;  // of one tensor: RESOURCE_EXHAUSTED before any allocation
  Allocator* memory = nullptr;                       // of what is read; null: the host's
  // The resource of this device ("" = any), container and name; NOT_FOUND.
  std::function<Result<ResourceHandle>(std::string_view device, const std::string& container, const std::string& name)>
      find_resource;
  // The full name of the device that holds it; "" when none does.
  std::function<std::string(const ResourceHandle&)> device_of;
  // A variant as a VariantTensorDataProto, and back. Null: variants do not travel.
  std::function<Result<std::string>(const Variant&)> write_variant;
  std::function<Result<Variant>(std::string_view message)> read_variant;
};

// A TensorProto. INVALID_ARGUMENT where it is damaged or contradicts itself.
Result<Tensor> read_tensor(WireReader message, const TensorWire& wire);

// A TensorProto to write: size() first, for the field around it, then append_to().
// UNIMPLEMENTED for variants that do not travel; RESOURCE_EXHAUSTED from 2 GiB on.
class TensorMessage {
 public:
  static Result<TensorMessage> make(const Tensor& tensor, const TensorWire& wire);
  std::size_t size() const { return size_; }
  void append_to(WireWriter& to) const;

 private:
  Tensor tensor_;
  std::string head_;      // all fields but the elements of plain tensors
  bool lends_ = false;    // elements follow the head
  std::size_t size_ = 0;  // of the whole message
};

}  // namespace argosy::tf
