// Attributes for every op of the registry, from its definition alone.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "argosy/op/definition/op_def.h"

namespace argosy {

// A value of the attribute, its list of this length.
inline AttrValue value_of(const AttrDef& def, std::int64_t length) {
  const auto n = static_cast<std::size_t>(length);
  const DType type = def.types.empty() ? DType::kFloat32 : def.types[0];
  switch (def.kind) {
    case AttrKind::kInt: return std::max(length, def.minimum.value_or(1));
    case AttrKind::kFloat: return 1.0F;
    case AttrKind::kBool: return true;
    case AttrKind::kString: return def.strings.empty() ? std::string("x") : def.strings[0];
    case AttrKind::kType: return type;
    case AttrKind::kShape: return PartialShape::unknown();
    case AttrKind::kTensor: return Tensor::scalar(1.0F);
    case AttrKind::kFunction: return FunctionRef{"f"};
    case AttrKind::kInts: return std::vector<std::int64_t>(n, 1);
    case AttrKind::kFloats: return std::vector<float>(n, 1);
    case AttrKind::kBools: return std::vector<bool>(n, true);
    case AttrKind::kStrings: return std::vector<std::string>(n, def.strings.empty() ? "x" : def.strings[0]);
    case AttrKind::kTypes: return std::vector<DType>(n, type);
    case AttrKind::kShapes: return std::vector<PartialShape>(n, PartialShape::unknown());
    case AttrKind::kTensors: return std::vector<Tensor>(n, Tensor::scalar(1.0F));
    case AttrKind::kFunctions: return std::vector<FunctionRef>(n, FunctionRef{"f"});
  }
  return {};
}

}  // namespace argosy
