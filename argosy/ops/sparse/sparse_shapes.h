// What shape functions know of a sparse tensor. Internal to the family.
#pragma once

#include "argosy/op/definition/shape_context.h"

namespace argosy::sparse {

struct CooShape {
  std::int64_t count, rank;  // PartialShape::kUnknown where not known
};
// Of inputs indices, values and shape, which must go together.
Result<CooShape> coo_shape(const ShapeContext& c, int indices, int values, int shape);

}  // namespace argosy::sparse
