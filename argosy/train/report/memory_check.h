// Does a step fit? Asked before step 0, of the plan, not of the allocator.
#pragma once

#include <cstdint>
#include <functional>

#include "argosy/train/loop/compiled_model.h"

namespace argosy {

// What a step of so many examples takes on each device.
using ForecastOfBatch = std::function<Result<std::vector<MemoryForecast>>(std::int64_t batch)>;

// OK, or RESOURCE_EXHAUSTED "ARG-MEM-002": which device lacks how much, what uses it, and the largest batch that fits.
Status check_memory(const DeviceSet& device_set, const ForecastOfBatch& forecast, std::int64_t batch);
Status check_memory(CompiledModel& program, std::int64_t batch);

// The largest batch, up to `limit`, whose forecast fits every device's cap; 0 when not even one example does.
Result<std::int64_t> largest_batch(const DeviceSet& device_set, const ForecastOfBatch& forecast, std::int64_t limit);

// The batch to evaluate with: larger than in training, since no gradients are kept, but such that it takes no more
// memory than a step of `training` (null: as much as it likes). At least the training batch.
Result<std::int64_t> evaluation_batch(CompiledModel& evaluator, CompiledModel* training, std::int64_t training_batch);

}  // namespace argosy
