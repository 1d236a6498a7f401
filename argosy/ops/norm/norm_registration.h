// Registration functions of the norm family: definitions and kernels of each kind of op. Private to this folder.
#pragma once

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

void define_batch_norm(OpRegistry& ops);
std::vector<Value> batch_norm_grad_gradient(GradContext& g);
void define_layer_norm(OpRegistry& ops);
void define_lrn(OpRegistry& ops);
void define_global_norm(OpRegistry& ops);
Status check_depth_radius(std::string_view op, std::int64_t radius);
void add_kernels_cpu_batch_norm(KernelRegistry& kernels);
void add_kernels_cpu_batch_norm_gradient(KernelRegistry& kernels);
void add_kernels_cpu_layer_norm(KernelRegistry& kernels);
void add_kernels_cpu_lrn(KernelRegistry& kernels);
void add_kernels_cpu_global_norm(KernelRegistry& kernels);

}  // namespace argosy
