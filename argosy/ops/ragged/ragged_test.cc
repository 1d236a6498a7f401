#include "argosy/ops/ragged/ragged.h"

#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Numbers = std::vector<std::int64_t>;
Tensor ints(const Numbers& v) { return Tensor::vector(v); }
Tensor i32(std::initializer_list<std::int32_t> v) { return Tensor::vector<std::int32_t>(v); }
Tensor values(const Shape& shape, std::uint64_t seed = 1) { return random_tensor(DType::kFloat32, shape, seed); }

void is(const char* op, std::vector<Tensor> x, std::vector<Tensor> y = {}, const AttrMap& attrs = {}) {
  check({.op = op, .inputs = std::move(x), .attrs = attrs, .expect = std::move(y), .other_dtypes = false});
}
void fails(const char* op, std::vector<Tensor> x, const AttrMap& attrs = {}) {
  check({.op = op, .inputs = std::move(x), .attrs = attrs, .error = Code::kInvalidArgument});
}

TEST(RaggedOps, Range) {
  is("RaggedRange", {i32({0, 5, 8}), i32({3, 5, 12}), i32({1, 1, 3})}, {ints({0, 3, 3, 5}), i32({0, 1, 2, 8, 11})});
  is("RaggedRange", {Tensor::scalar(0), i32({3, -2}), Tensor::scalar(-1)}, {ints({0, 0, 2}), i32({0, -1})});
  is("RaggedRange", {Tensor::scalar(0), Tensor::scalar(4), Tensor::scalar(2)}, {ints({0, 2}), i32({0, 2})});
  is("RaggedRange",
     {Tensor::vector<float>({0, 1}), Tensor::vector<float>({1, -1}), Tensor::vector<float>({.3f, -.5f})});
  is("RaggedRange", {Tensor::scalar(std::int64_t{1}), Tensor::scalar(std::int64_t{4}), Tensor::scalar(std::int64_t{2})},
     {}, {{"Tsplits", DType::kInt32}});
  fails("RaggedRange", {i32({0}), i32({3}), i32({0})});
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto floats = [](float v) { return Tensor::vector<float>({v}); };
  is("RaggedRange", {floats(0), floats(-inf), floats(1)}, {ints({0, 0}), Tensor::zeros(DType::kFloat32, {0})});
  for (const auto& [limit, delta] : {std::pair{nan, 1.f}, {nan, -1.f}, {1.f, nan}, {inf, 1.f}, {inf, inf}}) {
    fails("RaggedRange", {floats(0), floats(limit), floats(delta)});
  }
  fails("RaggedRange", {i32({0, 1}), i32({3}), i32({1})});
  fails("RaggedRange", {Tensor::zeros(DType::kInt32, {1, 1}), i32({3}), i32({1})});
}

// [[v0 v1] [] [v2 v3 v4]] of [[.. ..] [..] ...]: two ragged axes over six values.
const Numbers kOuter = {0, 2, 2, 3}, kInner = {0, 2, 3, 6};

TEST(RaggedOps, Gather) {
  const AttrMap two = {{"PARAMS_RAGGED_RANK", 2}, {"OUTPUT_RAGGED_RANK", 2}, {"Tsplits", DType::kInt64}};
  is("RaggedGather", {ints(kOuter), ints(kInner), values({6, 2}), i32({2, 0, 1, 2})}, {}, two);
  is("RaggedGather", {ints({0, 2, 2, 3}), Tensor::vector<std::string>({"a", "b", "c"}), i32({2, 0})},
     {ints({0, 1, 3}), Tensor::vector<std::string>({"c", "a", "b"})}, {{"OUTPUT_RAGGED_RANK", 1}});
  is("RaggedGather", {ints({0, 2, 2, 3}), values({3}), Tensor::of<std::int64_t>({2, 2}, {2, 0, 1, 2})}, {},
     {{"OUTPUT_RAGGED_RANK", 2}});
  fails("RaggedGather", {ints({0, 2, 2, 3}), values({3}), i32({3})}, {{"OUTPUT_RAGGED_RANK", 1}});
  fails("RaggedGather", {ints({0, 2, 2, 3}), values({3}), i32({-1})}, {{"OUTPUT_RAGGED_RANK", 1}});
  check_gradients({.ops = {"RaggedGather"},
                   .at = {cast_to(values({6, 2}), DType::kFloat64)},
                   .f = [](Graph& graph, const std::vector<Value>& xs) {
                     const RaggedValue x = {{constant(graph, ints(kOuter)), constant(graph, ints(kInner))}, xs[0]};
                     return std::vector<Value>{ragged_gather(x, constant(graph, i32({2, 0, 1, 2}))).values};
                   }});
}

TEST(RaggedOps, ToSparse) {
  is("RaggedTensorToSparse", {ints({0, 2, 2, 3}), values({3})});
  is("RaggedTensorToSparse", {ints(kOuter), ints(kInner), values({6, 2})}, {},
     {{"RAGGED_RANK", 2}, {"Tsplits", DType::kInt64}});
  check({.op = "RaggedTensorToSparse", .inputs = {ints({0, 2, 2, 3}), values({3})}});
  fails("RaggedTensorToSparse", {ints({0, 2, 1, 3}), values({3})});
  fails("RaggedTensorToSparse", {ints({0, 2}), values({3})});
  fails("RaggedTensorToSparse", {ints({1, 3}), values({3})});
}

TEST(RaggedOps, ToTensor) {
  const AttrMap one = {{"row_partition_types", std::vector<std::string>{"ROW_SPLITS"}}};
  const AttrMap two = {{"row_partition_types", std::vector<std::string>{"ROW_SPLITS", "ROW_SPLITS"}}};
  const AttrMap ids = {{"row_partition_types", std::vector<std::string>{"FIRST_DIM_SIZE", "VALUE_ROWIDS"}}};
  const Tensor any = Tensor::scalar(std::int64_t{-1}), d = Tensor::scalar(.5f);
  for (const Tensor& shape : {any, ints({-1, -1}), ints({5, 2}), ints({2, 1}), ints({3, 4})}) {
    check({.op = "RaggedTensorToTensor", .inputs = {shape, values({3}), d, ints({0, 2, 2, 3})}, .attrs = one});
  }
  check({.op = "RaggedTensorToTensor",
         .inputs = {any, values({6, 2}), Tensor::vector<float>({1, 2}), ints(kOuter), ints(kInner)},
         .attrs = two});
  check({.op = "RaggedTensorToTensor",
         .inputs = {any, values({4}), d, Tensor::scalar(std::int64_t{4}), ints({0, 0, 2, 2})},
         .attrs = ids});
  is("RaggedTensorToTensor", {any, Tensor::vector<std::string>({"a", "b", "c"}), Tensor::scalar("-"), ints({0, 2, 3})},
     {Tensor::of<std::string>({2, 2}, {"a", "b", "c", "-"})}, one);
  fails("RaggedTensorToTensor", {Tensor::scalar(std::int64_t{3}), values({3}), d, ints({0, 2, 3})}, one);
  check({.op = "RaggedTensorToTensor",
         .inputs = {any, values({3}), d, ints({0, 2, 2})},
         .attrs = one,
         .error = Code::kInvalidArgument,
         .unlike_tensorflow = "leaves values behind the last row out"});
  fails("RaggedTensorToTensor", {any, values({3}), d, ints({0, 2, 3})}, two);
  check({.op = "RaggedTensorToTensor",
         .inputs = {any, values({3}), values({3}), ints({0, 2, 3})},
         .attrs = one,
         .error = Code::kInvalidArgument,
         .unlike_tensorflow = "takes the first of several defaults"});
}

std::vector<Tensor> run(const Graph& graph, const std::vector<Value>& fetch) {
  EXPECT_TRUE(graph.status().ok()) << graph.status().to_string();
  std::vector<Endpoint> endpoints;
  for (const Value& v : fetch) endpoints.push_back(v.endpoint());
  const auto outputs = evaluate(graph, {}, endpoints);
  EXPECT_TRUE(outputs.ok()) << outputs.status().to_string();
  return outputs.ok() ? *outputs : std::vector<Tensor>(fetch.size());
}

// There and back through variants: one, or one a row.
Value encode(Graph& graph, Value x, bool batched) {
  const std::vector<Value> inputs = {constant(graph, ints(kOuter)), constant(graph, ints(kInner)), x};
  return graph.add(
      "RaggedTensorToVariant", inputs,
      {{"RAGGED_RANK", 2}, {"Tvalues", x.dtype()}, {"Tsplits", DType::kInt64}, {"batched_input", batched}});
}
Value decode(Value encoded, DType dtype, int own) {
  return encoded.graph().add("RaggedTensorFromVariant", {encoded},
                             {{"input_ragged_rank", own}, {"output_ragged_rank", 2}, {"Tvalues", dtype}});
}

TEST(RaggedVariants, ThereAndBack) {
  for (const bool batched : {false, true}) {
    Graph graph;
    const Value y = decode(encode(graph, constant(graph, values({6, 2})), batched), DType::kFloat32, batched ? 1 : -1);
    const auto got = run(graph, {y, y.output(1), y.output(2)});
    EXPECT_EQ(difference(got[0], ints(kOuter), 0), "");
    EXPECT_EQ(difference(got[1], ints(kInner), 0), "");
    EXPECT_EQ(difference(got[2], values({6, 2}), 0), "");
    const auto wrong = evaluate(
        graph, {}, {decode(encode(graph, constant(graph, values({6})), batched), DType::kInt32, -1).endpoint()});
    EXPECT_EQ(wrong.status().code(), Code::kInvalidArgument);
  }
}

TEST(RaggedVariants, Gradients) {
  for (const bool batched : {false, true}) {
    check_gradients({.ops = {"RaggedTensorToVariant", "RaggedTensorFromVariant"},
                     .at = {cast_to(values({6, 2}), DType::kFloat64)},
                     .f = [&](Graph& graph, const std::vector<Value>& xs) {
                       const Value y = decode(encode(graph, xs[0], batched), DType::kFloat64, batched ? 1 : 2);
                       return std::vector<Value>{y.output(2)};
                     }});
  }
}

TEST(RaggedBuilders, GiveShapes) {
  Graph graph;
  const RaggedValue x = ragged_range(constant(graph, i32({0, 1})), constant(graph, i32({3, 2})), constant(graph, 1));
  const Value y = ragged_to_tensor(x, constant(graph, std::int64_t{-1}), constant(graph, 9));
  EXPECT_EQ(difference(run(graph, {y})[0], Tensor::of<std::int32_t>({2, 3}, {0, 1, 2, 1, 9, 9}), 0), "");
}

}  // namespace
}  // namespace argosy
