#include "argosy/passes/simplify/remove_identities.h"

#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

TEST(RemoveIdentities, SumsOverNoAxisAndReshapesToTheSameShapeGo) {
  expect_rewrite(remove_identities, R"(
    x = Placeholder [dtype=float, shape=shape[2,3]]
    none = Const [dtype=int32, value=int32[0] {}]
    sum = Sum(x, none)
    shape = Const [dtype=int32, value=int32[2] {2, 3}]
    same = Reshape(sum, shape)
    y = Neg(same)
    six = Const [dtype=int32, value=int32[1] {6}]
    flat = Reshape(sum, six)
    -> y, sum, flat)",
                 R"(
    x = Placeholder [dtype=float, shape=shape[2,3]]
    y = Neg(x)
    six = Const [dtype=int32, value=int32[1] {6}]
    flat = Reshape(x, six)
    -> y, x, flat)");
}

// Any other size is an error of the step.
TEST(RemoveIdentities, AReshapeToASizeThatIsNotKnownIsLeftAlone) {
  expect_left_alone(remove_identities, R"(
    x = Placeholder [dtype=float, shape=shape[2,3]]
    rows = Placeholder [dtype=int32, shape=shape[]]
    three = Const [dtype=int32, value=int32[] {3}]
    shape = Pack(rows, three)
    same = Reshape(x, shape)
    y = Neg(same)
    -> y)");
}

TEST(RemoveIdentities, WhatWaitsOrIsWaitedForIsLeftAlone) {
  expect_left_alone(remove_identities, R"(
    x = Placeholder [dtype=float, shape=shape[2,3]]
    none = Const [dtype=int32, value=int32[0] {}]
    before = NoOp
    late = Sum(x, none, ^before)
    waited = Sum(x, none)
    y = Identity(late, ^waited)
    -> y)");
}

TEST(RemoveIdentities, AShapeStaysWhereTheStepWouldLoseAnEffect) {
  expect_left_alone(remove_identities, R"(
    x = Placeholder [dtype=float, shape=shape[2,3]]
    two = Const [dtype=int32, value=int32[2] {2, 3}]
    drawn = RandomUniform(two) [dtype=float]
    shape = Shape(drawn)
    same = Reshape(x, shape)
    y = Neg(same)
    -> y)");
}

// Without the node nothing would say that the constant is the value of one side alone.
TEST(RemoveIdentities, ConstantsOfBranchesStayTiedByTheirSizes) {
  expect_left_alone(remove_identities, R"(
    p = Placeholder [dtype=bool, shape=shape[]]
    sizes = Placeholder [dtype=int32, shape=shape[0]]
    sides = Switch(sizes, p)
    two = Const [dtype=float, value=float[] {2}]
    yes = BroadcastTo(two, sides:1)
    one = Const [dtype=float, value=float[] {1}]
    no = BroadcastTo(one, sides)
    y = Merge(no, yes)
    -> y)");
}

// A constant of the branch ties a value from outside to it.
TEST(RemoveIdentities, ValuesFromOutsideABranchStayTiedByTheirAxes) {
  expect_left_alone(remove_identities, R"(
    p = Placeholder [dtype=bool, shape=shape[]]
    x = Placeholder [dtype=float, shape=shape[2]]
    sides = Switch(x, p)
    pivot = Identity(sides:1)
    none = Const(^pivot) [dtype=int32, value=int32[0] {}]
    yes = Sum(x, none)
    y = Merge(sides, yes)
    -> y)");
}

TEST(RemoveIdentities, ValuesOfABranchNeedNoTie) {
  expect_rewrite(remove_identities, R"(
    p = Placeholder [dtype=bool, shape=shape[]]
    x = Placeholder [dtype=float, shape=shape[2]]
    sides = Switch(x, p)
    pivot = Identity(sides:1)
    none = Const(^pivot) [dtype=int32, value=int32[0] {}]
    yes = Sum(pivot, none)
    y = Merge(sides, yes)
    -> y)",
                 R"(
    p = Placeholder [dtype=bool, shape=shape[]]
    x = Placeholder [dtype=float, shape=shape[2]]
    sides = Switch(x, p)
    pivot = Identity(sides:1)
    y = Merge(sides, pivot)
    -> y)");
}

TEST(RemoveIdentities, TargetsAndOtherDevicesAreLeftAlone) {
  expect_left_alone(remove_identities, R"(
    x = Placeholder [dtype=float, shape=shape[2,3]]
    none = Const [dtype=int32, value=int32[0] {}]
    target = Sum(x, none)
    there = Sum(x, none) @/gpu:1
    y = Neg(there)
    -> y, ^target)");
}

}  // namespace
}  // namespace argosy
