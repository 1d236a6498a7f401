#include "argosy/passes/simplify/order_ref_reads.h"

#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

// TensorFlow's Identity forwards the variable's memory: a reader that comes after the update sees the new value.
TEST(OrderRefReads, AReaderAfterTheUpdateReadsTheVariable) {
  expect_rewrite(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape[]]
    one = Const [dtype=float, value=float[] {1}]
    read = Identity(v)
    add = AssignAdd(v, one)
    y = Neg(read, ^add)
    -> y)",
                 R"(
    v = VariableV2 [dtype=float, shape=shape[]]
    one = Const [dtype=float, value=float[] {1}]
    read = Identity(v)
    add = AssignAdd(v, one)
    y = Neg(v, ^read, ^add)
    -> y)");
}

TEST(OrderRefReads, WithoutAnOrderNothingChanges) {
  expect_left_alone(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape[]]
    one = Const [dtype=float, value=float[] {1}]
    read = Identity(v)
    add = AssignAdd(v, one)
    y = Neg(read)
    -> y, ^add)");
}

// The read shows the variable's memory when the step is over.
TEST(OrderRefReads, AFetchedReadShowsTheUpdate) {
  expect_rewrite(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape[]]
    one = Const [dtype=float, value=float[] {1}]
    read = Identity(v)
    add = AssignAdd(v, one, ^read)
    -> read, ^add)",
                 R"(
    v = VariableV2 [dtype=float, shape=shape[]]
    one = Const [dtype=float, value=float[] {1}]
    read = Identity(v)
    add = AssignAdd(v, one, ^read)
    -> v, ^add, ^read)");
}

TEST(OrderRefReads, AFetchedReadStaysWithoutUpdates) {
  expect_left_alone(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape[]]
    read = Identity(v)
    -> read)");
}

// They name one variable.
TEST(OrderRefReads, AnUpdateByAnotherNodeOfTheNameCounts) {
  expect_rewrite(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape[], shared_name="one"]
    w = VariableV2 [dtype=float, shape=shape[], shared_name="one"]
    one = Const [dtype=float, value=float[] {1}]
    read = Identity(v)
    add = AssignAdd(w, one, ^read)
    y = Neg(read, ^add)
    -> y)",
                 R"(
    v = VariableV2 [dtype=float, shape=shape[], shared_name="one"]
    w = VariableV2 [dtype=float, shape=shape[], shared_name="one"]
    one = Const [dtype=float, value=float[] {1}]
    read = Identity(v)
    add = AssignAdd(w, one, ^read)
    y = Neg(v, ^add, ^read)
    -> y)");
}

TEST(OrderRefReads, AReadAfterTheUpdateStays) {
  expect_left_alone(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape[]]
    one = Const [dtype=float, value=float[] {1}]
    add = AssignAdd(v, one)
    read = Identity(v, ^add)
    y = Neg(read)
    -> y)");
}

// TensorFlow gives the variable new memory where the number of elements changes: this is known when the update has run.
TEST(OrderRefReads, AnUpdateOfAnyShapeMayLeaveTheReadAsItWas) {
  expect_rewrite(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape<unknown>]
    zeros = Const [dtype=float, value=float[2] {0, 0}]
    one = Const [dtype=float, value=float[] {1}]
    read = Identity(v)
    set = Assign(v, zeros, ^read) [validate_shape=false]
    y = Mul(read, one, ^set)
    -> y)",
                 R"(
    v = VariableV2 [dtype=float, shape=shape<unknown>]
    zeros = Const [dtype=float, value=float[2] {0, 0}]
    one = Const [dtype=float, value=float[] {1}]
    read = Identity(v)
    set = Assign(v, zeros, ^read) [validate_shape=false]
    read/again = _ReadAgain(read, v, ^one, ^set)
    y = Mul(read/again, one, ^set)
    -> y)");
}

TEST(OrderRefReads, AnUpdateOfTheSameShapeIsInPlace) {
  expect_rewrite(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape[2]]
    zeros = Const [dtype=float, value=float[2] {0, 0}]
    read = Identity(v)
    set = Assign(v, zeros, ^read) [validate_shape=false]
    y = Neg(read, ^set)
    -> y)",
                 R"(
    v = VariableV2 [dtype=float, shape=shape[2]]
    zeros = Const [dtype=float, value=float[2] {0, 0}]
    read = Identity(v)
    set = Assign(v, zeros, ^read) [validate_shape=false]
    y = Neg(v, ^read, ^set)
    -> y)");
}

// What else forwards its input is the variable's memory, too, in another shape: the view is made anew.
TEST(OrderRefReads, AReaderOfAViewReadsItAfterTheUpdate) {
  expect_rewrite(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape[2]]
    one = Const [dtype=float, value=float[2] {1, 1}]
    sizes = Const [dtype=int32, value=int32[2] {2, 1}]
    view = Reshape(v, sizes)
    add = AssignAdd(v, one)
    y = Neg(view, ^add)
    -> y)",
                 R"(
    v = VariableV2 [dtype=float, shape=shape[2]]
    one = Const [dtype=float, value=float[2] {1, 1}]
    sizes = Const [dtype=int32, value=int32[2] {2, 1}]
    view = Reshape(v, sizes)
    add = AssignAdd(v, one)
    view/again = Reshape(v, sizes, ^view, ^add)
    y = Neg(view/again, ^add)
    -> y)");
}

TEST(OrderRefReads, ViewsOfViewsAreMadeAnew) {
  expect_rewrite(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape[2]]
    one = Const [dtype=float, value=float[2] {1, 1}]
    read = Identity(v)
    bits = Bitcast(read) [type=int32]
    same = StopGradient(bits)
    add = AssignAdd(v, one)
    y = Neg(same, ^add)
    -> y)",
                 R"(
    v = VariableV2 [dtype=float, shape=shape[2]]
    one = Const [dtype=float, value=float[2] {1, 1}]
    read = Identity(v)
    bits = Bitcast(read) [type=int32]
    same = StopGradient(bits)
    add = AssignAdd(v, one)
    bits/again = Bitcast(v, ^same, ^add) [type=int32]
    same/again = StopGradient(bits/again)
    y = Neg(same/again, ^add)
    -> y)");
}

// It must not check what the update made: TensorFlow checks once.
TEST(OrderRefReads, AViewWithAnEffectRunsOnce) {
  expect_rewrite(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape[2]]
    one = Const [dtype=float, value=float[2] {1, 1}]
    finite = CheckNumerics(v) [message="v"]
    add = AssignAdd(v, one)
    y = Neg(finite, ^add)
    -> y)",
                 R"(
    v = VariableV2 [dtype=float, shape=shape[2]]
    one = Const [dtype=float, value=float[2] {1, 1}]
    finite = CheckNumerics(v) [message="v"]
    add = AssignAdd(v, one)
    finite/again = _ReadAgain(finite, v, ^add)
    y = Neg(finite/again, ^add)
    -> y)");
}

TEST(OrderRefReads, SnapshotsAndFetchedViewsStay) {
  expect_left_alone(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape[2]]
    one = Const [dtype=float, value=float[2] {1, 1}]
    kept = Snapshot(v)
    view = StopGradient(v)
    add = AssignAdd(v, one)
    y = Neg(kept, ^add)
    -> y, view)");
}

TEST(OrderRefReads, AViewOfAnotherTypeStaysWhereTheUpdateMayGrowTheVariable) {
  expect_left_alone(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape<unknown>]
    zeros = Const [dtype=float, value=float[2] {0, 0}]
    bits = Bitcast(v) [type=int32]
    set = Assign(v, zeros, ^bits) [validate_shape=false]
    y = Neg(bits, ^set)
    -> y)");
}

// The loop makes a view anew; but not one that needs other values, which stay outside.
TEST(OrderRefReads, ALoopReadsViewsOfOneInput) {
  expect_rewrite(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape[2]]
    one = Const [dtype=float, value=float[2] {1, 1}]
    sizes = Const [dtype=int32, value=int32[1] {2}]
    same = StopGradient(v)
    view = Reshape(v, sizes)
    inside = RefEnter(v) [frame_name="loop", is_constant=true]
    one_inside = Enter(one) [frame_name="loop", is_constant=true]
    same_inside = Enter(same) [frame_name="loop", is_constant=true]
    view_inside = Enter(view) [frame_name="loop", is_constant=true]
    add = AssignAdd(inside, one_inside)
    x = Neg(same_inside, ^add)
    y = Neg(view_inside, ^add)
    a = Exit(x)
    b = Exit(y)
    -> a, b)",
                 R"(
    v = VariableV2 [dtype=float, shape=shape[2]]
    one = Const [dtype=float, value=float[2] {1, 1}]
    sizes = Const [dtype=int32, value=int32[1] {2}]
    same = StopGradient(v)
    view = Reshape(v, sizes)
    inside = RefEnter(v) [frame_name="loop", is_constant=true]
    one_inside = Enter(one) [frame_name="loop", is_constant=true]
    same_inside/ref = RefEnter(v, ^same) [frame_name="loop", is_constant=true]
    view_inside = Enter(view) [frame_name="loop", is_constant=true]
    add = AssignAdd(inside, one_inside)
    same/again = StopGradient(same_inside/ref, ^add)
    x = Neg(same/again, ^add)
    y = Neg(view_inside, ^add)
    a = Exit(x)
    b = Exit(y)
    -> a, b)");
}

}  // namespace
}  // namespace argosy
