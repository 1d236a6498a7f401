// OptionalValue: an element of a dataset, or none. What tf.data's optionals and the gradient of tf.cond hold.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "argosy/ops/dataset/dataset_value.h"
#include "argosy/tensor/nesting.h"

namespace argosy::datasets {

// Its tensors are in host memory.
class OptionalValue final : public VariantValue {
 public:
  explicit OptionalValue(std::optional<Element> value) : value_(std::move(value)) {
    if (value_) set_nesting(nesting_around(*value_));
  }
  std::string describe() const override { return value_ ? "optional with a value" : "optional without a value"; }
  const std::optional<Element>& value() const { return value_; }
  Result<Variant> zeros_like(Allocator& memory) const override;
  Result<Variant> plus(const VariantValue& other, Allocator& memory) const override;

 private:
  const std::optional<Element> value_;
};

}  // namespace argosy::datasets
