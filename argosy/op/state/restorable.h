// Restorable: a resource whose state can be set aside, looked at and put back, so that a step can run a second time
// from the same state.
#pragma once

#include <functional>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

class Restorable {
 public:
  virtual ~Restorable() = default;
  // What puts the state back to what it is now, as often as it is called. FAILED_PRECONDITION: somebody waits for this
  // resource, and would miss what is put back. Only while no step uses the resource, then and when it is called.
  virtual Result<std::function<Status()>> set_aside() const = 0;
  // What it holds, in an order that depends on that alone.
  virtual Result<std::vector<Tensor>> contents() const = 0;
};

}  // namespace argosy
