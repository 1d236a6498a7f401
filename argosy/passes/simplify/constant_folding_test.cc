#include "argosy/passes/simplify/constant_folding.h"

#include <cmath>

#include "argosy/ops/constant/constant.h"
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

// As it does in the step.
TEST(ConstantFolding, ASumOverNoAxisKeepsTheSignOfZero) {
  for (const char* op : {"Sum", "Mean"}) {
    Graph g;
    const Value x = constant(g, Tensor::vector<float>({-0.0f, 0.0f})),
                none = constant(g, Tensor::vector<std::int32_t>({}));
    auto step = prune_step(g, {.fetches = {g.add(op, {x, none}).endpoint()}});
    ASSERT_TRUE(step.ok()) << step.status().to_string();
    ASSERT_TRUE(fold_constants(*step).ok());
    const Tensor* const y = step->graph.constant(step->fetches[0]);
    ASSERT_NE(y, nullptr);
    EXPECT_TRUE(std::signbit(y->data<float>()[0])) << op;
    EXPECT_FALSE(std::signbit(y->data<float>()[1])) << op;
  }
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

// A loop in a branch. The constants of its body wait for a value of the iteration, and nothing else ties the update that
// reads them to it: its variable comes from outside of the loop, dead with the branch alone.
std::string loop_in_branch(const std::string& body) {
  return R"(
    p = Placeholder [dtype=bool, shape=shape[]]
    x = Placeholder [dtype=float, shape=shape[2]]
    w = VarHandleOp [dtype=float, shape=shape[2], container="", shared_name=""]
    sides = Switch(x, p)
    taken = Switch(w, p)
    in = Enter(sides:1) [frame_name="loop"]
    there = Enter(taken:1) [frame_name="loop", is_constant=true]
    m = Merge(in, next)
    goes_on = Placeholder [dtype=bool, shape=shape[]]
    cond = LoopCond(goes_on)
    s = Switch(m, cond)
    d = EnsureShape(s:1) [shape=shape[2]]
)" + body +
         R"(
    update = AssignAddVariableOp(there, add)
    e = Neg(d, ^update)
    next = NextIteration(e)
    out = Exit(s)
    y = Merge(sides, out)
    -> y)";
}

TEST(ConstantFolding, AnUpdateStaysInItsIteration) {
  expect_rewrite(fold_constants, loop_in_branch(R"(
    two = Const(^d) [dtype=int32, value=int32[1] {2}]
    half = Const(^d) [dtype=float, value=float[] {0.5}]
    add = Fill(two, half)
)"),
                 loop_in_branch(R"(
    add = Const(^d) [dtype=float, value=float[2] {0.5, 0.5}]
)"));
  expect_rewrite(fold_constants, loop_in_branch(R"(
    one = Const(^d) [dtype=int32, value=int32[2] {1, 1}]
    add = Cast(one) [DstT=float]
)"),
                 loop_in_branch(R"(
    add = Const(^d) [dtype=float, value=float[2] {1, 1}]
)"));
}

// Shapes are known, but nothing of the update would be left in the iteration.
TEST(ConstantFolding, WhatAloneTiesAnUpdateToItsIterationStays) {
  expect_left_alone(fold_constants, loop_in_branch("    add = ZerosLike(d)"));
  expect_left_alone(fold_constants, loop_in_branch(R"(
    rank = Rank(d)
    ranks = Pack(rank, rank) [N=2]
    add = Cast(ranks) [DstT=float]
)"));
}

// What reads the size reads a value of the iteration besides.
TEST(ConstantFolding, AShapeInAnIterationIsKnownWhereItsReaderIsTiedOtherwise) {
  expect_rewrite(fold_constants, loop_in_branch(R"(
    shape = Shape(d)
    add = Reshape(d, shape)
)"),
                 loop_in_branch(R"(
    shape = Const [dtype=int32, value=int32[1] {2}]
    add = Reshape(d, shape)
)"));
}

// The sum is dead with both branches: a value of one does not stand for the other.
TEST(ConstantFolding, ABranchIsNotAnotherOne) {
  expect_left_alone(fold_constants, R"(
    p = Placeholder [dtype=bool, shape=shape[]]
    q = Placeholder [dtype=bool, shape=shape[]]
    x = Placeholder [dtype=float, shape=shape[2,3]]
    i = Placeholder [dtype=int32, shape=shape[]]
    of_p = Switch(x, p)
    of_q = Switch(i, q)
    size = Size(of_p:1)
    sum = Add(size, of_q:1)
    -> sum)");
}

// tf.control_dependencies([a cond]): its effects are wanted, whichever branch had them.
TEST(ConstantFolding, TheResultWaitsForABranch) {
  expect_rewrite(fold_constants, R"(
    p = Placeholder [dtype=bool, shape=shape[]]
    x = Placeholder [dtype=float, shape=shape[]]
    sides = Switch(x, p)
    no = Neg(sides:0)
    yes = Exp(sides:1)
    both = Merge(no, yes)
    late = Const(^both) [dtype=float, value=float[] {1}]
    y = Neg(late)
    -> y)",
                 R"(
    p = Placeholder [dtype=bool, shape=shape[]]
    x = Placeholder [dtype=float, shape=shape[]]
    sides = Switch(x, p)
    no = Neg(sides:0)
    yes = Exp(sides:1)
    both = Merge(no, yes)
    y = Const(^both) [dtype=float, value=float[] {-1}]
    -> y)");
}

// After both sides of a branch nothing is dead.
TEST(ConstantFolding, ASizeBehindABranchIsKnown) {
  expect_rewrite(fold_constants, R"(
    p = Placeholder [dtype=bool, shape=shape[]]
    x = Placeholder [dtype=float, shape=shape[2,3]]
    sides = Switch(x, p)
    no = Neg(sides:0)
    yes = Exp(sides:1)
    both = Merge(no, yes)
    size = Size(both)
    -> size)",
                 R"(
    size = Const [dtype=int32, value=int32[] {6}]
    -> size)");
}

}  // namespace
}  // namespace argosy
