#include "argosy/passes/simplify/constant_folding.h"

#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

TEST(ConstantFolding, WhatReadsConstantsBecomesOne) {
  expect_rewrite(fold_constants, R"(
    a = Const [dtype=float, value=float[2] {1, 2}]
    b = Neg(a)
    x = Placeholder [dtype=float, shape=shape[2]]
    y = AddV2(x, b)
    -> y)",
                 R"(
    b = Const [dtype=float, value=float[2] {-1, -2}]
    x = Placeholder [dtype=float, shape=shape[2]]
    y = AddV2(x, b)
    -> y)");
}

TEST(ConstantFolding, ShapesAreKnownBeforeTheStep) {
  expect_rewrite(fold_constants, R"(
    x = Placeholder [dtype=float, shape=shape[4,3]]
    shape = Shape(x)
    axis = Const [dtype=int32, value=int32[1] {0}]
    size = Prod(shape, axis)
    -> size)",
                 R"(
    size = Const [dtype=int32, value=int32[] {12}]
    -> size)");
}

// tf.control_dependencies([effect]) around a constant: the result alone ties the effect to the step.
TEST(ConstantFolding, TheResultWaitsForWhatConstantsWaitFor) {
  expect_rewrite(fold_constants, R"(
    effect = NoOp
    late = Const(^effect) [dtype=float, value=float[] {1}]
    two = Const [dtype=float, value=float[] {2}]
    three = Const [dtype=float, value=float[] {3}]
    sum = AddV2(two, late)
    y = Mul(sum, three)
    -> y)",
                 R"(
    effect = NoOp
    y = Const(^effect) [dtype=float, value=float[] {9}]
    -> y)");
}

// One of them may become a constant. The other one then is all that is dead with the branch.
TEST(ConstantFolding, OfTwoSizesInABranchOneStaysDead) {
  expect_rewrite(fold_constants, R"(
    p = Placeholder [dtype=bool, shape=shape[]]
    x = Placeholder [dtype=float, shape=shape[2,3]]
    sides = Switch(x, p)
    size = Size(sides:1)
    rank = Rank(sides:1)
    sum = Add(size, rank)
    else = Placeholder [dtype=int32, shape=shape[]]
    no = Neg(else)
    y = Merge(sum, no)
    -> y)",
                 R"(
    p = Placeholder [dtype=bool, shape=shape[]]
    x = Placeholder [dtype=float, shape=shape[2,3]]
    sides = Switch(x, p)
    size = Const [dtype=int32, value=int32[] {6}]
    rank = Rank(sides:1)
    sum = Add(size, rank)
    else = Placeholder [dtype=int32, shape=shape[]]
    no = Neg(else)
    y = Merge(sum, no)
    -> y)");
}

// TensorFlow draws in such a step: later draws follow from it.
TEST(ConstantFolding, ASizeStaysWhereTheStepWouldLoseAnEffect) {
  expect_left_alone(fold_constants, R"(
    four = Const [dtype=int32, value=int32[1] {4}]
    drawn = RandomUniform(four) [dtype=float]
    y = Neg(drawn)
    size = Size(y)
    zeros = ZerosLike(y)
    -> size, zeros)");
  expect_left_alone(fold_constants, R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    v = Variable [dtype=float, shape=shape[2], container="", shared_name=""]
    written = Assign(v, x)
    late = Neg(x, ^written)
    shape = Shape(late)
    -> shape)");
}

TEST(ConstantFolding, ASizeOfAnEffectThatIsNeededAnywayIsKnown) {
  expect_rewrite(fold_constants, R"(
    four = Const [dtype=int32, value=int32[1] {4}]
    drawn = RandomUniform(four) [dtype=float]
    size = Size(drawn)
    -> size, drawn)",
                 R"(
    size = Const [dtype=int32, value=int32[] {4}]
    four = Const [dtype=int32, value=int32[1] {4}]
    drawn = RandomUniform(four) [dtype=float]
    -> size, drawn)");
}

TEST(ConstantFolding, NodesThatWaitAreLeftAlone) {
  expect_left_alone(fold_constants, R"(
    effect = NoOp
    one = Const [dtype=float, value=float[] {1}]
    y = Identity(one, ^effect)
    -> y)");
}

// A constant of each turn would stay for good; what a turn computes goes when it ends.
TEST(ConstantFolding, WhatIsLargeAndOfATurnIsComputed) {
  expect_left_alone(fold_constants, R"(
    n = Const [dtype=int32, value=int32[1] {2000}]
    one = Const [dtype=float, value=float[] {1}]
    y = Fill(n, one) [_turn=1]
    -> y)");
  expect_rewrite(fold_constants, R"(
    n = Const [dtype=int32, value=int32[1] {2}]
    one = Const [dtype=float, value=float[] {1}]
    y = Fill(n, one) [_turn=1]
    -> y)",
                 R"(
    y = Const [dtype=float, value=float[2] {1, 1}]
    -> y)");
}

}  // namespace
}  // namespace argosy
