// The nesting depth of variant values: a list of lists, a dataset of a dataset. A graph determines the depth, and code
// that walks a value recurses once per level. So the depth is limited.
#pragma once

#include <initializer_list>
#include <span>

#include "argosy/tensor/tensor.h"

namespace argosy {

// The largest allowed depth.
inline constexpr int kMostNested = 1000;

// The largest nesting depth of the variants in this tensor. 0: it has no variants.
int nesting_of(const Tensor& t);

// The nesting depth of a value that contains these tensors.
int nesting_around(std::span<const Tensor> inner);
inline int nesting_around(const Tensor& inner) { return 1 + nesting_of(inner); }

// RESOURCE_EXHAUSTED above kMostNested.
Status check_nesting(int nesting);

}  // namespace argosy
