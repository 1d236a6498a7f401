// An attribute that counts tensors was negative where another made up for it: the process read before its inputs.
#include <gtest/gtest.h>

#include <limits>

#include "argosy/op/definition/op_def.h"

namespace argosy {
namespace {

TEST(Issue31, CountsOfTensorsAreWithinBounds) {
  const auto op = parse_op({.name = "Two",
                            .doc = "",
                            .inputs = {"a: N * T", "b: M * T"},
                            .outputs = {},
                            .attrs = {"T: type", "N: int", "M: int >= 1"},
                            .shape = nullptr,
                            .gradient = kNotDifferentiable});
  ASSERT_TRUE(op.ok()) << op.status().to_string();
  const auto complete = [&](std::int64_t n, std::int64_t m, std::vector<DType> inputs) {
    AttrMap attrs{{"N", n}, {"M", m}};
    return complete_attrs(*op, inputs, attrs);
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const DType f = DType::kFloat32;
  EXPECT_TRUE(complete(1, 1, {f, f}).ok());
  EXPECT_EQ(complete(-1, 1, {}).code(), Code::kInvalidArgument);
  EXPECT_EQ(complete(-1, 2, {f}).code(), Code::kInvalidArgument);
  EXPECT_EQ(complete(2, -1, {f}).code(), Code::kInvalidArgument);
  EXPECT_EQ(complete(kMost, 1, {f}).code(), Code::kInvalidArgument);
  EXPECT_EQ(complete(kMost, kMost, {f}).code(), Code::kInvalidArgument);
  EXPECT_EQ(complete(std::numeric_limits<std::int64_t>::min(), 1, {f}).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace argosy
