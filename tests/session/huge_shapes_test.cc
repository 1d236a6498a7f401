// Sizes that fit 64 bits and no memory: a library that keeps them in 32 bits divided by zero, which ended the process.
#include <gmock/gmock.h>

#include "argosy/ops/constant/constant.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

Value ints(Graph& g, const std::vector<std::int32_t>& v) { return constant(g, Tensor::vector(v)); }
Value filled(Graph& g, const std::vector<std::int64_t>& sizes) {
  return g.add("Fill", {constant(g, Tensor::vector(sizes)), constant(g, 1.0f)}, {{"index_type", DType::kInt64}});
}

void expect_refused(const Graph& g, Value value, const std::string& what) {
  ASSERT_TRUE(g.status().ok()) << what << ": " << g.status().to_string();
  TestSession session(g);
  EXPECT_FALSE(session.run({value}).ok()) << what;
}

TEST(HugeShapes, ProductsAreRefused) {
  for (const int bits : {40, 44, 48, 56, 60}) {
    const std::int64_t huge = std::int64_t{1} << bits;
    for (const auto& [a, b] : {std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>{{huge, 4}, {4, 4}},
                               {{4, huge}, {huge, 4}},
                               {{4, 4}, {4, huge}}}) {
      for (const char* const op : {"MatMul", "BatchMatMulV2"}) {
        Graph g;
        expect_refused(g, g.add(op, {filled(g, a), filled(g, b)}), str_cat(op, " 2^", bits));
      }
    }
  }
}

// Bytes that wrap to 0, one by one or in sum: no place in an arena is so small.
TEST(HugeShapes, IntermediateValuesAreRefused) {
  for (const int bits : {40, 58, 59, 60, 61, 62}) {
    for (const int count : {1, 4, 16}) {
      Graph g;
      const Value x = placeholder(g, DType::kFloat32, {});
      std::vector<Value> values;
      for (int i = 0; i < count; ++i) {
        const Value one = g.add("AddV2", {x, constant(g, static_cast<float>(i))});
        const Value sizes = constant(g, Tensor::vector<std::int64_t>({std::int64_t{1} << bits}));
        values.push_back(g.add("Relu", {g.add("Fill", {sizes, one}, {{"index_type", DType::kInt64}})}));
      }
      const Value z = g.add("Slice", {g.add("AddN", {values}), constant(g, Tensor::vector<std::int64_t>({0})),
                                      constant(g, Tensor::vector<std::int64_t>({1}))});
      ASSERT_TRUE(g.status().ok()) << g.status().to_string();
      TestSession session(g);
      EXPECT_FALSE(session.run({{x, Tensor::scalar(1.0f)}}, {z}).ok()) << "2^" << bits << ", " << count;
    }
  }
}

TEST(HugeShapes, FilterGradientsAreRefused) {
  struct FilterCase {
    const char* op;
    int axes;
  };
  for (const auto& [op, axes] : {FilterCase{"Conv2DBackpropFilter", 2},
                                 {"DepthwiseConv2dNativeBackpropFilter", 2},
                                 {"Conv3DBackpropFilterV2", 3}}) {
    for (const int bits : {12, 14, 16, 18, 20, 30}) {
      Graph g;
      std::vector<std::int64_t> images(static_cast<std::size_t>(axes) + 2, 4);
      images.front() = images.back() = 1;
      std::vector<std::int32_t> sizes(static_cast<std::size_t>(axes), 1 << bits);
      sizes.insert(sizes.end(), {1, 1});
      const std::vector<std::int64_t> strides(static_cast<std::size_t>(axes) + 2, 1);
      const Value y = g.add(op, {filled(g, images), ints(g, sizes), filled(g, images)},
                            {{"strides", strides}, {"padding", "SAME"}});
      if (axes * bits >= 40) expect_refused(g, y, str_cat(op, " 2^", bits));
    }
  }
}

TEST(HugeShapes, InputGradientsAreRefused) {
  for (const std::int32_t size : {1 << 20, 1 << 26, INT32_MAX}) {
    Graph g;
    const Value y = g.add("Conv2DBackpropInput",
                          {ints(g, {1, size, size, 4}), filled(g, {3, 3, 4, 4}), filled(g, {1, size, size, 4})},
                          {{"strides", std::vector<std::int64_t>{1, 1, 1, 1}}, {"padding", "SAME"}});
    expect_refused(g, y, str_cat("of ", size));
  }
}

}  // namespace
}  // namespace argosy
