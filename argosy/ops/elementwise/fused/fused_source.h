// CUDA C++ source of a fused program: one kernel that reads each input once, computes all steps, and writes the
// outputs.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "argosy/ops/elementwise/fused/fused.h"

namespace argosy {

// Returns the source of the kernel "fused" with all that it needs, for NVRTC and for the host's compiler. Parameters:
// long long n; the inputs; a long long for each repeated input (its period, or the length of its runs); the outputs.
// The source does not depend on shapes. nullopt if a step has no function on GPUs.
std::optional<std::string> fused_source(const FusedProgram& program, std::span<const DType> inputs,
                                        std::span<const FusedOperand> operands);

// Returns the bytes of the widest element that the kernel reads or writes, for the grid of its launch
// (cuda::grid_for_vecs()).
std::size_t fused_widest(const FusedProgram& program, std::span<const DType> inputs);

}  // namespace argosy
