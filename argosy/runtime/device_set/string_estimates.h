// How many bytes of strings an op will give that copies its strings any number of times: known before it copies.
#pragma once

#include <functional>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// Bytes of the strings that the kernel will give; 0 where its inputs are wrong, which it says itself.
using StringEstimate = std::function<std::int64_t(const KernelContext& c)>;

// Of this node; empty: it gives what it makes, or each string that it has once.
StringEstimate string_estimate_of(const KernelInit& init);

}  // namespace argosy
