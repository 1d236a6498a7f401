// HostCallbacks: functions in the client's process that a running graph calls by name (PyFunc). The device set provides
// the implementation (DeviceSet::set_host_callbacks); without one, there are none.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "argosy/base/threads/cancellation.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// Thread-safe: many calls at once.
class HostCallbacks {
 public:
  using Done = std::function<void(Result<std::vector<Tensor>>)>;  // receives the results, on any thread
  virtual ~HostCallbacks() = default;
  // Calls the function `token` with `arguments`, which are in host memory. `done` is called once, from any thread. It
  // gets the results, the function's error, UNAVAILABLE if the client is gone, or the reason of `cancellation` (may be
  // null). The cancellation and the arguments' memory must stay valid until then.
  virtual void call(const std::string& token, std::vector<Tensor> arguments, Cancellation* cancellation, Done done) = 0;
};

}  // namespace argosy
