// Variant values in variant values: a list of lists, a dataset of a dataset. Graphs decide how deep, and code that adds
// values or iterates calls itself once per level.
#pragma once

#include <initializer_list>
#include <span>

#include "argosy/tensor/tensor.h"

namespace argosy {

// More levels are refused.
inline constexpr int kMostNested = 1000;

// How deep the values in this tensor are nested: the deepest counts. 0: it has none.
int nesting_of(const Tensor& t);

// The nesting of a value that is to hold these tensors.
int nesting_around(std::span<const Tensor> inner);
inline int nesting_around(const Tensor& inner) { return 1 + nesting_of(inner); }

// RESOURCE_EXHAUSTED above kMostNested.
Status check_nesting(int nesting);

}  // namespace argosy
