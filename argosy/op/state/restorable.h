// Restorable: a resource whose state can be saved, compared and restored, so that a step can run again from the same
// state.
#pragma once

#include <functional>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

class Restorable {
 public:
  virtual ~Restorable() = default;
  // Saves the state. Returns a function that restores it, and may be called many times. FAILED_PRECONDITION: an
  // operation waits for this resource, and would not notice the restored state. REQUIRES: no step uses the resource,
  // now and when the function is called.
  virtual Result<std::function<Status()>> snapshot() const = 0;
  // Returns the contents, in an order that depends only on the contents.
  virtual Result<std::vector<Tensor>> contents() const = 0;
};

}  // namespace argosy
