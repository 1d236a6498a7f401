// Host callbacks: calls of a step into the client's process. tf.py_func, tf.py_function and, behind them, generators of
// datasets. The interface to the client is argosy/op/kernel/host_callbacks.h.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Returns the results of the client's function `token` for `inputs`: one tensor for each of `dtypes`.
std::vector<Value> py_func(Graph& graph, std::vector<Value> inputs, const std::string& token,
                           const std::vector<DType>& dtypes);

}  // namespace argosy
