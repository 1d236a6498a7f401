#include "argosy/ops/map/map.h"

#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Result<std::vector<Tensor>> run(const Graph& graph, const std::vector<Value>& fetch) {
  if (!graph.status().ok()) return graph.status();
  std::vector<Endpoint> endpoints;
  for (const Value& v : fetch) endpoints.push_back(v.endpoint());
  return evaluate(graph, {}, endpoints);
}

TEST(TensorMaps, EntriesComeAndGo) {
  Graph graph;
  const Value a = constant(graph, Tensor::scalar("a")), b = constant(graph, Tensor::scalar("b"));
  const Value one = constant(graph, Tensor::vector<float>({1, 2})), two = constant(graph, 2.f);
  const Value both = tensor_map_insert(tensor_map_insert(tensor_map(graph), a, one), b, two);
  const Value other = tensor_map_insert(both, a, two);
  const Value fewer = tensor_map_erase(both, a);
  const Value keys = graph.add("TensorMapStackKeys", {both}, {{"key_dtype", DType::kString}});
  const auto got = run(graph, {tensor_map_size(both), tensor_map_lookup(both, a, DType::kFloat32),
                               tensor_map_lookup(other, a, DType::kFloat32), tensor_map_size(fewer),
                               tensor_map_has_key(fewer, a), tensor_map_has_key(fewer, b), keys});
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(difference((*got)[0], Tensor::scalar(2), 0), "");
  EXPECT_EQ(difference((*got)[1], Tensor::vector<float>({1, 2}), 0), "");
  EXPECT_EQ(difference((*got)[2], Tensor::scalar(2.f), 0), "");
  EXPECT_EQ(difference((*got)[3], Tensor::scalar(1), 0), "");
  EXPECT_EQ(difference((*got)[4], Tensor::scalar(false), 0), "");
  EXPECT_EQ(difference((*got)[5], Tensor::scalar(true), 0), "");
  EXPECT_EQ(difference((*got)[6], Tensor::vector<std::string>({"a", "b"}), 0), "");
  EXPECT_EQ(run(graph, {tensor_map_lookup(fewer, a, DType::kFloat32)}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(run(graph, {tensor_map_lookup(both, a, DType::kInt32)}).status().code(), Code::kInvalidArgument);
}

TEST(TensorMaps, Gradients) {
  check_gradients({.ops = {"TensorMapInsert", "TensorMapLookup", "TensorMapErase"},
                   .at = {random_tensor(DType::kFloat64, {3}), random_tensor(DType::kFloat64, {2}, 2)},
                   .f = [](Graph& graph, const std::vector<Value>& xs) {
                     const Value k = constant(graph, 1), l = constant(graph, 2), m = constant(graph, 3);
                     Value map = tensor_map_insert(tensor_map_insert(tensor_map(graph), k, xs[0]), l, xs[1]);
                     map = tensor_map_erase(tensor_map_insert(map, m, square(xs[0])), m);
                     return std::vector<Value>{square(tensor_map_lookup(map, k, DType::kFloat64)),
                                               tensor_map_lookup(map, l, DType::kFloat64)};
                   }});
}

}  // namespace
}  // namespace argosy
