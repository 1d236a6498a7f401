// Tensors as elements of variant tensors. Internal to argosy/ops.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "argosy/tensor/nesting.h"
#include "argosy/tensor/resource.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// A variant value that is one tensor, which owns its memory.
class TensorVariant final : public VariantValue {
 public:
  explicit TensorVariant(Tensor tensor) : tensor_(std::move(tensor)) { set_nesting(nesting_around(tensor_)); }
  std::string describe() const override { return str_cat("tensor ", dtype_name(tensor_.dtype()), tensor_.shape()); }
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_;
};

inline Variant make_variant(Tensor tensor) { return Variant(std::make_shared<TensorVariant>(tensor.owned())); }

}  // namespace argosy
