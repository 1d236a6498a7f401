#include "argosy/runtime/execute/inject_bit_flip.h"

#include "argosy/device/emulated/fault_injector.h"
#include "argosy/device/event.h"
#include "argosy/op/state/variable.h"
#include "argosy/tensor/resource.h"

namespace argosy {

namespace {

struct Bit {
  std::size_t byte = 0;
  unsigned mask = 0;  // 0: not a floating-point dtype
};

// The third bit of the mantissa, in little-endian memory. A flip changes a normal number by a sixteenth to an eighth.
Bit bit_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return {2, 0x10};
    case DType::kFloat64: return {6, 0x02};
    case DType::kBfloat16: return {0, 0x10};
    case DType::kFloat16: return {0, 0x80};
    default: return {};
  }
}

// REQUIRES: `at` is in the device's memory.
Status flip(Device& device, std::byte* at, unsigned mask) {
  LaunchQueue* const queue = device.launch_queue();
  if (queue == nullptr) {
    *at ^= static_cast<std::byte>(mask);
    return {};
  }
  std::byte value{};
  ARGOSY_RETURN_IF_ERROR(device.allocator().copy_out(&value, at, 1));
  value ^= static_cast<std::byte>(mask);
  ARGOSY_ASSIGN_OR_RETURN(const Event there, queue->copy_in(Buffer::borrow(at, 1), Buffer::borrow(&value, 1)));
  ARGOSY_RETURN_IF_ERROR(queue->wait(there));
  if (there.state() != nullptr) there.state()->wait();
  return queue->failure();
}

}  // namespace

Status inject_bit_flip_if_due(KernelObserver& observer, Device& device, std::span<const Tensor* const> inputs,
                              std::span<const OutputSlot> outputs) {
  auto* const fault_injector = dynamic_cast<FaultInjector*>(&observer);
  if (fault_injector == nullptr || !fault_injector->flip_due()) return {};
  for (const OutputSlot& slot : outputs) {
    const Tensor* const tensor = slot.tensor;
    if (tensor == nullptr || !tensor->valid() || tensor->elements() == 0) continue;
    const Bit bit = bit_of(tensor->dtype());
    if (bit.mask == 0 || (slot.on_host && device.launch_queue() != nullptr)) continue;
    fault_injector->flipped();
    return flip(device, static_cast<std::byte*>(tensor->raw()) + bit.byte, bit.mask);
  }
  for (const Tensor* const input : inputs) {
    if (input == nullptr || !input->valid() || input->dtype() != DType::kResource || input->elements() != 1) continue;
    const ResourceHandle& handle = *input->data<ResourceHandle>();
    const auto variable = std::dynamic_pointer_cast<Variable>(handle.resource());
    if (variable == nullptr || bit_of(variable->dtype()).mask == 0 || !variable->initialized()) continue;
    return variable->update(handle.name(), [&](Tensor& value) -> Status {
      if (value.elements() == 0) return {};
      const Bit bit = bit_of(value.dtype());
      fault_injector->flipped();
      return flip(device, static_cast<std::byte*>(value.raw()) + bit.byte, bit.mask);
    });
  }
  return {};
}

}  // namespace argosy
