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

TEST(OpTimes, NothingMeasuredIsALaunch) { EXPECT_GT(OpTimes().seconds("a", "MatMul", work(1e9)), 0); }

}  // namespace
}  // namespace argosy
