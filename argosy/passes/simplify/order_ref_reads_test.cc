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

}  // namespace
}  // namespace argosy
