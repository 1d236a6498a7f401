// Does a step fit? Asked before step 0, of the plan, not of the allocator.
#pragma once

#include <cstdint>

#include "argosy/train/program.h"

namespace argosy {

// OK, or RESOURCE_EXHAUSTED "ARG-MEM-002": which device lacks how much, what uses it, and the largest batch that fits.
Status check_memory(Program& program, std::int64_t batch);

// The largest batch, up to `limit`, whose forecast fits every device's cap; 0 when not even one example does.
Result<std::int64_t> largest_batch(Program& program, std::int64_t limit);

}  // namespace argosy
