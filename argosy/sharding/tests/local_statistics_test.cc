// Statistics that each shard keeps for itself: layouts of means, of what is computed with them, and of their gradients.
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/state/state.h"
#include "argosy/sharding/resolve/resolve.h"
#include "argosy/sharding/verify/verify.h"

namespace argosy {
namespace {

class ShardingLocalStatistics : public testing::Test {
 protected:
  ShardingLocalStatistics() {
    mean_ = reduce_mean(x_, {0});
    scale_ = rsqrt(mean_ + 1.0f);
    rows_ = (x_ - mean_) * scale_;
    average_ = g_.add("AssignSub", {moving_.ref, (moving_.read - mean_) * 0.1f});
    // As gradients are written: a sum over rows goes to the parameter, and by the statistics back to the rows.
    sum_ = reduce_sum(rows_, {0});
    update_ = g_.add("AssignSub", {gamma_.ref, sum_ * scale_});
    // The gradient of a mean spreads it over the rows.
    own_ = sum_ * scale_;
    spread_ = g_.add("BroadcastTo", {own_, g_.add("Shape", {x_})});
    back_ = rows_ - spread_;
    // Not so written: the mean of the rows themselves.
    other_ = reduce_sum(rows_ * 2.0f, {0});
    centred_ = rows_ - other_;
  }

  Status solve(bool keeps, bool checks) {
    ARGOSY_RETURN_IF_ERROR(Status(g_.status()));
    ARGOSY_ASSIGN_OR_RETURN(const Sizes sizes, Sizes::find(g_, {.batch = {x_.node()}}));
    ARGOSY_ASSIGN_OR_RETURN(const RuleTable rules, RuleTable::make(g_, sizes));
    const Mesh mesh{.axes = {{.name = "data", .size = 3}}, .devices = {"a", "b", "c"}};
    LocalStatistics local{.of = std::vector<char>(static_cast<std::size_t>(g_.size()), 0), .gradients = {}};
    local.of[static_cast<std::size_t>(mean_.node().index)] = 1;
    local.gradients.assign(local.of.size(), 0);
    for (const Value& v : {own_, spread_, back_, centred_})
      local.gradients[static_cast<std::size_t>(v.node().index)] = 1;
    if (!keeps) local = {};
    ARGOSY_ASSIGN_OR_RETURN(a_,
                            resolve(g_, sizes, rules, mesh, {.seeds = shard_feeds({x_.node()}, 0), .local = local}));
    return verify(g_, sizes, rules, mesh, a_, {.local = checks ? local : LocalStatistics()});
  }
  std::string layout(const Value& v) const { return to_string(a_.layout(v.endpoint())); }
  std::string changes(const Value& v) const {
    std::string text;
    for (const Reshard& r : a_.reshards) {
      if (r.value == v.endpoint()) text += str_cat(to_string(r.from), " > ", to_string(r.to), "; ");
    }
    return text;
  }

  Graph g_;
  Value x_ = placeholder(g_, DType::kFloat32, {-1, 4}, "x");
  VariableNode gamma_ = variable(g_, Tensor::zeros(DType::kFloat32, {4}), "gamma");
  VariableNode moving_ = variable(g_, Tensor::zeros(DType::kFloat32, {4}), "moving");
  Value mean_, scale_, rows_, average_, sum_, update_, own_, spread_, back_, other_, centred_;
  Assignment a_;
};

TEST_F(ShardingLocalStatistics, AreEachShardsWhereTheyAreAskedFor) {
  ASSERT_TRUE(solve(true, true).ok()) << solve(true, true).to_string();
  EXPECT_EQ(layout(mean_), "L");
  EXPECT_EQ(layout(scale_), "L");
  EXPECT_EQ(layout(rows_), "S(0)");
  EXPECT_EQ(layout(sum_), "P(sum)");
  EXPECT_EQ(changes(mean_), "");
  // The moving average takes their weighted mean.
  const Value change = g_.value(g_.node(average_.node()).inputs[1]);
  EXPECT_EQ(layout(change), "L");
  EXPECT_EQ(changes(change), "L > P(sum); P(sum) > R; ");
  // The parameter's gradient is summed over shards, that of the statistics is not.
  const Value gradient = g_.value(g_.node(update_.node()).inputs[1]);
  EXPECT_EQ(layout(gradient), "P(sum)");
  EXPECT_EQ(changes(gradient), "P(sum) > R; ");
  EXPECT_EQ(layout(own_), "P(sum)");
  EXPECT_EQ(changes(own_), "P(sum) > L; ");
  EXPECT_EQ(layout(spread_), "S(0)");
  EXPECT_EQ(layout(back_), "S(0)");
  // A sum that meets rows otherwise is of the global batch.
  EXPECT_EQ(layout(centred_), "S(0)");
  EXPECT_EQ(changes(other_), "P(sum) > R; ");
}

TEST_F(ShardingLocalStatistics, AreTheGlobalBatchsElsewhere) {
  ASSERT_TRUE(solve(false, false).ok()) << solve(false, false).to_string();
  EXPECT_EQ(layout(mean_), "P(sum)");
  EXPECT_EQ(changes(mean_), "P(sum) > R; ");
  EXPECT_EQ(layout(scale_), "R");
}

TEST_F(ShardingLocalStatistics, AreAMistakeWhereNobodyAskedForThem) {
  const Status checked = solve(true, false);
  EXPECT_EQ(checked.id(), "ARG-SHARD-014") << checked.to_string();
}

}  // namespace
}  // namespace argosy
