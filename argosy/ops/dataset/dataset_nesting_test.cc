// Datasets hold datasets, and optionals hold both.
#include "argosy/ops/list/test_nesting.h"

namespace argosy {
namespace {

const AttrMap kVariants = {{"output_types", std::vector<DType>{DType::kVariant}},
                           {"output_shapes", std::vector<PartialShape>{PartialShape::scalar()}}};
const AttrMap kComponents = {{"Toutput_types", std::vector<DType>{DType::kVariant}},
                             {"output_shapes", std::vector<PartialShape>{PartialShape::scalar()}}};

TEST(Datasets, AreNestedOnlySoDeep) {
  check_nesting_of_op("TensorDataset", [](Graph& g, Value x) { return g.add("TensorDataset", {x}, kComponents); });
  check_nesting_of_op("OptionalFromValue", [](Graph& g, Value x) { return g.add("OptionalFromValue", {x}); });
}

// Of one input, and of two. What hands a dataset on as it is adds nothing.
TEST(Datasets, AreMadeOfOthersOnlySoDeep) {
  Graph g;
  const Value x = placeholder(g, DType::kVariant, PartialShape::scalar(), "x");
  const Value all = constant(g, std::int64_t{-1});
  const Value first = g.add("TensorDataset", {constant(g, std::int64_t{1})},
                            {{"output_shapes", std::vector<PartialShape>{PartialShape::scalar()}}});
  const AttrMap numbers = {{"output_types", std::vector<DType>{DType::kInt64}},
                           {"output_shapes", std::vector<PartialShape>{PartialShape::scalar()}}};
  const Value y = g.add("TakeDataset", {x, all}, numbers);
  const Value both = g.add("ConcatenateDataset", {x, first}, numbers);
  const Value count = g.add("DatasetCardinality", {x});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  for (const Value& around : {y, both}) {
    Tensor value = (*evaluate(g, {}, {first.endpoint()}))[0];
    for (int depth = 2; depth <= kMostNested; ++depth) {
      auto out = evaluate(g, {{x.endpoint(), value}}, {around.endpoint()});
      ASSERT_TRUE(out.ok()) << depth << ": " << out.status().to_string();
      value = (*out)[0];
      ASSERT_EQ(nesting_of(value), depth);
    }
    const auto counted = evaluate(g, {{x.endpoint(), value}}, {count.endpoint()});
    ASSERT_TRUE(counted.ok()) << counted.status().to_string();
    EXPECT_EQ(*(*counted)[0].data<std::int64_t>(), around.endpoint() == y.endpoint() ? 1 : kMostNested);
    const Status refused = evaluate(g, {{x.endpoint(), value}}, {around.endpoint()}).status();
    EXPECT_EQ(refused.code(), Code::kResourceExhausted) << refused.to_string();
    EXPECT_NE(refused.message().find("1001 deep"), std::string::npos) << refused.to_string();
  }
}

TEST(Datasets, KeepTheirOwnNestingWhereTheyPassThrough) {
  Graph g;
  const Value x = placeholder(g, DType::kVariant, PartialShape::scalar(), "x");
  const Value same = g.add("ModelDataset", {x}, kVariants);
  const Value start = g.add("TensorDataset", {x}, kComponents);
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  Tensor value = (*evaluate(g, {{x.endpoint(), Tensor::zeros(DType::kVariant, {})}}, {start.endpoint()}))[0];
  for (int i = 0; i < 3; ++i) {
    auto out = evaluate(g, {{x.endpoint(), value}}, {same.endpoint()});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    value = (*out)[0];
    EXPECT_EQ(nesting_of(value), 1);
  }
}

}  // namespace
}  // namespace argosy
