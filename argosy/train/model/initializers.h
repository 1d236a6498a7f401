// How variables start. An initializer is a recipe; a layer applies it to the shape it needs.
#pragma once

#include <cstdint>
#include <functional>

#include "argosy/graph/graph.h"

namespace argosy {

// The value of a variable of this shape; `seed` is the op's own, the same for the same place in the same model.
using Initializer = std::function<Value(Graph& graph, const Shape& shape, DType dtype, std::int64_t seed)>;

Initializer zeros_initializer();                                           // all 0
Initializer ones_initializer();                                            // all 1
Initializer constant_initializer(double value);                            // all this number
Initializer uniform_initializer(double low, double high);                  // evenly from [low, high)
Initializer normal_initializer(double stddev, double mean = 0);            // normal numbers
Initializer truncated_normal_initializer(double stddev, double mean = 0);  // normal numbers within two deviations

// Scaled by what a unit sees: fan-in and fan-out are products of the last two axes with the window before them
// ([in, out], [height, width, in, out]).
Initializer glorot_uniform();  // uniform in ±sqrt(6 / (in + out)); what layers take by default
Initializer glorot_normal();   // deviation sqrt(2 / (in + out)), truncated
Initializer he_normal();       // deviation sqrt(2 / in), truncated: before a ReLU
Initializer lecun_normal();    // deviation sqrt(1 / in), truncated

}  // namespace argosy
