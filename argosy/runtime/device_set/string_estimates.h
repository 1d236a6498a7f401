// Estimates how many bytes of strings an op will write that copies each input string any number of times. The estimate
// is made before it copies.
#pragma once

#include <functional>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// Bytes of the strings that the kernel will write; 0 where its inputs are invalid, which the kernel itself reports.
using StringEstimate = std::function<std::int64_t(const KernelContext& c)>;

// Returns the estimate for this node; empty: it copies each string at most once, or makes its own.
StringEstimate string_estimate_of(const KernelInit& init);

}  // namespace argosy
