#include "argosy/passes/functions/lower_functions.h"

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

}  // namespace
}  // namespace argosy
