// Every op with an opcode has the inputs and attributes that argosy/op/definition/opcode.h says: rewrites rely on them.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "argosy/op/definition/opcode.h"
#include "argosy/op/definition/registry.h"
#include "argosy/ops/ops.h"

namespace argosy {
namespace {

struct Takes {
  std::size_t inputs = 0;  // at least
  std::vector<std::string> attrs = {};
};

const std::map<Opcode, Takes>& shapes() {
  static const std::vector<std::string> norm = {"epsilon", "data_format", "is_training"};
  static const std::vector<std::string> window = {"strides", "padding", "data_format", "explicit_paddings"};
  static const std::map<Opcode, Takes> all = {
      {Opcode::kAdd, {2}},
      {Opcode::kSubtract, {2}},
      {Opcode::kMultiply, {2}},
      {Opcode::kExp, {1}},
      {Opcode::kRelu, {1}},
      {Opcode::kReluGrad, {2}},
      {Opcode::kIdentity, {1}},
      {Opcode::kSnapshot, {1}},
      {Opcode::kSum, {2, {"keep_dims"}}},
      {Opcode::kBiasAdd, {2, {"data_format"}}},
      {Opcode::kSoftmax, {1}},
      {Opcode::kLogSoftmax, {1}},
      {Opcode::kMaxPool, {1, window}},
      {Opcode::kMaxPoolGrad, {3, window}},
      {Opcode::kBatchNorm, {5, norm}},
      {Opcode::kBatchNormGrad, {5, norm}},
      {Opcode::kFusedBatchNorm, {5, norm}},
      {Opcode::kConv2D, {2, window}},
      {Opcode::kConv2DInputGrad, {3, window}},
      {Opcode::kConv2DFilterGrad, {3, window}},
      {Opcode::kFusedConv2D, {2, window}},
      {Opcode::kAssignAdd, {2}},
      {Opcode::kAssignSubtract, {2}},
      {Opcode::kParameter, {0}},
  };
  return all;
}

TEST(Opcodes, OpsHaveTheInputsAndAttributesOfTheirOpcode) {
  std::set<Opcode> met;
  for (const auto& op : builtin_ops().all()) {
    if (op->opcode == Opcode::kNone) continue;
    met.insert(op->opcode);
    const auto shape = shapes().find(op->opcode);
    ASSERT_NE(shape, shapes().end()) << op->name;
    EXPECT_GE(op->input_args.size(), shape->second.inputs) << op->name;
    EXPECT_TRUE(op->attr("T") != nullptr) << op->name;
    for (const std::string& attr : shape->second.attrs) EXPECT_NE(op->attr(attr), nullptr) << op->name << " " << attr;
  }
  EXPECT_EQ(met.size(), shapes().size()) << "an opcode that no op has";
}

TEST(Opcodes, VersionsShareOne) {
  const OpRegistry& ops = builtin_ops();
  EXPECT_EQ(ops.find("Add")->opcode, ops.find("AddV2")->opcode);
  EXPECT_EQ(ops.find("FusedBatchNorm")->opcode, ops.find("FusedBatchNormV3")->opcode);
  EXPECT_EQ(ops.find("FusedBatchNormGrad")->opcode, ops.find("FusedBatchNormGradV2")->opcode);
  EXPECT_NE(ops.find("Relu")->opcode, ops.find("Relu6")->opcode);
  EXPECT_EQ(ops.find("DepthwiseConv2dNative")->opcode, Opcode::kNone);
}

// What may run twice in a step is named here: an op that is not, changes something.
TEST(Opcodes, EffectsOfStatefulOps) {
  std::map<Effect, std::set<std::string>> found;
  for (const auto& op : builtin_ops().all()) {
    if (op->effect == Effect::kChanges) continue;
    EXPECT_TRUE(op->stateful || op->has_ref_input()) << op->name;
    found[op->effect].insert(op->name);
  }
  using Names = std::set<std::string>;
  EXPECT_EQ(found[Effect::kReads],
            (Names{"IsVariableInitialized", "LookupTableExport", "LookupTableExportV2", "LookupTableFind",
                   "LookupTableFindV2", "LookupTableSize", "LookupTableSizeV2", "ReadVariableOp", "ResourceGather",
                   "ResourceGatherNd", "VarIsInitializedOp", "VariableShape"}));
  EXPECT_EQ(found[Effect::kPrints], (Names{"Print", "PrintV2"}));
  EXPECT_EQ(found[Effect::kChecks], (Names{"Assert", "CheckNumerics", "CheckNumericsV2"}));
  EXPECT_EQ(found[Effect::kNothing],
            (Names{"DeepCopy", "DeviceIndex", "Empty", "GuaranteeConst", "StatelessRandomGetAlg"}));
}

TEST(Opcodes, FactsOfShapesAndBroadcasts) {
  const OpRegistry& ops = builtin_ops();
  std::set<std::string> by_shape, by_rows, by_sizes, broadcast;
  for (const auto& op : ops.all()) {
    if (op->reads == Reads::kShape) by_shape.insert(op->name);
    if (op->reads == Reads::kRows) by_rows.insert(op->name);
    if (op->reads == Reads::kSizes) by_sizes.insert(op->name);
    if (op->broadcasts != Broadcasts::kNone) broadcast.insert(op->name);
  }
  EXPECT_EQ(by_shape, (std::set<std::string>{"OnesLike", "ZerosLike"}));
  EXPECT_EQ(by_rows, std::set<std::string>{"_ShardWeight"});
  EXPECT_EQ(by_sizes, (std::set<std::string>{"Rank", "Shape", "ShapeN", "Size"}));
  EXPECT_EQ(broadcast, (std::set<std::string>{"BroadcastTo", "Fill"}));
}

}  // namespace
}  // namespace argosy
