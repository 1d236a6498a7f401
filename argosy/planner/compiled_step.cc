#include "argosy/planner/compiled_step.h"

#include "argosy/runtime/compile/step_compiler.h"

namespace argosy {

Result<std::shared_ptr<const Step>> compile_to_look(const Graph& graph, const StepSignature& signature,
                                                    const std::shared_ptr<DeviceSet>& device_set,
                                                    const LookOptions& options) {
  const SessionOptions session{
      .device_set = device_set, .optimize = options.optimize, .reproducible = options.reproducible, .trace_path = ""};
  const auto own = std::make_shared<ResourceManager>();
  StepCompiler compiler(graph, session, device_set, own);
  ARGOSY_ASSIGN_OR_RETURN(auto compiled, compiler.make(signature, /*must_fit=*/false));
  return std::move(compiled.step);
}

}  // namespace argosy
