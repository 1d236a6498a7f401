// Gradients of segment ops: each row gathers the gradient of its segment. Private to this folder.
#pragma once

#include "argosy/graph/gradients.h"

namespace argosy::segment {

std::vector<Value> sum_gradient(GradContext& g);
std::vector<Value> mean_gradient(GradContext& g);
std::vector<Value> prod_gradient(GradContext& g);
std::vector<Value> extreme_gradient(GradContext& g);  // max, min: divided evenly among equal elements
std::vector<Value> unsorted_sum_gradient(GradContext& g);
std::vector<Value> unsorted_prod_gradient(GradContext& g);

}  // namespace argosy::segment
