#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/list/test_nesting.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

// A CompositeTensorVariantMetadata whose type_spec_proto has this type_spec_class.
std::string metadata(char kind) { return std::string({'\x0a', '\x02', '\x08', kind}); }
constexpr char kSparse = 1, kRagged = 3;

Value encoded(Graph& g, const std::vector<Value>& parts, const std::string& kind) {
  return g.add("CompositeTensorVariantFromComponents", parts, {{"metadata", kind}});
}
Value decoded(Graph& g, Value from, const std::vector<DType>& types, const std::string& kind) {
  return g.add("CompositeTensorVariantToComponents", {from}, {{"metadata", kind}, {"Tcomponents", types}});
}
std::vector<Value> ragged(Graph& g) {
  return {constant(g, Tensor::vector<float>({1, 2, 3})), constant(g, Tensor::vector<std::int64_t>({0, 2, 3}))};
}
const std::vector<DType> kTypes = {DType::kFloat32, DType::kInt64};

TEST(Composite, ThereAndBack) {
  Graph g;
  const Value y = decoded(g, encoded(g, ragged(g), metadata(kRagged)), kTypes, metadata(kRagged));
  const auto got = evaluate(g, {}, {y.endpoint(), y.output(1).endpoint()});
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(difference((*got)[0], Tensor::vector<float>({1, 2, 3}), 0), "");
  EXPECT_EQ(difference((*got)[1], Tensor::vector<std::int64_t>({0, 2, 3}), 0), "");
}

TEST(Composite, Refuses) {
  struct Case {
    std::string kind, sentence;
    std::vector<DType> types = kTypes;
  };
  for (const Case& k : {Case{metadata(kSparse),
                             "Expected a SPARSE_TENSOR_SPEC (based on `type_spec`), but `encoded` "
                             "contains a RAGGED_TENSOR_SPEC"},
                        {"", "Expected a UNKNOWN (based on `type_spec`)"},
                        {"\xff\xff", "Error parsing `metadata`"},
                        {metadata(kRagged), "Encoded value has 2 tensor components; expected 1", {DType::kFloat32}},
                        {metadata(kRagged),
                         "Tensor component 1 had dtype int64; expected dtype int32",
                         {DType::kFloat32, DType::kInt32}}}) {
    Graph g;
    const Value y = decoded(g, encoded(g, ragged(g), metadata(kRagged)), k.types, k.kind);
    const auto got = evaluate(g, {}, {y.endpoint()});
    EXPECT_EQ(got.status().code(), Code::kInvalidArgument) << k.sentence;
    EXPECT_NE(got.status().to_string().find(k.sentence), std::string::npos) << got.status().to_string();
  }
  Graph g;
  EXPECT_EQ(evaluate(g, {}, {encoded(g, ragged(g), "\xff\xff").endpoint()}).status().code(), Code::kInvalidArgument);
}

TEST(Composite, Gradients) {
  check_gradients(
      {.ops = {"CompositeTensorVariantFromComponents", "CompositeTensorVariantToComponents"},
       .at = {random_tensor(DType::kFloat64, {3})},
       .f = [](Graph& g, const std::vector<Value>& x) {
         const Value both = encoded(g, {x[0], constant(g, Tensor::vector<std::int64_t>({0, 2, 3}))}, metadata(kRagged));
         const std::vector<DType> types = {DType::kFloat64, DType::kInt64};
         return std::vector{decoded(g, both, types, metadata(kRagged)), decoded(g, both, types, metadata(kRagged))};
       }});
}

TEST(Composite, AreNestedOnlySoDeep) {
  check_nesting_of_op("CompositeTensorVariantFromComponents",
                      [](Graph& g, Value x) { return encoded(g, {x}, metadata(kRagged)); });
}

TEST(RaggedVariants, AreNestedOnlySoDeep) {
  check_nesting_of_op("RaggedTensorToVariant", [](Graph& g, Value x) {
    return g.add("RaggedTensorToVariant", {x},
                 {{"RAGGED_RANK", std::int64_t{0}}, {"batched_input", false}, {"Tsplits", DType::kInt64}});
  });
}

}  // namespace
}  // namespace argosy
