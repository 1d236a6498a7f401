// Initial values of variables. An initializer is a recipe; a layer applies it to a shape.
#pragma once

#include <cstdint>
#include <functional>

#include "argosy/graph/graph.h"

namespace argosy {

// Adds the nodes of the initial value. `seed`: of a random op; it follows from the place in the model.
using Initializer = std::function<Value(Graph& graph, const Shape& shape, DType dtype, std::int64_t seed)>;

Initializer zeros_initializer();                                           // all 0
Initializer ones_initializer();                                            // all 1
Initializer constant_initializer(double value);                            // all this number
Initializer uniform_initializer(double low, double high);                  // uniform in [low, high)
Initializer normal_initializer(double stddev, double mean = 0);            // normal distribution
Initializer truncated_normal_initializer(double stddev, double mean = 0);  // normal, within two standard deviations

// Initializers scaled by fan-in and fan-out. These are the last two axes, each times the window axes before them:
// [in, out] or [height, width, in, out].
Initializer glorot_uniform();  // uniform in ±sqrt(6 / (in + out)); the default of layers
Initializer glorot_normal();   // truncated, standard deviation sqrt(2 / (in + out))
Initializer he_normal();       // truncated, standard deviation sqrt(2 / in): before a ReLU
Initializer lecun_normal();    // truncated, standard deviation sqrt(1 / in)

}  // namespace argosy
