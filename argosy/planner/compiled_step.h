// The compiled training step of a model, to look at: its schedule, shapes and memory. It is never run.
#pragma once

#include <memory>

#include "argosy/runtime/step/step.h"
#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/loop/trainer.h"

namespace argosy {

// Errors are those of compiling. Not of memory: the step may be larger than the devices.
Result<std::shared_ptr<const Step>> compile_to_look(CompiledModel& model, const std::shared_ptr<DeviceSet>& device_set,
                                                    const TrainerOptions& options, std::int64_t batch);

}  // namespace argosy
