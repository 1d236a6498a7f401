// How much memory there is.
#pragma once

#include <cstdint>

namespace argosy {

// Memory that this process may use: what the machine has, or less where a control group says so. Looked up once.
std::int64_t memory_of_process();

}  // namespace argosy
