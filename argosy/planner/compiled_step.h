// A compiled step to look at: its schedule, shapes and memory. It is never run.
#pragma once

#include <memory>

#include "argosy/passes/simplify/prune.h"
#include "argosy/runtime/session/session.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

// What compile_to_look() is told of the session that the step would run in.
struct LookOptions {
  bool reproducible = false;  // see SessionOptions
  bool optimize = true;       // likewise
};

// Errors are those of compiling. Not of memory: the step may be larger than the devices.
Result<std::shared_ptr<const Step>> compile_to_look(const Graph& graph, const StepSignature& signature,
                                                    const std::shared_ptr<DeviceSet>& device_set,
                                                    const LookOptions& options);

}  // namespace argosy
