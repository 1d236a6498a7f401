// Gradients of reductions. Private to this folder and its like.
#pragma once

#include "argosy/graph/gradients.h"

namespace argosy::reduction {

std::vector<Value> sum_gradient(GradContext& g);
std::vector<Value> mean_gradient(GradContext& g);
std::vector<Value> prod_gradient(GradContext& g);
std::vector<Value> extreme_gradient(GradContext& g);  // Max, Min: divided evenly among equal elements
std::vector<Value> euclidean_norm_gradient(GradContext& g);
std::vector<Value> l2_loss_gradient(GradContext& g);

}  // namespace argosy::reduction
