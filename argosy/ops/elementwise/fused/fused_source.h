// A fused program as CUDA C++: one kernel, which reads every input of an element once, computes, and writes.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "argosy/ops/elementwise/fused/fused.h"

namespace argosy {

// The kernel "fused", with all it needs before it: ready for NVRTC, and for the host's compiler. Its parameters: long
// long n, the inputs, a long long for each repeated input (its period, or the length of its runs), the outputs. It does
// not depend on shapes. Nothing where a step has no function on GPUs.
std::optional<std::string> fused_source(const FusedProgram& program, std::span<const DType> inputs,
                                        std::span<const FusedOperand> operands);

// Bytes of the widest element that the kernel reads or writes: what its launch takes (cuda::grid_for_vecs()).
std::size_t fused_widest(const FusedProgram& program, std::span<const DType> inputs);

}  // namespace argosy
