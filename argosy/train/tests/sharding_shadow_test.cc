// The sharding core beside today's data parallelism, on our own models: gradients are combined at the same values, and
// nothing else moves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "argosy/sharding/reshard/redistribution.h"
#include "argosy/sharding/resolve/resolve.h"
#include "argosy/sharding/verify/verify.h"
#include "argosy/strategy/data_parallel/replication_plan.h"
#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/models/models.h"

namespace argosy {
namespace {

using Names = std::set<std::string>;

std::string name_of_value(const Graph& g, Endpoint e) { return str_cat(g.node(e.node).name, ":", e.index); }

// What today's plan combines.
Result<Names> combined_today(const BuiltModel& built) {
  Graph g = built.graph->clone();
  ReplicationRequest request{
      .losses = {built.model.loss.endpoint()}, .train = {built.train.run.node()}, .seed = built.train.seed.node()};
  for (const Value& v : built.train.gradients) request.gradients.push_back(v.endpoint());
  for (const Layers::Input& input : built.inputs) request.inputs.push_back(input.placeholder.node());
  ARGOSY_ASSIGN_OR_RETURN(const ReplicationPlan plan, plan_replication(g, request));
  Names names;
  for (const CollectivePoint& c : plan.collectives) names.insert(name_of_value(g, c.value));
  return names;
}

// Nodes that a training step runs: initialisers are steps of their own.
std::vector<char> nodes_of_step(const BuiltModel& built) {
  std::vector<char> runs(static_cast<std::size_t>(built.graph->size()), 0);
  std::vector<NodeId> open = {built.train.run.node(), built.model.loss.node()};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (std::exchange(runs[static_cast<std::size_t>(id.index)], 1) != 0) continue;
    const Node& n = built.graph->node(id);
    for (const Endpoint e : n.inputs) open.push_back(e.node);
    open.insert(open.end(), n.controls.begin(), n.controls.end());
  }
  return runs;
}

struct Core {
  Names combined;                   // partial values that become replicated
  std::vector<std::string> others;  // everything else that moves data
  std::vector<std::string> whole;
};

Result<Core> combined_by_core(const BuiltModel& built) {
  const Graph& g = *built.graph;
  SizesRequest sized;
  for (const Layers::Input& input : built.inputs) sized.batch.push_back(input.placeholder.node());
  ARGOSY_ASSIGN_OR_RETURN(const Sizes sizes, Sizes::find(g, sized));
  ARGOSY_ASSIGN_OR_RETURN(const RuleTable rules, RuleTable::make(g, sizes));
  const Mesh mesh{.axes = {{.name = "data", .size = 4}}, .devices = {"a", "b", "c", "d"}};
  ARGOSY_ASSIGN_OR_RETURN(const Assignment a, resolve(g, sizes, rules, mesh, {.seeds = shard_feeds(sized.batch, 0)}));
  ARGOSY_RETURN_IF_ERROR(verify(g, sizes, rules, mesh, a));
  Core core;
  const std::vector<char> runs = nodes_of_step(built);
  for (const Reshard& r : a.reshards) {
    if (runs[static_cast<std::size_t>(r.value.node.index)] == 0) continue;
    const Redistribution how = redistribution(r.from, r.to);
    if (bytes_moved(how, mesh.axes[0], 1) == 0) continue;
    if (how == Redistribution::kAllReduce) {
      core.combined.insert(name_of_value(g, r.value));
    } else {
      core.others.push_back(str_cat(name_of(how), " ", name_of_value(g, r.value), ": ", r.why));
    }
  }
  for (const WholeNode& w : a.whole) core.whole.push_back(w.why);
  return core;
}

struct ModelCase {
  const char* name;
  ModelBuilder builder;
  const char* optimizer = "adam";
};

TEST(ShardingShadow, ModelsCombineWhatTheyDoToday) {
  const ModelCase cases[] = {{"mlp", models::mlp({})},
                             {"lenet", models::lenet({})},
                             {"autoencoder", models::autoencoder({.image_size = 16, .depth = 2, .width = 4})},
                             {"transformer", models::transformer({.dropout = 0.1})}};
  for (const ModelCase& c : cases) {
    SCOPED_TRACE(c.name);
    const auto optimizer = optimizer_by_name(c.optimizer, 0.01);
    ASSERT_TRUE(optimizer.ok());
    const auto built = build_model(c.builder, {.seed = 3}, &*optimizer, {});
    ASSERT_TRUE(built.ok()) << built.status().to_string();
    const auto today = combined_today(*built);
    ASSERT_TRUE(today.ok()) << today.status().to_string();
    const auto core = combined_by_core(*built);
    ASSERT_TRUE(core.ok()) << core.status().to_string();
    std::printf("%-12s %zu values combined today, %zu by the core, %zu other reshards, %zu nodes whole\n", c.name,
                today->size(), core->combined.size(), core->others.size(), core->whole.size());
    EXPECT_EQ(core->combined, *today);
    EXPECT_TRUE(core->others.empty()) << str_join(core->others, "\n");
    EXPECT_TRUE(core->whole.empty()) << str_join(core->whole, "\n");
  }
}

}  // namespace
}  // namespace argosy
