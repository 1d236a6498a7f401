// Values with operators: graphs written as formulas.
#include <gtest/gtest.h>

#include <limits>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/select/select.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor floats(std::initializer_list<float> v) { return Tensor::vector<float>(v); }

TEST(Operators, ReadAsMathematics) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {2});
  const Value y = 2 * x + 1.0 / (x - 3) - -x;
  const auto dy = gradients(g, {y}, {x});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto out = evaluate(g, {{x.endpoint(), floats({1, 4})}}, {y.endpoint(), dy[0].endpoint()});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], floats({2.5, 13}), 1e-6), "");
  EXPECT_EQ(difference((*out)[1], floats({2.75, 2}), 1e-6), "");
}

TEST(Operators, NumbersMustFit) {
  Graph g;
  const Value n = constant(g, 7);
  EXPECT_EQ((n * 2).dtype(), DType::kInt32);
  EXPECT_FALSE((n * 2.5).valid());
  EXPECT_EQ(g.status().id(), "ARG-DTYPE-002");
}

TEST(Operators, NumbersKeepAllTheirBits) {
  constexpr std::int64_t kOdd = 9007199254740993;  // 2^53 + 1: no double
  Graph g;
  const Value ids = constant(g, Tensor::vector<std::int64_t>({-1, 5, kOdd - 1, kOdd}));
  const Value large = constant(g, Tensor::vector<std::uint64_t>({0, ~std::uint64_t{0}}));
  const Value bits = bitwise_and(ids, 0x7fffffffffffffff), same = equal(ids, kOdd), sum = ids + kOdd;
  const Value most = equal(large, ~std::uint64_t{0}), least = maximum(ids, std::numeric_limits<std::int64_t>::min());
  const Value truths = equal(constant(g, Tensor::vector<bool>({true, false})), true);
  const Value chosen = where(same, kOdd, ids), near = constant(g, Tensor::vector<float>({1})) + (1 << 24);
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto got = evaluate(g, {},
                            {bits.endpoint(), same.endpoint(), sum.endpoint(), most.endpoint(), least.endpoint(),
                             truths.endpoint(), chosen.endpoint(), near.endpoint()});
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  const Tensor expected[] = {
      Tensor::vector<std::int64_t>({std::numeric_limits<std::int64_t>::max(), 5, kOdd - 1, kOdd}),
      Tensor::vector<bool>({false, false, false, true}),
      Tensor::vector<std::int64_t>({kOdd - 1, kOdd + 5, 2 * kOdd - 1, 2 * kOdd}),
      Tensor::vector<bool>({false, true}),
      Tensor::vector<std::int64_t>({-1, 5, kOdd - 1, kOdd}),
      Tensor::vector<bool>({true, false}),
      Tensor::vector<std::int64_t>({-1, 5, kOdd - 1, kOdd}),
      Tensor::vector<float>({16777216}),
  };
  for (std::size_t i = 0; i < got->size(); ++i) EXPECT_EQ(difference((*got)[i], expected[i], 0), "") << "value " << i;
}

TEST(Operators, NumbersOutsideOfTheDtypeAreRefused) {
  struct Case {
    DType dtype;
    ExactNumber number;
    const char* text;
  };
  const Case cases[] = {
      {DType::kUint8, 300, "the number 300 does not fit uint8 of 'x:0'"},
      {DType::kUint8, 256, "the number 256 does not fit uint8"},
      {DType::kUint8, -1, "the number -1 does not fit uint8"},
      {DType::kInt8, -129, "the number -129 does not fit int8"},
      {DType::kInt32, 3000000000.0, "does not fit int32"},
      {DType::kInt32, 2147483648, "the number 2147483648 does not fit int32"},
      {DType::kInt64, 9223372036854775808.0, "does not fit int64"},
      {DType::kInt64, ~std::uint64_t{0}, "the number 18446744073709551615 does not fit int64"},
      {DType::kUint64, 18446744073709551616.0, "does not fit uint64"},
      {DType::kInt32, std::numeric_limits<double>::quiet_NaN(), "does not fit int32"},
      {DType::kInt32, std::numeric_limits<double>::infinity(), "does not fit int32"},
      {DType::kBool, 2, "the number 2 does not fit bool"},
  };
  for (const Case& c : cases) {
    Graph g;
    const Value x = placeholder(g, c.dtype, {2}, "x");
    EXPECT_FALSE(constant_like(x, c.number).valid()) << c.text;
    EXPECT_EQ(g.status().id(), "ARG-DTYPE-002");
    EXPECT_NE(g.status().message().find(c.text), std::string::npos) << g.status().message();
    EXPECT_FALSE(g.status().hint().empty());
  }
  Graph g;
  EXPECT_FALSE(less(placeholder(g, DType::kUint8, {2}), 256).valid());
  EXPECT_EQ(g.status().id(), "ARG-DTYPE-002");
  Graph clipped;
  EXPECT_FALSE(clip_by_value(placeholder(clipped, DType::kInt32, {2}), 0.5, 3).valid());
  EXPECT_EQ(clipped.status().id(), "ARG-DTYPE-002");
}

}  // namespace
}  // namespace argosy
