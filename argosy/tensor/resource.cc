#include "argosy/tensor/resource.h"

namespace argosy {

VariantValue::~VariantValue() = default;

Result<Variant> VariantValue::zeros_like(Allocator&) const { return unimplemented("a ", describe(), " has no zeros"); }

Result<Variant> VariantValue::plus(const VariantValue&, Allocator&) const {
  return unimplemented("a ", describe(), " cannot be added to");
}

}  // namespace argosy
