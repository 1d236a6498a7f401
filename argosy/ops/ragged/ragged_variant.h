// Ragged tensors as elements of variant tensors. Internal to the ragged family.
#pragma once

#include <vector>

#include "argosy/tensor/nesting.h"
#include "argosy/tensor/resource.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// Row splits from the outermost axis inwards, and values. All own their memory.
class RaggedVariant final : public VariantValue {
 public:
  RaggedVariant(std::vector<Tensor> splits, Tensor values) : splits_(std::move(splits)), values_(std::move(values)) {
    set_nesting(nesting_around(values_));
  }

  std::string describe() const override { return str_cat("ragged tensor of ", splits_.size(), " ragged axes"); }
  Result<Variant> zeros_like(Allocator& memory) const override;
  Result<Variant> plus(const VariantValue& other, Allocator& memory) const override;

  const std::vector<Tensor>& splits() const { return splits_; }
  const Tensor& values() const { return values_; }

 private:
  std::vector<Tensor> splits_;
  Tensor values_;
};

}  // namespace argosy
