// Rules that functions write: what they say of nodes, also where sizes are not known.
#include <gtest/gtest.h>

#include "argosy/op/definition/shape_context.h"
#include "argosy/op/definition/sharding_rule.h"
#include "argosy/ops/ops.h"

namespace argosy {
namespace {

struct Node {
  const char* op;
  std::vector<PartialShape> inputs;
  std::vector<PartialShape> outputs;
  AttrMap attrs = {};
  std::vector<std::pair<int, std::vector<std::int64_t>>> ints = {};  // of inputs, which are int32 then
};

std::string rule_of(Node n) {
  const OpDef& op = *builtin_ops().find(n.op);
  std::vector<DType> dtypes(n.inputs.size(), DType::kFloat32);
  std::vector<PartialInts> known(n.inputs.size());
  std::vector<const PartialInts*> ints(n.inputs.size());
  for (const auto& [input, values] : n.ints) {
    const auto at = static_cast<std::size_t>(input);
    dtypes[at] = DType::kInt32;
    for (const std::int64_t v : values) known[at].emplace_back(v);
    if (!values.empty()) ints[at] = &known[at];
  }
  std::vector<const PartialShape*> shapes;
  for (const PartialShape& s : n.inputs) shapes.push_back(&s);
  const Status complete = complete_attrs(op, dtypes, n.attrs);
  if (!complete.ok()) return complete.message();
  const ShapeContext c(op, n.attrs, dtypes, shapes, ints, n.outputs);
  const auto rule = sharding_rule(c);
  return rule.ok() ? to_string(*rule) : rule.status().message();
}

TEST(ShardingFunctions, ReshapeByCommonFactors) {
  const auto reshape = [](PartialShape from, PartialShape to) {
    return rule_of({"Reshape", {from, {to.rank()}}, {to}, {}, {{1, {}}}});
  };
  const std::string linear = "; linear 0; monotone 0";
  EXPECT_EQ(reshape({6, 5}, {2, 3, 5}), "(f0 f1) f2, size(0) -> f0 f1 f2" + linear);
  EXPECT_EQ(reshape({2, 3, 5}, {6, 5}), "f0 f1 f2, size(0) -> (f0 f1) f2" + linear);
  EXPECT_EQ(reshape({4, 6}, {6, 4}), "(f0 f1) f3, size(0) -> (f0 f2) f4; whole f1 f2 f3 f4" + linear);
  EXPECT_EQ(reshape({-1, 5}, {-1, 1, 5}), "f0 f1, size(0) -> f0 1 f1" + linear);
  EXPECT_EQ(reshape({-1, 3, 5}, {-1, 15}), "f0 f1 f2, size(0) -> f0 (f1 f2)" + linear);
  EXPECT_EQ(reshape({-1, 3, 5}, {-1, 5}), "f0 f1 f2, size(0) -> (f0 f1) f2" + linear);
  EXPECT_EQ(reshape({-1, 5}, {-1, 3, 5}), "(f0 f1) f2, size(0) -> f0 f1 f2" + linear);
  EXPECT_EQ(reshape({-1, 4}, {-1, 6}), "whole: its sizes are not known, or 0");
  EXPECT_EQ(reshape({-1, -1}, {-1, 6}), "whole: its sizes are not known, or 0");
  EXPECT_EQ(reshape({0, 4}, {4, 0}), "whole: its sizes are not known, or 0");
}

TEST(ShardingFunctions, SlicesPassWhatTheyTakeAllOf) {
  EXPECT_EQ(rule_of({"StridedSlice",
                     {{-1, 5}, {2}, {2}, {2}},
                     {{-1, 2}},
                     {{"begin_mask", 1}, {"end_mask", 1}},
                     {{1, {0, 1}}, {2, {0, 3}}, {3, {1, 1}}}}),
            "d0 1, ., ., . -> d0 1; linear 0");
  // The same size, from the last on.
  EXPECT_EQ(rule_of({"StridedSlice",
                     {{4, 5}, {1}, {1}, {1}},
                     {{4, 5}},
                     {{"begin_mask", 1}, {"end_mask", 1}},
                     {{1, {0}}, {2, {0}}, {3, {-1}}}}),
            "1 d1, ., ., . -> 1 d1; linear 0");
  EXPECT_EQ(rule_of({"StridedSlice",
                     {{4, 5, 6}, {2}, {2}, {2}},
                     {{1, 4, 5, 6}},
                     {{"new_axis_mask", 1}},
                     {{1, {0, 0}}, {2, {0, 4}}, {3, {1, 1}}}}),
            "d0 d1 d2, ., ., . -> 1 d0 d1 d2; linear 0");
  // All of 55,440 rows, and not all of 110,880.
  const auto first_rows = [](PartialShape slice) {
    return rule_of({"StridedSlice", {{55440, 5}, {1}, {1}, {1}}, {slice}, {}, {{1, {0}}, {2, {60000}}, {3, {1}}}});
  };
  EXPECT_EQ(first_rows({-1, 5}), "1 d1, ., ., . -> 1 d1; linear 0");
  EXPECT_EQ(first_rows({55440, 5}), "d0 d1, ., ., . -> d0 d1; linear 0");
  EXPECT_EQ(rule_of({"StridedSliceGrad",
                     {{2}, {1}, {1}, {1}, {-1, 5}},
                     {{55440, 5}},
                     {},
                     {{0, {55440, 5}}, {1, {0}}, {2, {60000}}, {3, {1}}}}),
            "size(0), ., ., ., 1 d1 -> 1 d1; linear 4");
  EXPECT_EQ(rule_of({"Slice", {{4, 5}, {2}, {2}}, {{4, 2}}, {}, {{1, {0, 1}}, {2, {4, 2}}}}),
            "d0 1, ., size(0) -> d0 1; linear 0");
  EXPECT_EQ(rule_of({"Slice", {{-1, 5}, {2}, {2}}, {{-1, 2}}, {}, {{1, {0, 1}}, {2, {-1, 2}}}}),
            "d0 1, ., size(0) -> d0 1; linear 0");
}

TEST(ShardingFunctions, TileCountsCopies) {
  EXPECT_EQ(rule_of({"Tile", {{4, 3}, {2}}, {{4, 6}}, {}, {{1, {1, 2}}}}),
            "d0 d1, . -> d0 (m1 d1); whole m1; linear 0");
  // The gradient of a mean: from one to as many as there are examples.
  EXPECT_EQ(rule_of({"Tile", {{1, 3}, {2}}, {{8, 3}}, {}, {{1, {8, 1}}}}), "1 d1, size(0) -> d0 d1; linear 0");
}

TEST(ShardingFunctions, ReductionsByRole) {
  const auto reduce = [](const char* op, std::vector<std::int64_t> axes, PartialShape to) {
    return rule_of({op, {{-1, 5}, {static_cast<std::int64_t>(axes.size())}}, {std::move(to)}, {}, {{1, axes}}});
  };
  EXPECT_EQ(reduce("Sum", {0}, {5}), "d0 d1, . -> d1; sum d0; linear 0");
  EXPECT_EQ(reduce("Mean", {-1}, {-1}), "d0 d1, . -> d0; mean d1; linear 0");
  EXPECT_EQ(reduce("Max", {0, 1}, PartialShape::scalar()), "d0 d1, . -> -; max d0 d1");
  EXPECT_EQ(reduce("Prod", {0}, {5}), "d0 d1, . -> d1; whole d0");
  EXPECT_EQ(reduce("Sum", {}, PartialShape::scalar()), "whole: the axes that it reduces are not known");
}

TEST(ShardingFunctions, GathersByAxis) {
  EXPECT_EQ(rule_of({"GatherV2",
                     {{3, 9, 4}, {3, 2}, PartialShape::scalar()},
                     {{3, 2, 4}},
                     {{"batch_dims", 1}},
                     {{1, {}}, {2, {1}}}}),
            "d0 v d2, d0 n1, . -> d0 n1 d2; rows v; linear 0");
  EXPECT_EQ(rule_of({"GatherV2", {{9, 4}, {-1}, PartialShape::scalar()}, {{-1, 4}}, {}, {{1, {}}, {2, {0}}}}),
            "v d1, n0, . -> n0 d1; rows v; linear 0");
}

}  // namespace
}  // namespace argosy
