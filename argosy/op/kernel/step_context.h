// StepContext: one run of a step, as kernels see it: its identity, its cancellation, its files and its resources.
// The runtime implements it; tests bring small ones. Thread-safe.
#pragma once

#include <cstdint>

#include "argosy/base/threads/cancellation.h"

namespace argosy {

class StepContext {
 public:
  virtual ~StepContext() = default;
  virtual std::int64_t step_id() const = 0;
  virtual Cancellation& cancellation() = 0;

  // Which files the step may touch (file_policy.h); null: all that the user may.
  virtual const class FilePolicy* files() const { return nullptr; }

  // The functions of the program that built the graph (host_callbacks.h); null: there are none.
  virtual class HostCallbacks* host_callbacks() const { return nullptr; }

  // A place that lives as long as the step: TensorArrays, stacks.
  virtual class ResourceManager& step_resources() = 0;
};

}  // namespace argosy
