#include "argosy/passes/simplify/cse.h"

#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

TEST(Cse, EqualNodesBecomeOne) {
  expect_rewrite(cse, R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    a = Neg(x)
    b = Neg(x)
    -> a, b)",
                 R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    a = Neg(x)
    -> a, a)");
}

// Readers and waiters of the node that goes use the one that stays, further down too.
TEST(Cse, UsersFollow) {
  expect_rewrite(cse, R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    a = Neg(x)
    b = Neg(x)
    c = Exp(a)
    d = Exp(b)
    sum = AddV2(c, d)
    y = Identity(sum, ^b, ^d)
    -> y)",
                 R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    a = Neg(x)
    c = Exp(a)
    sum = AddV2(c, c)
    y = Identity(sum, ^a, ^c)
    -> y)");
}

TEST(Cse, OtherDevicesAndStatefulNodesAreLeftAlone) {
  expect_left_alone(cse, R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    here = Neg(x)
    there = Neg(x) @/gpu:1
    shape = Const [dtype=int32, value=int32[1] {2}]
    drawn = RandomUniform(shape) [dtype=float]
    again = RandomUniform(shape) [dtype=float]
    -> here, there, drawn, again)");
}

// 0 == -0, but 1/0 is not 1/-0; and a NaN is no less equal to itself for being one.
TEST(Cse, NumbersAreComparedByTheirBits) {
  expect_left_alone(cse, R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    a = LeakyRelu(x) [alpha=0.0]
    b = LeakyRelu(x) [alpha=-0.0]
    zero = Const [dtype=float, value=float[] {0}]
    minus = Const [dtype=float, value=float[] {-0}]
    -> a, b, zero, minus)");
  expect_rewrite(cse, R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    a = LeakyRelu(x) [alpha=nan]
    b = LeakyRelu(x) [alpha=nan]
    -> a, b)",
                 R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    a = LeakyRelu(x) [alpha=nan]
    -> a, a)");
}

}  // namespace
}  // namespace argosy
