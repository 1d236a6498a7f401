#include "argosy/tf/server/replication/check/losses_of_every_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/testing/loop.h"

namespace argosy::tf {
namespace {

TEST(LossesOfEveryRun, BranchesAndLoopsHaveNone) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1}, "x"),
              p = placeholder(g, DType::kBool, PartialShape::scalar(), "p");
  const Value before = reduce_mean(square(x));
  // tf.cond: the pivot asks the predicate, all else an Identity of it.
  const Value pred = identity(p), both = g.add("Switch", {x, pred});
  const Value pivot = identity(g.add("Switch", {p, p}).output(1));
  Value one;
  {
    const auto then = g.control_dependencies({pivot});
    one = constant(g, 2.0f);
  }
  const Value taken = reduce_mean(both.output(1) * one), other = reduce_mean(both.output(0));
  const Value merged = g.add("Merge", {other, taken});
  const Value behind = reduce_mean(merged * before);
  const Value half = g.add("Merge", {taken, reduce_sum(taken)});
  const DataflowLoop loop(g, x, [](Value carried) { return carried * 2.0f; });
  const Value round = reduce_mean(loop.inside), end = reduce_mean(loop.out);
  const DataflowLoop in_branch(
      g, both.output(1), [](Value carried) { return carried * 2.0f; }, "in_branch");
  const Value branch_end = reduce_mean(in_branch.out);
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  std::vector<Endpoint> losses;
  for (const Value& v : {before, taken, other, merged, behind, half, round, end, branch_end}) {
    losses.push_back(v.endpoint());
  }
  const StepValues values{.feeds = {x, p}};
  EXPECT_THAT(losses_of_every_run(g, values, losses),
              testing::ElementsAre(before.endpoint(), merged.endpoint(), behind.endpoint(), end.endpoint()));
  EXPECT_TRUE(losses_of_every_run(g, values, {}).empty());
}

}  // namespace
}  // namespace argosy::tf
