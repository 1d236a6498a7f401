#include "argosy/testing/batch_rules_cases.h"

#include <algorithm>
#include <set>

#include "argosy/strategy/sharding/batch_dim_ops.h"

namespace argosy {

std::string why_without_case(const OpDef& op) {
  const std::string_view name = op.name;
  switch (rule_of(op)) {
    case BatchRule::kRandom: return "random numbers, other ones every time";
    case BatchRule::kGather:
    case BatchRule::kScatter:
    case BatchRule::kScatterAdd:
    case BatchRule::kRowNumbers:
    case BatchRule::kRenumbers:
    case BatchRule::kUnique:
      return "rows by number: what numbers say is followed from node to node (batch_positions.h)";
    case BatchRule::kShapeMath:
    case BatchRule::kShapeOnly: return "of shapes: gives no rows";
    case BatchRule::kStatistics: return "statistics are a shard's own in training, as in TensorFlow";
    default: break;
  }
  if (name == "RandomShuffle") return "random numbers, other ones every time";
  if (name.starts_with("TensorArray") || name.starts_with("Stack")) {
    return "containers: what is in them no kernel tells alone (tensor_arrays.h)";
  }
  const auto is_among = [&](const std::set<std::string_view>& names) { return names.contains(name); };
  if (is_among({"LookupTableFind", "LookupTableFindV2", "ReadVariableOp", "VarIsInitializedOp", "IsVariableInitialized",
                "RefIdentity"})) {
    return "handles: reads what all shards have, row by row";
  }
  if (is_among({"BroadcastTo", "StridedSliceGrad", "BatchToSpaceND", "BatchToSpace", "Conv2DBackpropInput",
                "DepthwiseConv2dNativeBackpropInput", "Conv3DBackpropInputV2", "AvgPoolGrad", "AvgPool3DGrad",
                "Reverse", "LSTMBlockCellGrad", "GRUBlockCellGrad", "ScaleAndTranslateGrad", "MaxPoolGradV2",
                "MaxPool3DGrad"})) {
    return "told the batch's size as a number, or given what only other ops make";
  }
  if (is_among({"Assert", "PrintV2", "PlaceholderWithDefault", "Fill", "ToBool", "_ShardWeight",
                "SparseFillEmptyRowsGrad", "DecodeRaw"})) {
    return "no rows in, or none out";
  }
  return "";
}

}  // namespace argosy
