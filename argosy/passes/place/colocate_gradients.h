// Places gradients with their forward ops. TensorFlow's Python names gradients after their forward ops. But it sets
// their device only on request (colocate_gradients_with_ops). Without this rule the gradients of all towers would go to
// the first GPU.
//
//   tower_1/MatMul                            /gpu:1
//   train/gradients/tower_1/MatMul_grad/Mul   open      ──►  /gpu:1, where there is a kernel for it
#pragma once

#include <string_view>

#include "argosy/graph/graph.h"

namespace argosy {

// An attribute of nodes whose device comes from their forward op. It is a preference: placement never fails because of
// it.
inline constexpr std::string_view kFollowsForward = "_follows_forward";

// Returns the requested device of the node's forward op, which is found by the node's name. "": no such op. REQUIRES:
// the node requests no device and has no colocation.
std::string_view forward_request(const Graph& graph, const Node& node);

}  // namespace argosy
