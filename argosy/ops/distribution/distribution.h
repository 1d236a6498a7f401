// Random numbers of further distributions, and generators that are kept in variables. With equal seeds, the numbers are
// TensorFlow's.
#pragma once

#include <optional>

#include "argosy/graph/graph.h"

namespace argosy {

// Samples of Gamma(alpha, 1): `shape` numbers for each element of alpha (float16, float32 or float64). The result has
// shape `shape` + alpha's. Differentiable in alpha.
Value random_gamma(Value shape, Value alpha, std::optional<std::int64_t> seed = {});
// Samples of Poisson(rate), `shape` numbers for each element of rate.
Value random_poisson(Value shape, Value rate, DType dtype = DType::kFloat32, std::optional<std::int64_t> seed = {});

}  // namespace argosy
