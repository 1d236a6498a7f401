#include "argosy/planner/compiled_step.h"

#include "argosy/runtime/compile/step_compiler.h"

namespace argosy {

Result<std::shared_ptr<const Step>> compile_to_look(CompiledModel& model, const std::shared_ptr<DeviceSet>& device_set,
                                                    const TrainerOptions& options, std::int64_t batch) {
  const SessionOptions session{.device_set = device_set, .reproducible = options.reproducible, .trace_path = ""};
  const auto own = std::make_shared<ResourceManager>();
  StepCompiler compiler(model.replicated_graph(), session, device_set, own);
  ARGOSY_ASSIGN_OR_RETURN(auto compiled, compiler.make(model.signature(batch), /*must_fit=*/false));
  return std::move(compiled.step);
}

}  // namespace argosy
