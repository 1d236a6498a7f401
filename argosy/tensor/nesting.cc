#include "argosy/tensor/nesting.h"

#include <algorithm>

namespace argosy {

int nesting_of(const Tensor& t) {
  if (t.dtype() != DType::kVariant) return 0;
  int deepest = 0;
  for (const Variant& v : t.values<Variant>()) {
    if (v.value() != nullptr) deepest = std::max(deepest, v.value()->nesting());
  }
  return deepest;
}

int nesting_around(std::span<const Tensor> inner) {
  int deepest = 0;
  for (const Tensor& t : inner) deepest = std::max(deepest, nesting_of(t));
  return 1 + deepest;
}

Status check_nesting(int nesting) {
  if (nesting <= kMostNested) return ok_status();
  return resource_exhausted("values would be nested ", nesting, " deep; ", kMostNested, " levels are allowed")
      .with_hint("a list or a dataset that grows by elements, instead of one that wraps the last one");
}

}  // namespace argosy
