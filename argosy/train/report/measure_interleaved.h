// Measures the speed of one device and of all devices: the same steps on both, in alternating rounds.
#pragma once

#include <cstdint>
#include <vector>

#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/report/interleaved_rates.h"

namespace argosy {

// Runs steps of `batch` examples on both programs, in rounds of alternating order, and returns samples per second.
// Takes a few seconds, longer if three rounds need longer. `ideal`: as for compare(). REQUIRES: both programs are
// initialized. The steps train them.
Result<Comparison> measure_interleaved(CompiledModel& alone, CompiledModel& all, const std::vector<Tensor>& feeds,
                                       std::int64_t batch, double ideal);

}  // namespace argosy
