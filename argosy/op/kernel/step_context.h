// StepContext: one run of a step, for kernels that communicate: its identity, its cancellation, and the values of other
// devices. The runtime implements it; tests have small ones. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "argosy/base/threads/cancellation.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

class StepContext {
 public:
  virtual ~StepContext() = default;
  virtual std::int64_t step_id() const = 0;
  virtual Cancellation& cancellation() = 0;

  // The frame and iteration a node runs in, part of every rendezvous key inside a loop; 0 outside loops.
  // Send and receive by key: either may come first, a sender never blocks. `done` is called once, with an error when
  // the step is aborted. The tensor sent must own its memory.
  using Received = std::function<void(Status, Tensor)>;
  virtual Status send(std::string_view key, Tensor value) = 0;
  virtual void receive(std::string_view key, Received done) = 0;

  // Which files the step may touch (file_policy.h); null: all that the user may.
  virtual const class FilePolicy* files() const { return nullptr; }

  // The functions of the program that built the graph (host_callbacks.h); null: there are none.
  virtual class HostCallbacks* host_callbacks() const { return nullptr; }

  // A place that lives as long as the step: TensorArrays, stacks.
  virtual class ResourceManager& step_resources() = 0;
};

}  // namespace argosy
