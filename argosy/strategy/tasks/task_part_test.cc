// Whose each node is, what travels, and what is refused.
#include "argosy/strategy/tasks/task_part.h"

#include <gmock/gmock.h>

#include "argosy/ops/collective/collective.h"
#include "argosy/ops/collective/net_attr.h"
#include "argosy/ops/constant/constant.h"

namespace argosy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kFirst = "/device:GPU:1000";
constexpr const char* kSecond = "/device:GPU:1001";

TaskDevices two_tasks(int own) {
  return {.names = {kFirst, kSecond}, .task = {0, 1}, .own = own, .local = {"/device:GPU:0"}};
}

// x in two shards; a square on each device; their sum on all devices, and on the host.
struct TwoShards {
  Graph graph;
  Value x, squares[2], sums[2], total;

  TwoShards() {
    x = graph.add("Placeholder", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape({-1})}}, "x");
    const std::vector<std::int64_t> weights = {1, 1};
    for (int s = 0; s < 2; ++s) {
      Value rows;
      {
        const auto host = graph.device("/device:CPU:0");
        rows = shard_batch(x, weights, s);
      }
      const auto on = graph.device(s == 0 ? kFirst : kSecond);
      squares[s] = graph.add("Sum", {graph.add("Mul", {rows, rows}), constant(graph, std::int32_t{0})});
      sums[s] = all_reduce({squares[s]}, {.group = "sum", .rank = s, .size = 2, .shards = {s}, .total = 2})[0];
    }
    const auto host = graph.device("/device:CPU:0");
    total = graph.add("AddN", {squares[0], squares[1]}, {}, "total");
  }
};

TEST(TaskPart, NodesGoWithTheirDevicesAndValuesTravel) {
  for (const int own : {0, 1}) {
    TwoShards g;
    auto part = TaskPart::make(g.graph, two_tasks(own), {g.x.node()}, {g.sums[0].endpoint()});
    ASSERT_TRUE(part.ok()) << part.status().to_string();
    EXPECT_EQ(part->collectives(), 3) << "the sum, what AddN reads, what is fetched";
    EXPECT_EQ(std::string_view(g.graph.node(g.squares[own].node()).device), "/device:GPU:0");
    // The other task's rank is in no group of this one's.
    EXPECT_EQ(g.graph.node(g.sums[own].node()).attrs.get_string("group"), "sum");
    EXPECT_NE(g.graph.node(g.sums[1 - own].node()).attrs.get_string("group"), "sum");
    EXPECT_THAT(g.graph.node(g.sums[own].node()).attrs.get<std::vector<std::int64_t>>(kNetAttr), testing::SizeIs(3));
    const Node& total = g.graph.node(g.total.node());
    EXPECT_EQ(total.inputs[own], g.squares[own].endpoint());
    EXPECT_EQ(g.graph.node(total.inputs[1 - own].node).op->name, "_TaskValues");
    // The fetched value is task 0's; the other has it from there.
    EXPECT_EQ(part->local(g.sums[0].endpoint()) == g.sums[0].endpoint(), own == 0);
    EXPECT_EQ(part->local(g.total.endpoint()), g.total.endpoint());
  }
}

TEST(TaskPart, EveryTaskTakesPartInWhatAnotherFetches) {
  for (const int own : {0, 1}) {
    TwoShards g;
    auto part = TaskPart::make(g.graph, two_tasks(own), {g.x.node()}, {g.sums[0].endpoint()});
    ASSERT_TRUE(part.ok()) << part.status().to_string();
    std::vector<std::string> names;
    for (const NodeId id : part->targets({g.sums[0].endpoint()}, {}, {g.x.endpoint()})) {
      names.push_back(g.graph.node(id).op->name);
    }
    EXPECT_THAT(names, ElementsAre("_AllReduce", "_TaskValues")) << own;
  }
}

// A slot's shards are read so: the host joins what each device holds.
TEST(TaskPart, TheInnermostScopeOfDevicesHolds) {
  for (const int own : {0, 1}) {
    Graph graph;
    Value parts[2], total;
    {
      const auto host = graph.device("/device:CPU:0");
      for (int d = 0; d < 2; ++d) {
        const auto on = graph.device(d == 0 ? kFirst : kSecond);
        parts[d] = graph.add("RandomUniform", {constant(graph, Tensor::zeros(DType::kInt32, {0}))},
                             {{"dtype", DType::kFloat32}, {"T", DType::kInt32}});
      }
      total = graph.add("AddN", {parts[0], parts[1]}, {}, "total");
    }
    ASSERT_NE(std::string_view(graph.node(parts[1].node()).device), kSecond) << "what the test is about";
    auto part = TaskPart::make(graph, two_tasks(own), {}, {total.endpoint()});
    ASSERT_TRUE(part.ok()) << part.status().to_string();
    EXPECT_EQ(std::string_view(graph.node(parts[own].node()).device), "/device:GPU:0");
    const Node& sum = graph.node(total.node());
    EXPECT_EQ(sum.inputs[own], parts[own].endpoint());
    EXPECT_EQ(graph.node(sum.inputs[1 - own].node).op->name, "_TaskValues") << "it is the other task's";
  }
}

TEST(TaskPart, ReadsTheRowsOfItsShards) {
  for (const int own : {0, 1}) {
    TwoShards g;
    auto part = TaskPart::make(g.graph, two_tasks(own), {g.x.node()}, {});
    ASSERT_TRUE(part.ok());
    const auto rows = part->own_rows(g.x.node(), 7);
    ASSERT_TRUE(rows.has_value());
    EXPECT_EQ(*rows,
              own == 0 ? std::pair(std::int64_t{0}, std::int64_t{4}) : std::pair(std::int64_t{4}, std::int64_t{7}));
  }
  // A node that every task has reads all of them.
  TwoShards g;
  g.graph.add("Neg", {g.x});
  auto part = TaskPart::make(g.graph, two_tasks(0), {g.x.node()}, {});
  ASSERT_TRUE(part.ok());
  EXPECT_FALSE(part->own_rows(g.x.node(), 7).has_value());
}

TEST(TaskPart, TheProgramIsTheSameOnEveryTask) {
  TwoShards a, b, c;
  c.graph.add("Neg", {c.x});
  const auto of = [](TwoShards& g, int own) {
    return TaskPart::make(g.graph, two_tasks(own), {g.x.node()}, {})->program();
  };
  const std::string first = of(a, 0);
  EXPECT_EQ(first, of(b, 1));
  EXPECT_NE(first, of(c, 1));
}

TEST(TaskPart, StringsOfAnotherTaskAreRefusedByName) {
  Graph graph;
  Value text;
  {
    const auto on = graph.device(kSecond);
    text = graph.add("AsString", {constant(graph, 1.0F)}, {}, "text");
  }
  const auto host = graph.device(kFirst);
  graph.add("StringLength", {text}, {}, "length");
  const auto part = TaskPart::make(graph, two_tasks(0), {}, {});
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.status().id(), "ARG-CLUSTER-061");
  EXPECT_THAT(part.status().message(), HasSubstr("'text' (AsString) is computed on task 1"));
}

}  // namespace
}  // namespace argosy
