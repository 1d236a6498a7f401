// Registration functions of this family: each file adds its ops and kernels.
#pragma once

#include "argosy/op/definition/registry.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/tensor/ints.h"

namespace argosy {

void define_gathers(OpRegistry& ops);
void define_scatters(OpRegistry& ops);
void define_choices(OpRegistry& ops);
void define_uniques(OpRegistry& ops);
void define_partitions(OpRegistry& ops);
void define_top_k(OpRegistry& ops);
void define_beams(OpRegistry& ops);

void add_gathers(KernelRegistry& kernels);
void add_scatters(KernelRegistry& kernels);
void add_choices(KernelRegistry& kernels);
void add_uniques(KernelRegistry& kernels);
void add_partitions(KernelRegistry& kernels);
void add_top_k(KernelRegistry& kernels);
void add_beams(KernelRegistry& kernels);

// A gather along an axis: params as [batch, outer, rows, slice], indices as [batch, count]; the output is
// [batch, outer, count, slice].
struct GatherGeometry {
  std::int64_t batch = 1, outer = 1, rows = 0, slice = 1, count = 1;
  Ints sizes;  // of the output
};
Result<GatherGeometry> gather_geometry(std::string_view op, const Shape& params, const Shape& indices,
                                       std::int64_t axis, std::int64_t batch_dims);

}  // namespace argosy
