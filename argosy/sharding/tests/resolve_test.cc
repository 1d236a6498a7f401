// Layouts and reshards of small graphs, and the words for them.
#include "argosy/sharding/resolve/resolve.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "argosy/graph/gradients.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/softmax/softmax.h"
#include "argosy/ops/state/state.h"
#include "argosy/sharding/reshard/cost.h"
#include "argosy/sharding/verify/verify.h"
#include "argosy/testing/loop.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

struct Solved {
  Status status;
  std::optional<Sizes> sizes;
  std::optional<RuleTable> rules;
  Assignment a;
  std::string layout(const Value& v) const { return to_string(a.layout(v.endpoint())); }
  // "x P(sum) > R", one a line.
  std::string reshards(const Graph& g) const {
    std::string text;
    for (const Reshard& r : a.reshards) {
      text += str_cat(g.node(r.value.node).name, " ", to_string(r.from), " > ", to_string(r.to), "\n");
    }
    return text;
  }
};

Mesh data_mesh(int devices) {
  Mesh mesh{.axes = {{.name = "data", .size = devices}}};
  mesh.devices.assign(static_cast<std::size_t>(devices), "d");
  return mesh;
}

Solved solve(const Graph& g, const Mesh& mesh, const std::vector<Value>& feeds, std::vector<Seed> seeds = {},
             const std::vector<Value>& fetches = {}) {
  Solved s;
  const auto run = [&]() -> Status {
    ARGOSY_RETURN_IF_ERROR(Status(g.status()));
    SizesRequest request;
    for (const Value& v : feeds) request.batch.push_back(v.node());
    ARGOSY_ASSIGN_OR_RETURN(s.sizes, Sizes::find(g, request));
    ARGOSY_ASSIGN_OR_RETURN(s.rules, RuleTable::make(g, *s.sizes));
    for (int axis = 0; axis < std::ssize(mesh.axes); ++axis) {
      if (mesh.axes[static_cast<std::size_t>(axis)].name == "model") continue;
      for (const Seed& seed : shard_feeds(request.batch, axis)) seeds.push_back(seed);
    }
    ResolveRequest asked{.seeds = seeds};
    VerifyRequest check;
    for (const Value& v : fetches) asked.fetches.push_back(v.endpoint());
    check.fetches = asked.fetches;
    ARGOSY_ASSIGN_OR_RETURN(s.a, resolve(g, *s.sizes, *s.rules, mesh, asked));
    return verify(g, *s.sizes, *s.rules, mesh, s.a, check);
  };
  s.status = run();
  return s;
}

TEST(Resolve, DataParallelStepCombinesGradientsOnce) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {4, 3}, 1), "w");
  const Value h = matmul(x, w.read);
  const Value loss = reduce_mean(square(h));
  const Value gradient = gradients(g, {loss}, {w.ref})[0];
  const Value update = g.add("ApplyGradientDescent", {w.ref, constant(g, 0.1f), gradient});
  const Solved s = solve(g, data_mesh(4), {x}, {}, {loss});
  ASSERT_TRUE(s.status.ok()) << s.status.to_string();
  EXPECT_EQ(s.layout(x), "S(0)");
  EXPECT_EQ(s.layout(w.read), "R");
  EXPECT_EQ(s.layout(h), "S(0)");
  EXPECT_EQ(s.layout(loss), "P(sum)");
  EXPECT_EQ(s.layout(gradient), "P(sum)");
  EXPECT_EQ(s.layout(update), "R");
  int moved = 0;
  for (const Reshard& r : s.a.reshards) {
    if (!r.from.is_partial()) continue;
    ++moved;
    if (r.value == gradient.endpoint()) {
      EXPECT_EQ(r.why, str_cat("'", g.node(update.node()).name,
                               "' (ApplyGradientDescent) updates 'w', which is R on every device"));
    } else {
      EXPECT_EQ(r.value, loss.endpoint());
      EXPECT_EQ(r.why, "it is fetched");
    }
  }
  EXPECT_EQ(moved, 2) << s.reshards(g);
  EXPECT_TRUE(s.a.whole.empty());
}

TEST(Resolve, PairsGatherTheSmallerSide) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const Value pairs = matmul(x, x, {.transpose_b = true});
  const Solved s = solve(g, data_mesh(4), {x});
  ASSERT_TRUE(s.status.ok()) << s.status.to_string();
  EXPECT_EQ(s.layout(pairs), "S(0)");
  EXPECT_EQ(s.reshards(g), "x S(0) > R\n");
  EXPECT_NE(s.a.reshards[0].why.find("is sharded along i, and each shard needs all of this input"), std::string::npos)
      << s.a.reshards[0].why;
}

TEST(Resolve, SaysWhatIsComputedWhole) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const Value y = softmax(transpose(x)), z = y * 2.0f;
  const Solved s = solve(g, data_mesh(2), {x});
  ASSERT_TRUE(s.status.ok()) << s.status.to_string();
  EXPECT_EQ(s.layout(y), "R");
  EXPECT_EQ(s.layout(z), "R");
  ASSERT_EQ(s.a.whole.size(), 1u);
  EXPECT_EQ(s.a.whole[0].node, y.node());
  EXPECT_NE(s.a.whole[0].why.find("cannot be sharded along dimension 1 of input 0"), std::string::npos)
      << s.a.whole[0].why;
}

TEST(Resolve, WhatIsCombinedForOneIsCombinedForAll) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const Value sum = reduce_sum(x, {0}), root = sqrt(sum), twice = sum * 2.0f, more = exp(twice);
  const Solved s = solve(g, data_mesh(4), {x}, {}, {root, more});
  ASSERT_TRUE(s.status.ok()) << s.status.to_string();
  EXPECT_EQ(s.reshards(g), str_cat(g.node(sum.node()).name, " P(sum) > R\n"));
  EXPECT_EQ(s.layout(twice), "R");
}

TEST(Resolve, AReplicatedTermCountsOnce) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {4}, 1), "w");
  const Value sum = reduce_sum(x, {0}) + w.read;
  const Solved s = solve(g, data_mesh(4), {x}, {}, {sum});
  ASSERT_TRUE(s.status.ok()) << s.status.to_string();
  EXPECT_EQ(s.layout(sum), "P(sum)");
  bool once = false;
  for (const Reshard& r : s.a.reshards) {
    once = once || (r.to == Placement::partial() && r.why.find("it counts once") != std::string::npos);
  }
  EXPECT_TRUE(once) << s.reshards(g);
}

// Spread over rows a sum is larger: it is combined before.
TEST(Resolve, ACombinationMovesToWhereTheValueIsSmall) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const Value sum = reduce_sum(x, {0}, true);
  const Value spread = g.add("BroadcastTo", {sum, shape(x)});
  const Value y = exp(spread) * x;
  const Solved s = solve(g, data_mesh(4), {x}, {}, {y});
  ASSERT_TRUE(s.status.ok()) << s.status.to_string();
  EXPECT_EQ(s.layout(spread), "S(0)");
  const Reshard* combined = nullptr;
  for (const Reshard& r : s.a.reshards) combined = r.from.is_partial() ? &r : combined;
  ASSERT_NE(combined, nullptr);
  EXPECT_EQ(combined->value, sum.endpoint()) << s.reshards(g);
  EXPECT_NE(combined->why.find("it is smaller here"), std::string::npos) << combined->why;
}

// Nobody feeds the noise its batch: it takes that of the rows it meets.
TEST(Resolve, ShardsSpreadBackwardsWhereThatCostsNothing) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const Value noise =
      g.add("RandomStandardNormal", {shape(x)}, {{"dtype", DType::kFloat32}, {"seed", 1}, {"seed2", 2}});
  const Value scaled = noise * 0.1f, y = x + scaled;
  const Value kept = g.add("RandomStandardNormal", {shape(x)}, {{"dtype", DType::kFloat32}, {"seed", 1}, {"seed2", 3}});
  const Value z = x * kept, all = softmax(transpose(kept));
  const Solved s = solve(g, data_mesh(4), {x});
  ASSERT_TRUE(s.status.ok()) << s.status.to_string();
  EXPECT_EQ(s.layout(y), "S(0)");
  EXPECT_EQ(s.layout(scaled), "S(0)");
  EXPECT_EQ(s.layout(noise), "S(0)");
  // Read whole by somebody: one device draws for all, and rows are cut of that.
  EXPECT_EQ(s.layout(kept), "once");
  EXPECT_NE(s.reshards(g).find(str_cat(g.node(kept.node()).name, " once > R\n")), std::string::npos) << s.reshards(g);
  EXPECT_NE(s.reshards(g).find(str_cat(g.node(kept.node()).name, " R > S(0)\n")), std::string::npos) << s.reshards(g);
  EXPECT_EQ(s.layout(z), "S(0)");
  EXPECT_EQ(s.layout(all), "R");
}

// Left to chance, devices would draw different numbers: mirrors of variables would differ.
TEST(Resolve, WhatIsDrawnForAllIsDrawnOnce) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const Value noise = g.add("RandomStandardNormal", {constant(g, Tensor::vector<std::int32_t>({4}))},
                            {{"dtype", DType::kFloat32}, {"seed", 0}, {"seed2", 0}});
  const Value order = g.add("RandomShuffle", {noise}, {{"seed", 0}, {"seed2", 0}});
  const Value y = x + order;
  const Solved s = solve(g, data_mesh(4), {x});
  ASSERT_TRUE(s.status.ok()) << s.status.to_string();
  EXPECT_EQ(s.layout(noise), "once");
  EXPECT_EQ(s.layout(order), "once");
  EXPECT_EQ(s.layout(y), "S(0)");
  EXPECT_EQ(s.reshards(g), str_cat(g.node(order.node()).name, " once > R\n"));
}

TEST(Resolve, TimeOutsideOfTheBatchComesInRounds) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 5, 4}, "x");
  const Value inside = reshape(x, {-1, 4}), outside = reshape(transpose(x, {1, 0, 2}), {-1, 4});
  const Value back = reshape(tanh(outside), {5, -1, 4});
  const Solved s = solve(g, data_mesh(4), {x});
  ASSERT_TRUE(s.status.ok()) << s.status.to_string();
  EXPECT_EQ(s.layout(inside), "S(0)*5");
  EXPECT_EQ(s.layout(outside), "S(0)/5");
  EXPECT_EQ(s.layout(back), "S(1)");
  EXPECT_TRUE(s.a.reshards.empty()) << s.reshards(g);
}

TEST(Resolve, ALoopCarriesWhatItsBodyMakes) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x");
  const Value rows = DataflowLoop(
                         g, x, [](Value v) { return tanh(v); }, "rows")
                         .out;
  // Sums over rows, added up from zeros: the loop carries partial sums.
  const Value start = constant(g, Tensor::zeros(DType::kFloat32, {4}));
  const Value sums =
      DataflowLoop(
          g, start, [&](Value v) { return v + reduce_sum(DataflowLoop::enter(g, x, "sums"), {0}); }, "sums")
          .out;
  // The body needs the sum each time: replicated.
  const Value roots =
      DataflowLoop(
          g, start, [&](Value v) { return sqrt(v + reduce_sum(DataflowLoop::enter(g, x, "roots"), {0})); }, "roots")
          .out;
  const Solved s = solve(g, data_mesh(4), {x}, {}, {sums});
  ASSERT_TRUE(s.status.ok()) << s.status.to_string();
  EXPECT_EQ(s.layout(rows), "S(0)");
  EXPECT_EQ(s.layout(sums), "P(sum)");
  EXPECT_EQ(s.layout(roots), "R");
}

TEST(Resolve, VariablesInShardsGatherReadsAndScatterGradients) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 8}, "x");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {8, 3}, 1), "w");
  const VariableNode m = variable(g, random_tensor(DType::kFloat32, {8, 3}, 2), "m");
  const Value loss = reduce_mean(square(matmul(x, w.read)));
  const Value gradient = gradients(g, {loss}, {w.ref})[0];
  const Value update = g.add("ApplyMomentum", {w.ref, m.ref, constant(g, 0.1f), gradient, constant(g, 0.9f)});
  const auto with = [&](bool both) {
    std::vector<Seed> seeds = {{w.ref.endpoint(), 0, Placement::shard(0)}};
    if (both) seeds.push_back({m.ref.endpoint(), 0, Placement::shard(0)});
    return solve(g, data_mesh(4), {x}, seeds);
  };
  const Solved s = with(true);
  ASSERT_TRUE(s.status.ok()) << s.status.to_string();
  EXPECT_EQ(s.layout(update), "S(0)");
  EXPECT_NE(s.reshards(g).find(str_cat(g.node(gradient.node()).name, " P(sum) > S(0)\n")), std::string::npos)
      << s.reshards(g);
  EXPECT_NE(s.reshards(g).find(" S(0) > R\n"), std::string::npos) << s.reshards(g);
  const Solved refused = with(false);
  EXPECT_EQ(refused.status.id(), "ARG-SHARD-013") << refused.status.to_string();
}

// Columns on one axis, rows of the batch on the other.
TEST(Resolve, TwoMeshAxes) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 8}, "x");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {8, 6}, 1), "w");
  const VariableNode u = variable(g, random_tensor(DType::kFloat32, {6, 2}, 2), "u");
  const Value h = relu(matmul(x, w.read)), y = matmul(h, u.read);
  const Mesh mesh{.axes = {{.name = "data", .size = 2}, {.name = "model", .size = 2}}, .devices = {"a", "b", "c", "d"}};
  const Solved s = solve(g, mesh, {x},
                         {{w.ref.endpoint(), 1, Placement::shard(1)}, {u.ref.endpoint(), 1, Placement::shard(0)}}, {y});
  ASSERT_TRUE(s.status.ok()) << s.status.to_string();
  EXPECT_EQ(s.layout(x), "S(0) R");
  EXPECT_EQ(s.layout(h), "S(0) S(1)");
  EXPECT_EQ(s.layout(y), "S(0) P(sum)");
  // y [batch, 2] is added up over the model axis, half of it on each row of devices, and fetched from all.
  double summed = 0, all = 0;
  for (const Reshard& r : s.a.reshards) {
    const ReshardCost cost = cost_of(r, s.a, *s.sizes, mesh, 16);
    all += cost.bytes;
    if (cost.how == Redistribution::kAllReduce) summed += cost.bytes;
  }
  EXPECT_EQ(summed, 16 * 2 * 4 / 2);
  EXPECT_EQ(all, bytes_moved(s.a, *s.sizes, mesh, 16));
  EXPECT_EQ(all, 16 * 2 * 4 / 2 + 16 * 2 * 4 / 2);
}

TEST(Resolve, TurnsAreAnAxisAsWell) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 8}, "x");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {8, 6}, 1), "w");
  const Value sum = reduce_sum(square(matmul(x, w.read)));
  const Mesh mesh{.axes = {{.name = "data", .size = 2}, {.name = "turns", .size = 4, .over = MeshAxis::Over::kTurns}},
                  .devices = {"a", "b"}};
  const Solved s = solve(g, mesh, {x}, {}, {sum});
  ASSERT_TRUE(s.status.ok()) << s.status.to_string();
  EXPECT_EQ(s.layout(x), "S(0) S(0)");
  EXPECT_EQ(s.layout(sum), "P(sum) P(sum)");
}

TEST(Resolve, ASeedThatDoesNotFitIsAnError) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 8}, "x");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {8}, 1), "w");
  const Solved s = solve(g, data_mesh(2), {x}, {{w.ref.endpoint(), 0, Placement::shard(1)}});
  EXPECT_EQ(s.status.id(), "ARG-SHARD-013");
  EXPECT_NE(s.status.to_string().find("'w'"), std::string::npos) << s.status.to_string();
}

TEST(Resolve, IsTheSameOnEveryRun) {
  const auto text = [] {
    Graph g;
    const Value x = placeholder(g, DType::kFloat32, {-1, 8}, "x");
    const VariableNode w = variable(g, random_tensor(DType::kFloat32, {8, 8}, 1), "w");
    const Value h = tanh(matmul(x, w.read));
    const Value loss = reduce_mean(reduce_logsumexp(matmul(h, h, {.transpose_b = true}), {1}));
    gradients(g, {loss}, {w.ref});
    const Solved s = solve(g, data_mesh(3), {x}, {}, {loss});
    std::string all = s.reshards(g);
    for (const Reshard& r : s.a.reshards) all += r.why + "\n";
    return all;
  };
  EXPECT_EQ(text(), text());
}

// Ten thousand nodes on eight devices; the times are printed. ARGOSY_LONG=1 holds them to 50 ms.
TEST(Resolve, TenThousandNodes) {
  Graph g;
  constexpr int kLayers = 600;
  const Value x = placeholder(g, DType::kFloat32, {-1, 64}, "x");
  Value h = x;
  std::vector<Value> of;
  for (int layer = 0; layer < kLayers; ++layer) {
    const VariableNode w = variable(g, Tensor::zeros(DType::kFloat32, {64, 64}), "w");
    const VariableNode b = variable(g, Tensor::zeros(DType::kFloat32, {64}), "b");
    h = relu(bias_add(matmul(h, w.read), b.read));
    of.push_back(w.ref);
    of.push_back(b.ref);
  }
  const Value loss = reduce_mean(square(h));
  const std::vector<Value> grads = gradients(g, {loss}, of);
  const Value rate = constant(g, 0.1f);
  for (std::size_t i = 0; i < of.size(); ++i) g.add("ApplyGradientDescent", {of[i], rate, grads[i]});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto sizes = Sizes::find(g, {.batch = {x.node()}});
  ASSERT_TRUE(sizes.ok());
  double rules_ms = 1e9, resolve_ms = 1e9, verify_ms = 1e9;
  const auto ms = [](auto&& f) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  };
  std::optional<RuleTable> rules;
  Assignment a;
  Status status;
  for (int i = 0; i < 5; ++i) {
    rules_ms = std::min(rules_ms, ms([&] { rules = *RuleTable::make(g, *sizes); }));
    resolve_ms = std::min(
        resolve_ms, ms([&] { a = *resolve(g, *sizes, *rules, data_mesh(8), {.seeds = shard_feeds({x.node()}, 0)}); }));
    verify_ms = std::min(verify_ms, ms([&] { status = verify(g, *sizes, *rules, data_mesh(8), a); }));
  }
  EXPECT_TRUE(status.ok()) << status.to_string();
  const double sizes_ms = ms([&] { (void)Sizes::find(g, {.batch = {x.node()}}); });
  std::printf(
      "%d nodes, 8 devices: sizes %.1f ms, %zu distinct rules %.1f ms, propagate and resolve %.1f ms, verify %.1f ms\n",
      g.size(), sizes_ms, rules->distinct(), rules_ms, resolve_ms, verify_ms);
  int combined = 0;
  for (const Reshard& r : a.reshards) combined += r.from.is_partial() ? 1 : 0;
  EXPECT_EQ(combined, 2 * kLayers);
  EXPECT_GT(g.size(), 10000);
  if (std::getenv("ARGOSY_LONG") != nullptr) {
    EXPECT_LT(rules_ms + resolve_ms, 50);
  }
}

}  // namespace
}  // namespace argosy
