#include "argosy/passes/simplify/handle_waits.h"

#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

TEST(HandleWaits, ForwardsTheHandleInTheBranch) {
  expect_rewrite(move_handle_waits, R"(
    flag = Placeholder [dtype=bool, shape=shape[]]
    switch = Switch(flag, flag)
    pivot = Identity(switch:1)
    v = VarHandleOp(^pivot) [dtype=float, shape=shape[], shared_name="v"]
    read = ReadVariableOp(v) [dtype=float]
    -> read)",
                 R"(
    flag = Placeholder [dtype=bool, shape=shape[]]
    switch = Switch(flag, flag)
    pivot = Identity(switch:1)
    v = VarHandleOp [dtype=float, shape=shape[], shared_name="v"]
    v/wait = Identity(v, ^pivot)
    read = ReadVariableOp(v/wait) [dtype=float]
    -> read)");
}

TEST(HandleWaits, AReferenceStaysOne) {
  expect_rewrite(move_handle_waits, R"(
    one = Const [dtype=float, value=float[] {1}]
    u = VariableV2 [dtype=float, shape=shape[]]
    first = Assign(u, one)
    v = VariableV2(^first) [dtype=float, shape=shape[]]
    add = AssignAdd(v, one)
    -> add, ^v)",
                 R"(
    one = Const [dtype=float, value=float[] {1}]
    u = VariableV2 [dtype=float, shape=shape[]]
    first = Assign(u, one)
    v = VariableV2 [dtype=float, shape=shape[]]
    v/wait = RefIdentity(v, ^first)
    add = AssignAdd(v/wait, one)
    -> add, ^v/wait)");
}

// Handles are there before the step.
TEST(HandleWaits, NobodyWaitsForAHandle) {
  expect_rewrite(move_handle_waits, R"(
    u = VarHandleOp [dtype=float, shape=shape[], shared_name="u"]
    v = VarHandleOp(^u) [dtype=float, shape=shape[], shared_name="v"]
    read = ReadVariableOp(v) [dtype=float]
    -> read)",
                 R"(
    v = VarHandleOp [dtype=float, shape=shape[], shared_name="v"]
    read = ReadVariableOp(v) [dtype=float]
    -> read)");
}

TEST(HandleWaits, WhoWaitsForNothingIsLeftAlone) {
  expect_left_alone(move_handle_waits, R"(
    v = VarHandleOp [dtype=float, shape=shape[], shared_name="v"]
    read = ReadVariableOp(v) [dtype=float]
    -> read)");
}

}  // namespace
}  // namespace argosy
