// How many numbers a range holds: shared by the shape function of Range and its kernel.
#pragma once

#include <cstdint>

#include "argosy/base/status.h"

namespace argosy {

Result<std::int64_t> range_size(std::int64_t start, std::int64_t limit, std::int64_t delta);
Result<std::int64_t> range_size(double start, double limit, double delta);

}  // namespace argosy
