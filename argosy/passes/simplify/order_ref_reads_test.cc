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

// An optimizer writes its slots, too.
TEST(OrderRefReads, AReaderOfASlotAfterTheUpdateReadsTheSlot) {
  expect_rewrite(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape[3]]
    slot = VariableV2 [dtype=float, shape=shape[3]]
    gradient = Placeholder [dtype=float, shape=shape[3]]
    rate = Const [dtype=float, value=float[] {1}]
    read = Identity(slot)
    update = ApplyMomentum(v, slot, rate, gradient, rate)
    y = Neg(read, ^update)
    -> y)",
                 R"(
    v = VariableV2 [dtype=float, shape=shape[3]]
    slot = VariableV2 [dtype=float, shape=shape[3]]
    gradient = Placeholder [dtype=float, shape=shape[3]]
    rate = Const [dtype=float, value=float[] {1}]
    read = Identity(slot)
    update = ApplyMomentum(v, slot, rate, gradient, rate)
    y = Neg(slot, ^read, ^update)
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
    read = Identity(v) [_fetched_as=[0]]
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

// Aligned rows of a variable are its memory in TensorFlow, and the slice is made anew.
TEST(OrderRefReads, ASliceOfAlignedRowsIsAView) {
  expect_rewrite(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape[4,16]]
    more = Placeholder [dtype=float, shape=shape[4,16]]
    begin = Const [dtype=int32, value=int32[2] {1, 0}]
    size = Const [dtype=int32, value=int32[2] {2, -1}]
    read = Identity(v)
    rows = Slice(read, begin, size)
    add = AssignAdd(v, more)
    y = Neg(rows, ^add)
    -> y)",
                 R"(
    v = VariableV2 [dtype=float, shape=shape[4,16]]
    more = Placeholder [dtype=float, shape=shape[4,16]]
    begin = Const [dtype=int32, value=int32[2] {1, 0}]
    size = Const [dtype=int32, value=int32[2] {2, -1}]
    read = Identity(v)
    rows = Slice(read, begin, size)
    add = AssignAdd(v, more)
    rows/again = Slice(v, begin, size, ^rows, ^add)
    y = Neg(rows/again, ^add)
    -> y)");
}

TEST(OrderRefReads, ARowAmongSeveralOutputsIsAView) {
  expect_rewrite(order_ref_reads, R"(
    v = VariableV2 [dtype=float, shape=shape[2,16]]
    more = Placeholder [dtype=float, shape=shape[2,16]]
    rows = Unpack(v) [num=2]
    add = AssignAdd(v, more)
    y = Neg(rows:1, ^add)
    -> y)",
                 R"(
    v = VariableV2 [dtype=float, shape=shape[2,16]]
    more = Placeholder [dtype=float, shape=shape[2,16]]
    rows = Unpack(v) [num=2]
    add = AssignAdd(v, more)
    rows/again = Unpack(v, ^rows, ^add) [num=2]
    y = Neg(rows/again:1, ^add)
    -> y)");
}

// How many inputs the pass rewires where `slice` of a variable of this shape is read after an update. Constants: begin,
// one, end and strides.
int rewired_slices(std::string_view shape, std::string_view slice) {
  const bool vector = shape.find(',') == std::string_view::npos;
  const auto constant = [&](std::string_view name, std::string_view of_vector, std::string_view of_matrix) {
    return str_cat("\n", name, " = Const [dtype=int32, value=int32", vector ? "[1] {" : "[2] {",
                   vector ? of_vector : of_matrix, "}]");
  };
  StepGraph step =
      parse_step(str_cat(R"(
    v = VariableV2 [dtype=float, shape=shape[)",
                         shape, R"(]]
    more = Placeholder [dtype=float, shape=shape[)",
                         shape, R"(]]
    unknown = Placeholder [dtype=int32, shape=shape[2]]
    axis0 = Const [dtype=int32, value=int32[] {0}]
    axis1 = Const [dtype=int32, value=int32[] {1}]
    sizes0 = Const [dtype=int32, value=int32[2] {1, 3}]
    sizes1 = Const [dtype=int32, value=int32[2] {16, 16}]
    even = Const [dtype=int32, value=int32[2] {16, 48}]
    uneven = Const [dtype=int32, value=int32[2] {8, 56}])",
                         constant("zero", "0", "0, 0"), constant("one", "1", "1, 1"), constant("row", "16", "1, 0"),
                         constant("two", "32", "2, 0"), constant("twos", "2", "2, 1"), constant("rest", "-1", "-1, -1"),
                         constant("columns", "16", "-1, 16"), "\n    s = ", slice, R"(
    add = AssignAdd(v, more)
    y = Neg(s, ^add)
    -> y)"));
  const auto rewired = order_ref_reads(step);
  EXPECT_TRUE(rewired.ok()) << rewired.status().to_string();
  return rewired.ok() ? *rewired : -1;
}

TEST(OrderRefReads, SlicesAreViewsAsInTensorFlow) {
  const std::string_view row = "StridedSlice(v, row, two, one) [shrink_axis_mask=1, end_mask=2]";
  const std::string_view part = "StridedSlice(v, row, two, one)", all = "StridedSlice(v, zero, zero, one) [end_mask=3]";
  EXPECT_EQ(rewired_slices("4,16", row), 1);
  EXPECT_EQ(rewired_slices("4,8", row), 0);  // rows of 32 bytes
  EXPECT_EQ(rewired_slices("4,32", "StridedSlice(v, row, two, twos) [end_mask=3]"), 0);
  EXPECT_EQ(rewired_slices("4,3", all), 1);
  EXPECT_EQ(rewired_slices("64", part), 1);
  EXPECT_EQ(rewired_slices("64", "StridedSlice(v, one, two, one)"), 0);
  EXPECT_EQ(rewired_slices("4,3", "Slice(v, zero, rest)"), 1);
  EXPECT_EQ(rewired_slices("4,3", "Slice(v, row, rest)"), 0);
  EXPECT_EQ(rewired_slices("4,32", "Slice(v, row, rest)"), 1);
  EXPECT_EQ(rewired_slices("4,32", "Slice(v, zero, columns)"), 0);
  EXPECT_EQ(rewired_slices("4,32", "Slice(v, unknown, rest)"), 0);
  EXPECT_EQ(rewired_slices("4,32", "Unpack(v) [num=4]"), 1);
  EXPECT_EQ(rewired_slices("16,4", "Unpack(v) [num=4, axis=1]"), 0);
  EXPECT_EQ(rewired_slices("4,32", "SplitV(v, sizes0, axis0) [num_split=2]"), 1);
  EXPECT_EQ(rewired_slices("4,3", "SplitV(v, sizes0, axis0) [num_split=2]"), 0);
  EXPECT_EQ(rewired_slices("4,32", "SplitV(v, sizes1, axis1) [num_split=2]"), 0);
  EXPECT_EQ(rewired_slices("64", "SplitV(v, even, axis0) [num_split=2]"), 1);
  EXPECT_EQ(rewired_slices("64", "SplitV(v, uneven, axis0) [num_split=2]"), 0);
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
