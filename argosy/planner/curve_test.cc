#include "argosy/planner/curve.h"

#include <gtest/gtest.h>

namespace argosy {
namespace {

TEST(Curve, GoesThroughItsPointsAndOnAlongTheLastLine) {
  const Curve curve({{300, 5}, {100, 1}, {200, 2}});
  EXPECT_DOUBLE_EQ(curve.seconds(0), 1);  // a latency
  EXPECT_DOUBLE_EQ(curve.seconds(100), 1);
  EXPECT_DOUBLE_EQ(curve.seconds(150), 1.5);
  EXPECT_DOUBLE_EQ(curve.seconds(250), 3.5);
  EXPECT_DOUBLE_EQ(curve.seconds(300), 5);
  EXPECT_DOUBLE_EQ(curve.seconds(400), 8);
  EXPECT_DOUBLE_EQ(curve.slope(), 0.03);
}

TEST(Curve, NeverFalls) {
  const Curve curve({{1, 4}, {2, 3}, {3, 6}});
  EXPECT_DOUBLE_EQ(curve.seconds(2), 4);
  double before = 0;
  for (double size = 0; size < 5; size += 0.1) {
    EXPECT_GE(curve.seconds(size), before);
    before = curve.seconds(size);
  }
}

TEST(Curve, OfOnePointOrNoneIsFlat) {
  EXPECT_DOUBLE_EQ(Curve({{10, 2}}).seconds(1000), 2);
  EXPECT_DOUBLE_EQ(Curve().seconds(1000), 0);
}

}  // namespace
}  // namespace argosy
