// The choices that all parts of one call share, so that most of it fits together; and attributes drawn from them.
#pragma once

#include "argosy/op/definition/op_def.h"
#include "fuzz/op_calls/draw_values.h"

namespace argosy::op_calls {

struct Common {
  Mood mood = Mood::kAlike;
  DType main = DType::kFloat32;  // most type attributes
  DType key = DType::kInt64;     // keys of tables
  std::vector<DType> types;      // most lists of types: components of queues, datasets
  PartialShape shape;            // most shapes
};

Common draw_common(RandomDraws& draws);
AttrValue draw_attr(const OpDef& op, const AttrDef& def, const Common& common, RandomDraws& draws);
// Any dtype there is.
DType any_dtype(RandomDraws& draws);

}  // namespace argosy::op_calls
