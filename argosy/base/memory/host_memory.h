// The memory of this process.
#pragma once

#include <cstdint>

namespace argosy {

// Bytes that this process may use: the machine's memory, or less where a control group limits it. Read once.
std::int64_t memory_of_process();

}  // namespace argosy
