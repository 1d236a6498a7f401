// Compiles a step to inspect its schedule, shapes and memory. The step is never run.
#pragma once

#include <memory>

#include "argosy/passes/simplify/prune.h"
#include "argosy/runtime/session/session.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

// The options of the session in which the step would run, as far as they affect compilation.
struct LookOptions {
  bool reproducible = false;  // see SessionOptions
  bool optimize = true;       // likewise
};

// Returns the compiled step. Errors are those of compiling. Memory is not checked: the step may be larger than the
// devices.
Result<std::shared_ptr<const Step>> compile_to_look(const Graph& graph, const StepSignature& signature,
                                                    const std::shared_ptr<DeviceSet>& device_set,
                                                    const LookOptions& options);

}  // namespace argosy
