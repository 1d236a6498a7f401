// StepContext: one run of a step, as kernels see it: its identity, its cancellation, its files and its resources.
// The runtime implements it; tests bring small ones. Thread-safe.
#pragma once

#include <cstdint>

#include "argosy/base/threads/cancellation.h"

namespace argosy {

class Rendezvous;  // argosy/op/kernel/rendezvous.h

// The loop frame and iteration that a kernel runs in. A value type.
struct FrameIteration {
  std::uint64_t frame = 0;     // 0: outside of all loops; else the same number on every task of the step
  std::int64_t iteration = 0;  // in that frame
};

class StepContext {
 public:
  virtual ~StepContext() = default;
  virtual std::int64_t step_id() const = 0;
  virtual Cancellation& cancellation() = 0;

  // The files that the step may access (file_policy.h); null: those that the process may.
  virtual const class FilePolicy* files() const { return nullptr; }

  // The functions of the program that built the graph (host_callbacks.h); null: there are none.
  virtual class HostCallbacks* host_callbacks() const { return nullptr; }

  // Exchanges values with other tasks; null: the step runs on one task. Lives as long as the step.
  virtual Rendezvous* rendezvous() const { return nullptr; }
  virtual FrameIteration frame_iteration() const { return {}; }

  // Resources that live as long as the step: TensorArrays, stacks.
  virtual class ResourceManager& step_resources() = 0;
};

}  // namespace argosy
