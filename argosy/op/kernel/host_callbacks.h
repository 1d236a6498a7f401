// HostCallbacks: functions of the program that built a graph, which the graph calls by name while it runs (PyFunc). How
// they are reached is said where the graph runs (DeviceSet::set_host_callbacks); elsewhere there are none.
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
  // Calls the function `token` with `arguments`, tensors of the host. `done` is called once, from any thread, with the
  // tensors it gave, its own error, UNAVAILABLE when the program is gone, or what `cancellation` (may be null) was
  // pulled with. The cancellation and the arguments' memory stay until then.
  virtual void call(const std::string& token, std::vector<Tensor> arguments, Cancellation* cancellation, Done done) = 0;
};

}  // namespace argosy
