// Functions of the program that built the graph, called while it runs: tf.py_func, tf.py_function, and behind them
// generators of datasets. How they are reached: argosy/op/kernel/host_callbacks.h.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// What the function `token` gives for these values, one tensor of each of these dtypes.
std::vector<Value> py_func(Graph& graph, std::vector<Value> inputs, const std::string& token,
                           const std::vector<DType>& dtypes);

}  // namespace argosy
