// verify() finds what resolve() might get wrong: right assignments, changed in one place.
#include <gtest/gtest.h>

#include <algorithm>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/control_flow.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/state/state.h"
#include "argosy/sharding/resolve/resolve.h"
#include "argosy/sharding/verify/verify.h"
#include "argosy/testing/loop.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

struct Trained {
  Graph g;
  Value x, loss, update, flag;
  VariableNode w;
  Mesh mesh{.axes = {{.name = "data", .size = 3}}, .devices = {"a", "b", "c"}};
  std::optional<Sizes> sizes;
  std::optional<RuleTable> rules;
  Assignment a;

  Trained() {
    x = placeholder(g, DType::kFloat64, {-1, 4}, "x");
    flag = placeholder(g, DType::kBool, {}, "flag");
    w = variable(g, random_tensor(DType::kFloat64, {4, 4}, 3), "w");
    const Value h = tanh(matmul(x, w.read));
    const Value taken = g.add("Switch", {h, flag});
    const Value merged = g.add("Merge", {taken.output(0) * 2.0, taken.output(1)});
    const DataflowLoop loop(g, merged, [&](Value v) { return sin(v); });
    const Value centred = loop.out - reduce_mean(loop.out, {0});
    loss = sqrt(reduce_mean(square(centred))) + reduce_max(h);
    const Value plain = sqrt(reduce_mean(square(h)));
    update = g.add("ApplyGradientDescent", {w.ref, constant(g, 0.1), gradients(g, {plain}, {w.ref})[0]});
  }

  Status solve() {
    ARGOSY_RETURN_IF_ERROR(Status(g.status()));
    ARGOSY_ASSIGN_OR_RETURN(sizes, Sizes::find(g, {.batch = {x.node()}}));
    ARGOSY_ASSIGN_OR_RETURN(rules, RuleTable::make(g, *sizes));
    ARGOSY_ASSIGN_OR_RETURN(
        a, resolve(g, *sizes, *rules, mesh, {.seeds = shard_feeds({x.node()}, 0), .fetches = {loss.endpoint()}}));
    return check(a);
  }
  Status check(const Assignment& b) const { return verify(g, *sizes, *rules, mesh, b, {.fetches = {loss.endpoint()}}); }
};

// A reshard or user less: somebody gets what its rule does not take. A slice or combination that no rule needs does not
// exist, so each one counts.
TEST(VerifyMutations, ADroppedReshardIsFound) {
  Trained t;
  ASSERT_TRUE(t.solve().ok()) << t.solve().to_string();
  ASSERT_GE(t.a.reshards.size(), 5u);
  for (std::size_t r = 0; r < t.a.reshards.size(); ++r) {
    Assignment less = t.a;
    less.reshards.erase(less.reshards.begin() + static_cast<std::ptrdiff_t>(r));
    EXPECT_EQ(t.check(less).id(), "ARG-SHARD-014") << "reshard " << r;
    for (std::size_t u = 0; u < t.a.reshards[r].users.size(); ++u) {
      less = t.a;
      auto& users = less.reshards[r].users;
      users.erase(users.begin() + static_cast<std::ptrdiff_t>(u));
      EXPECT_EQ(t.check(less).id(), "ARG-SHARD-014") << "user " << u << " of reshard " << r;
    }
  }
}

// Any other placement for any value that somebody reads, or that a rule gives.
TEST(VerifyMutations, AnotherLayoutIsFound) {
  Trained t;
  ASSERT_TRUE(t.solve().ok());
  const Placement others[] = {Placement::replicate(),
                              Placement::shard(0),
                              Placement::shard(1),
                              Placement::shard(0, 2),
                              Placement::shard(0, 1, 2),
                              Placement::partial(),
                              Placement::partial(Combine::kMax),
                              Placement::varying(),
                              Placement::once()};
  int tried = 0;
  for (const NodeId id : t.sizes->order()) {
    const auto node = static_cast<std::size_t>(id.index);
    for (std::size_t k = 0; k < t.a.layouts[node].size(); ++k) {
      if (t.a.shardings[node][0].kind == NodeSharding::Kind::kGiven && t.g.consumers()[id.index].empty()) continue;
      for (const Placement& p : others) {
        if (p == t.a.layouts[node][k][0]) continue;
        Assignment other = t.a;
        other.layouts[node][k][0] = p;
        EXPECT_FALSE(t.check(other).ok()) << t.g.node(id).name << ":" << k << " as " << to_string(p) << " instead of "
                                          << to_string(t.a.layouts[node][k][0]);
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 500);
}

// Another sharding of a node, its layouts as they are.
TEST(VerifyMutations, AnotherWayIsFound) {
  Trained t;
  ASSERT_TRUE(t.solve().ok());
  for (const NodeId id : t.sizes->order()) {
    const auto node = static_cast<std::size_t>(id.index);
    const NodeSharding& sharding = t.a.shardings[node][0];
    if (sharding.kind != NodeSharding::Kind::kFactor && sharding.kind != NodeSharding::Kind::kLinear) continue;
    for (const NodeSharding::Kind kind :
         {NodeSharding::Kind::kWhole, NodeSharding::Kind::kFactor, NodeSharding::Kind::kLinear,
          NodeSharding::Kind::kMonotone, NodeSharding::Kind::kPass, NodeSharding::Kind::kOnce}) {
      if (kind == sharding.kind) continue;
      Assignment other = t.a;
      other.shardings[node][0].kind = kind;
      EXPECT_FALSE(t.check(other).ok()) << t.g.node(id).name;
    }
    if (sharding.kind != NodeSharding::Kind::kFactor) continue;
    Assignment other = t.a;
    other.shardings[node][0].unit = 2;
    EXPECT_FALSE(t.check(other).ok()) << t.g.node(id).name << " cut in units of 2";
  }
}

TEST(VerifyMutations, APartialUpdateIsFound) {
  Trained t;
  ASSERT_TRUE(t.solve().ok());
  bool found = false;
  for (std::size_t r = 0; r < t.a.reshards.size(); ++r) {
    const auto& users = t.a.reshards[r].users;
    const auto updates = [&](const Graph::Use& u) { return u.node == t.update.node(); };
    if (std::none_of(users.begin(), users.end(), updates)) continue;
    found = true;
    Assignment other = t.a;
    other.reshards[r].to = Placement::partial();
    EXPECT_EQ(t.check(other).id(), "ARG-SHARD-014");
  }
  EXPECT_TRUE(found) << "the gradient is combined before the update";
  // The variable itself as partial sums, everywhere.
  Assignment other = t.a;
  for (const NodeId id : {t.w.ref.node(), t.update.node()}) {
    other.layouts[static_cast<std::size_t>(id.index)][0][0] = Placement::partial();
  }
  EXPECT_EQ(t.check(other).id(), "ARG-SHARD-014");
}

// A predicate of which devices have different values.
TEST(VerifyMutations, DevicesThatGoDifferentWaysAreFound) {
  Trained t;
  ASSERT_TRUE(t.solve().ok());
  int tried = 0;
  for (const NodeId id : t.sizes->order()) {
    const Node& n = t.g.node(id);
    if (n.op->flow != Flow::kSwitch && n.op->flow != Flow::kLoopCond) continue;
    const int input = n.op->flow == Flow::kSwitch ? 1 : 0;
    Assignment other = t.a;
    other.reshards.push_back({.value = n.inputs[static_cast<std::size_t>(input)],
                              .from = Placement::replicate(),
                              .to = Placement::partial(Combine::kMax),
                              .users = {{id, input}}});
    EXPECT_EQ(t.check(other).id(), "ARG-SHARD-014") << n.name;
    ++tried;
  }
  EXPECT_GE(tried, 3);
}

TEST(VerifyMutations, WhatIsOfAnotherGraphIsFound) {
  Trained t;
  ASSERT_TRUE(t.solve().ok());
  Assignment other = t.a;
  other.layouts.pop_back();
  EXPECT_EQ(t.check(other).id(), "ARG-SHARD-014");
  other = t.a;
  other.layouts[0][0].clear();
  EXPECT_EQ(t.check(other).id(), "ARG-SHARD-014");
  other = t.a;
  other.reshards[0].users.push_back({t.update.node(), 0});
  EXPECT_EQ(t.check(other).id(), "ARG-SHARD-014");
}

}  // namespace
}  // namespace argosy
