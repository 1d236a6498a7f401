// Gradients live with what they are the gradients of. TensorFlow's Python names them after their forward ops but,
// unless asked (colocate_gradients_with_ops), leaves their device open: all towers' gradients would end on the first
// GPU.
//
//   tower_1/MatMul                            /gpu:1
//   train/gradients/tower_1/MatMul_grad/Mul   open      ──►  /gpu:1, where there is a kernel for it
#pragma once

#include <string_view>

#include "argosy/graph/graph.h"

namespace argosy {

// An attribute of nodes whose device was taken from their forward op: a wish, never a reason to refuse the graph.
inline constexpr std::string_view kFollowsForward = "_follows_forward";

// The request of the forward op that this open, uncolocated node belongs to by its name; "" where there is none.
std::string_view forward_request(const Graph& graph, const Node& node);

}  // namespace argosy
