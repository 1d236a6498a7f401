// CooShape: a sparse tensor's sizes in shape functions. Internal to the family.
#pragma once

#include "argosy/op/definition/shape_context.h"

namespace argosy::sparse {

struct CooShape {
  std::int64_t count, rank;  // PartialShape::kUnknown where not known
};
// The sizes of the sparse tensor whose indices, values and shape are these inputs. INVALID_ARGUMENT: they do not fit.
Result<CooShape> coo_shape(const ShapeContext& c, int indices, int values, int shape);

}  // namespace argosy::sparse
