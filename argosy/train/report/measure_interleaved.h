// The speed of one device beside that of all: the same steps on both, one after the other and again.
#pragma once

#include <cstdint>
#include <vector>

#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/report/interleaved_rates.h"

namespace argosy {

// Steps of `batch` examples on both programs, in rounds whose order changes; samples per second. Takes some seconds at
// most, more where three rounds take longer. `ideal`: what all could bring at most, as for compare(). Both programs are
// initialized, and train meanwhile.
Result<Comparison> measure_interleaved(CompiledModel& alone, CompiledModel& all, const std::vector<Tensor>& feeds,
                                       std::int64_t batch, double ideal);

}  // namespace argosy
