// Random numbers of further distributions, and generators that live in variables. Numbers are TensorFlow's for
// TensorFlow's seeds.
#pragma once

#include <optional>

#include "argosy/graph/graph.h"

namespace argosy {

// Gamma(alpha, 1): `shape` numbers for every element of alpha, float16, float32 or float64; the result has shape
// `shape` + alpha's. Differentiable in alpha.
Value random_gamma(Value shape, Value alpha, std::optional<std::int64_t> seed = {});
// Poisson of every rate, likewise.
Value random_poisson(Value shape, Value rate, DType dtype = DType::kFloat32, std::optional<std::int64_t> seed = {});

}  // namespace argosy
