// Gradients of the list ops, one function per op. The gradient of a list is a list of its elements' gradients. Internal
// to the list family.
#pragma once

#include <vector>

#include "argosy/graph/gradients.h"

namespace argosy {

std::vector<Value> list_push_gradient(GradContext& g);
std::vector<Value> list_pop_gradient(GradContext& g);
std::vector<Value> list_get_item_gradient(GradContext& g);
std::vector<Value> list_set_item_gradient(GradContext& g);
std::vector<Value> list_stack_gradient(GradContext& g);
std::vector<Value> list_from_tensor_gradient(GradContext& g);
std::vector<Value> list_gather_gradient(GradContext& g);
std::vector<Value> list_scatter_gradient(GradContext& g);
std::vector<Value> list_scatter_into_gradient(GradContext& g);
std::vector<Value> list_resize_gradient(GradContext& g);
std::vector<Value> list_concat_gradient(GradContext& g);
std::vector<Value> list_split_gradient(GradContext& g);

}  // namespace argosy
