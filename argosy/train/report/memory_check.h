// Checks whether a training step fits in memory, by the forecast of the compiled step, before the first step runs.
#pragma once

#include <cstdint>
#include <functional>

#include "argosy/train/loop/compiled_model.h"

namespace argosy {

// The memory that a step of `batch` examples needs on each device.
using ForecastOfBatch = std::function<Result<std::vector<MemoryForecast>>(std::int64_t batch)>;

// Returns the bytes that a step may use of a device: 95 % of its cap. The rest is for other steps' arenas and rounding.
// 0: no limit.
std::uint64_t usable_bytes(const DeviceSpec& spec);

// Returns OK or RESOURCE_EXHAUSTED "ARG-MEM-002": the device, the missing bytes, their users, and the largest batch
// that fits.
Status check_memory(const DeviceSet& device_set, const ForecastOfBatch& forecast, std::int64_t batch);
Status check_memory(CompiledModel& program, std::int64_t batch);

// The largest batch, up to `limit`, that fits every device's cap. 0: not even one example fits.
Result<std::int64_t> largest_batch(const DeviceSet& device_set, const ForecastOfBatch& forecast, std::int64_t limit);

// Returns the batch size for evaluation. It is the training batch, or up to 128 if that is larger and memory allows.
// Beside variables and constants, it needs no more memory than a step of `training`; null: no limit.
Result<std::int64_t> evaluation_batch(CompiledModel& evaluator, CompiledModel* training, std::int64_t training_batch);

}  // namespace argosy
