#include "argosy/passes/functions/lower_functions.h"

#include <gmock/gmock.h>

#include "argosy/testing/expect_rewrite.h"

namespace argosy {
namespace {

Result<int> lower(StepGraph& step) { return lower_functions(step); }

TEST(LowerFunctions, ACallBecomesItsBody) {
  expect_rewrite(lower, R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    call = PartitionedCall(x) [Tin=[float], Tout=[float], f=@negate] @/gpu:1
    y = Exp(call)

    function negate(a) -> (n) {
      a = _Arg [T=float, index=0]
      n = Neg(a)
    }
    -> y)",
                 R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    call/n = Neg(x) @/gpu:1
    y = Exp(call/n)
    -> y)");
}

TEST(LowerFunctions, WhatWaitsForAParameterWaitsForTheArgument) {
  expect_rewrite(lower, R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    y = Placeholder [dtype=float, shape=shape[2]]
    late = Exp(x)
    call = PartitionedCall(late, y) [Tin=[float, float], Tout=[float], f=@second]
    z = Exp(call)

    function second(a, b) -> (n) {
      a = _Arg [T=float, index=0]
      b = _Arg [T=float, index=1]
      n = Neg(b, ^a)
    }
    -> z)",
                 R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    y = Placeholder [dtype=float, shape=shape[2]]
    late = Exp(x)
    call/n = Neg(y, ^late)
    z = Exp(call/n)
    -> z)");
}

// A gradient of a function is colocated with its forward nodes, parameters among them. The argument may be elsewhere.
TEST(LowerFunctions, ColocationWithAParameterIsNone) {
  expect_rewrite(lower, R"(
    x = Placeholder [dtype=float, shape=shape[2]] @/gpu:0
    call = PartitionedCall(x) [Tin=[float], Tout=[float], f=@negate]
    y = Exp(call)

    function negate(a) -> (m) {
      a = _Arg [T=float, index=0]
      n = Neg(a) [_class=["loc:@a"]] @/gpu:1
      m = Neg(n) [_class=["loc:@n"]]
    }
    -> y)",
                 R"(
    x = Placeholder [dtype=float, shape=shape[2]] @/gpu:0
    call/n = Neg(x) @/gpu:1
    call/m = Neg(call/n) [_class=["loc:@call/n"]]
    y = Exp(call/m)
    -> y)");
}

//  Switch(x, p) ─ true ─► Neg ─┐
//               └ false ─► x ──┴► Merge
TEST(LowerFunctions, AnIfBecomesSwitchAndMerge) {
  expect_rewrite(lower, R"(
    p = Placeholder [dtype=bool, shape=shape[]]
    x = Placeholder [dtype=float, shape=shape[2]]
    if = StatelessIf(p, x) [Tcond=bool, Tin=[float], Tout=[float], then_branch=@negate, else_branch=@same]
    y = Exp(if)

    function negate(a) -> (n) {
      a = _Arg [T=float, index=0]
      n = Neg(a)
    }

    function same(a) -> (a) {
      a = _Arg [T=float, index=0]
    }
    -> y)",
                 R"(
    p = Placeholder [dtype=bool, shape=shape[]]
    x = Placeholder [dtype=float, shape=shape[2]]
    if/switch = Switch(x, p)
    if/then/n = Neg(if/switch:1)
    if/merge = Merge(if/then/n, if/switch)
    y = Exp(if/merge)
    -> y)");
}

// Who reads it may rely on what the loop did.
TEST(LowerFunctions, WhatALoopPassesOnIsThereWhenItHasEnded) {
  StepGraph step = parse_step(R"(
    n = Placeholder [dtype=int32, shape=shape[]]
    x = Placeholder [dtype=float, shape=shape[2]]
    while = StatelessWhile(n, x) [T=[int32, float], cond=@some, body=@fewer]
    y = Exp(while:1)

    function some(a, b) -> (go) {
      a = _Arg [T=int32, index=0]
      b = _Arg [T=float, index=1]
      zero = Const [dtype=int32, value=int32[] {0}]
      go = Greater(a, zero)
    }

    function fewer(a, b) -> (rest, b) {
      a = _Arg [T=int32, index=0]
      b = _Arg [T=float, index=1]
      one = Const [dtype=int32, value=int32[] {1}]
      rest = Sub(a, one)
    }
    -> y)");
  ASSERT_EQ(*lower(step), 1);
  const Node& y = step.graph.node(step.fetches[0].node);
  const Node& same = step.graph.node(y.inputs[0].node);
  EXPECT_EQ(step.graph.node(same.inputs[0].node).name, "x");
  ASSERT_EQ(same.controls.size(), 1u);
  EXPECT_EQ(step.graph.node(same.controls[0]).op->flow, Flow::kExit);
}

// What a call, or a loop, is given with an effect before it, and does not read.
std::string targets_of(std::string_view caller) {
  StepGraph step = parse_step(str_cat(R"(
    x = Placeholder [dtype=int32, shape=shape[]]
    v = VarHandleOp [dtype=int32, shape=shape[]]
    add = AssignAddVariableOp(v, x)
    one = Square(x, ^add)
    two = Square(x)
    call = )",
                                      caller, R"(
    y = Square(call)

    function first(a, b, c) -> (n) {
      a = _Arg [T=int32, index=0]
      b = _Arg [T=int32, index=1]
      c = _Arg [T=int32, index=2]
      n = Neg(a)
    }

    function some(a, b, c) -> (go) {
      a = _Arg [T=int32, index=0]
      b = _Arg [T=int32, index=1]
      c = _Arg [T=int32, index=2]
      zero = Const [dtype=int32, value=int32[] {0}]
      go = Greater(a, zero)
    }

    function fewer(a, b, c) -> (n, b, c) {
      a = _Arg [T=int32, index=0]
      b = _Arg [T=int32, index=1]
      c = _Arg [T=int32, index=2]
      n = Neg(a)
    }

    function loops(a, b, c) -> (n) {
      a = _Arg [T=int32, index=0]
      b = _Arg [T=int32, index=1]
      c = _Arg [T=int32, index=2]
      d = Square(a, ^b)
      n = While(a, b, c) [T=[int32, int32, int32], cond=@some, body=@fewer]
    }
    -> y)"));
  const auto lowered = lower(step);
  EXPECT_TRUE(lowered.ok()) << lowered.status().to_string();
  std::vector<std::string> names;
  for (const NodeId t : step.targets) names.push_back(std::string(step.graph.node(t).name));
  return str_join(names);
}

TEST(LowerFunctions, WhatALoopIsGivenRunsThoughNobodyReadsIt) {
  EXPECT_EQ(targets_of("While(x, one, two) [T=[int32, int32, int32], cond=@some, body=@fewer]"), "one");
  EXPECT_EQ(targets_of("PartitionedCall(x, one, two) [Tin=[int32, int32, int32], Tout=[int32], f=@loops]"), "one");
  for (const char* call : {"PartitionedCall", "StatefulPartitionedCall"}) {
    EXPECT_EQ(targets_of(str_cat(call, "(x, one, two) [Tin=[int32, int32, int32], Tout=[int32], f=@first]")), "")
        << call;
  }
}

// The error is that of a step that reads the value.
TEST(LowerFunctions, ShapesThatDoNotFitAreNoErrorOfWhatNobodyReads) {
  for (const bool read : {false, true}) {
    StepGraph step = parse_step(str_cat(R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    call = PartitionedCall(x) [Tin=[float], Tout=[float, float], f=@both]

    function both(a) -> (n, flat) {
      a = _Arg [T=float, index=0]
      three = Const [dtype=int32, value=int32[1] {3}]
      flat = Reshape(a, three)
      n = Neg(a)
    }
    -> )",
                                        read ? "call:1" : "call"));
    ASSERT_EQ(*lower(step), 1);
    ASSERT_TRUE(remove_unused_nodes(step).ok());
    EXPECT_EQ(step.graph.node(step.fetches[0].node).op->name, read ? "_ShapeError" : "Neg");
    EXPECT_EQ(step.graph.size(), read ? 3 : 2);
  }
}

TEST(LowerFunctions, AGraphWithoutCallsIsLeftAlone) {
  expect_left_alone(lower, R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    y = Neg(x)

    function negate(a) -> (n) {
      a = _Arg [T=float, index=0]
      n = Neg(a)
    }
    -> y)");
}

// The error of lowering this step, which calls same(float) -> float, whole(float) -> int32 or truth(float) -> bool.
Status refused(const std::string& nodes) {
  StepGraph step = parse_step(R"(
    x = Placeholder [dtype=float, shape=shape[2]]
    p = Placeholder [dtype=bool, shape=shape[]])" +
                              nodes + R"(

    function same(a) -> (a) {
      a = _Arg [T=float, index=0]
    }

    function whole(a) -> (n) {
      a = _Arg [T=float, index=0]
      n = Cast(a) [SrcT=float, DstT=int32]
    }

    function truth(a) -> (n) {
      a = _Arg [T=float, index=0]
      n = Cast(a) [SrcT=float, DstT=bool]
    }
    -> y)");
  return lower(step).status();
}

// In TensorFlow's words.
TEST(LowerFunctions, ACallerThatDeclaresOtherDtypesIsRefused) {
  const char* const cases[][2] = {
      {"y = PartitionedCall(x) [Tin=[float], Tout=[int32], f=@same]",
       "Output 0 of type float does not match declared output type int32"},
      {"y = StatefulPartitionedCall(x) [Tin=[float], Tout=[int32], f=@same]",
       "Output 0 of type float does not match declared output type int32"},
      {"y = StatelessIf(p, x) [Tcond=bool, Tin=[float], Tout=[float], then_branch=@same, else_branch=@whole]",
       "Output 0 of type int32 does not match declared output type float"},
      {"k = Const [dtype=int32, value=int32[] {0}]\n    y = StatelessCase(k, x) [Tin=[float], Tout=[int32], "
       "branches=[@whole, @same]]",
       "Output 0 of type float does not match declared output type int32"},
      {"y = StatelessWhile(x) [T=[float], cond=@truth, body=@whole]",
       "Output 0 of type int32 does not match declared output type float"},
      {"c = Cast(x) [SrcT=float, DstT=int32]\n    y = PartitionedCall(c) [Tin=[int32], Tout=[float], f=@same]",
       "Input 0 of type int32 does not match expected type float"},
  };
  for (const auto& [nodes, what] : cases) {
    const Status status = refused(str_cat("\n    ", nodes));
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << nodes << "\n" << status.to_string();
    EXPECT_EQ(status.id(), "ARG-FN-006") << status.to_string();
    EXPECT_THAT(status.to_string(), testing::HasSubstr(what));
    EXPECT_THAT(status.where(), testing::HasSubstr("'y'"));
  }
}

}  // namespace
}  // namespace argosy
