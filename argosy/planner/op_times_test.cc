#include "argosy/planner/op_times.h"

#include <gtest/gtest.h>

namespace argosy {
namespace {

Cost work(double n) { return {.flops = n, .bytes = 0}; }

TEST(OpTimes, ANodeTakesWhatItWasMeasuredToTake) {
  OpTimes times;
  times.add("dense/MatMul", "MatMul", work(1000), 1e-3);
  times.add("dense/MatMul", "MatMul", work(2000), 1.5e-3);
  EXPECT_DOUBLE_EQ(times.seconds("dense/MatMul", "MatMul", work(1000)), 1e-3);
  EXPECT_DOUBLE_EQ(times.seconds("dense/MatMul", "MatMul", work(1500)), 1.25e-3);
  EXPECT_DOUBLE_EQ(times.seconds("dense/MatMul", "MatMul", work(3000)), 2e-3);
  EXPECT_NEAR(times.seconds("dense/MatMul", "MatMul", work(500)), 0.5e-3, 1e-6);
}

TEST(OpTimes, CopiesOfANodeAreFoundByTheNameInFront) {
  OpTimes times;
  times.add("dense/MatMul", "MatMul", work(1000), 1e-3);
  times.add("other", "MatMul", work(1000), 9e-3);
  EXPECT_DOUBLE_EQ(times.seconds("dense/MatMul/replica_3", "MatMul", work(1000)), 1e-3);
  EXPECT_DOUBLE_EQ(times.seconds("dense/MatMul/turn_1/replica_3", "MatMul", work(1000)), 1e-3);
  times.add("Relu/fused", "Norm", work(1000), 5e-3);
  EXPECT_DOUBLE_EQ(times.seconds("Relu/replica_12/fused", "Norm", work(1000)), 5e-3);
  EXPECT_DOUBLE_EQ(times.measured_share(), 1);
}

TEST(OpTimes, AnotherNodeTakesWhatItsOpTakesPerWork) {
  OpTimes times;
  times.add("a", "MatMul", work(1000), 1e-3);
  times.add("b", "MatMul", work(3000), 3e-3);
  times.add("c", "Add", work(1000), 1e-5);
  EXPECT_NEAR(times.seconds("new", "MatMul", work(2000)), 2e-3, 1e-5);
  EXPECT_NEAR(times.seconds("new", "Add", work(2000)), 2e-5, 1e-6);
  EXPECT_GT(times.seconds("new", "Unheard", work(2000)), 0);
  EXPECT_DOUBLE_EQ(times.measured_share(), 0);
}

// A few launches of nearly nothing do not say what a thousand times as much takes.
TEST(OpTimes, AFarLargerNodeTakesWhatItsKindTakes) {
  OpTimes times;
  times.add("scalar", "Mul", {.flops = 1, .bytes = 8}, 2e-6);
  times.add("relu", "Relu", {.flops = 1e6, .bytes = 8e6}, 1e-3);
  times.add("conv", "Conv2D", {.flops = 1e9, .bytes = 1e6}, 1e-2);
  EXPECT_NEAR(times.seconds("decay", "Mul", {.flops = 1e6, .bytes = 8e6}), 1e-3, 1e-4);
  EXPECT_NEAR(times.seconds("product", "MatMul", {.flops = 1e9, .bytes = 1e6}), 1e-2, 1e-4);
  EXPECT_NEAR(times.seconds("product", "Mul", {.flops = 2, .bytes = 16}), 4e-6, 1e-6);
  times.add("nothing", "Reshape", {}, 2e-7);
  EXPECT_NEAR(times.seconds("shape", "Reshape", {}), 2e-7, 1e-9);
}

TEST(OpTimes, NothingMeasuredIsALaunch) { EXPECT_GT(OpTimes().seconds("a", "MatMul", work(1e9)), 0); }

}  // namespace
}  // namespace argosy
