#include "argosy/op/kernel/forward_input.h"

#include <utility>

namespace argosy {

Status forward_input(KernelContext& c, int i, Tensor tensor) {
  const OutputSlot& slot = c.fields().outputs[i];
  const bool copied = slot.planned && slot.tensor->dtype() == tensor.dtype() && slot.tensor->shape() == tensor.shape();
  if (copied || tensor.buffer().owned() || !is_plain(tensor.dtype())) {
    c.set_output(i, std::move(tensor));
    return ok_status();
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(i, tensor.shape()));
  if (tensor.bytes() == 0) return ok_status();
  const bool on_host = c.fields().host_allocator == nullptr || slot.on_host;
  if (!on_host) return c.allocator().copy_within(y->raw(), tensor.raw(), tensor.bytes());
  copy_elements(*y, tensor);
  return ok_status();
}

}  // namespace argosy
