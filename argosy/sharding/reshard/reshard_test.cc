#include <gtest/gtest.h>

#include "argosy/sharding/reshard/cut.h"
#include "argosy/sharding/reshard/redistribution.h"

namespace argosy {
namespace {

const Placement kR, kS0 = Placement::shard(0), kS1 = Placement::shard(1), kP = Placement::partial(),
                    kOnce = Placement::once(), kV = Placement::varying(), kL = Placement::local();

TEST(Redistribution, IsTheTable) {
  const MeshAxis axis{.name = "data", .size = 4};
  struct Row {
    Placement from, to;
    std::string_view name;
    double bytes;  // of 1024
  };
  const Row rows[] = {{kR, kS0, "slice", 0},
                      {kR, kP, "keep-first", 0},
                      {kR, kOnce, "nothing", 0},
                      {kP, kR, "all-reduce", 1536},
                      {kP, kS0, "reduce-scatter", 768},
                      {kP, kOnce, "reduce", 1024},
                      {kS0, kR, "all-gather", 768},
                      {kS0, kS1, "all-to-all", 192},
                      {kS0, kOnce, "gather", 768},
                      {kOnce, kR, "broadcast", 1024},
                      {kOnce, kS0, "scatter", 768},
                      {kS0, kS0, "nothing", 0},
                      {kL, kP, "weigh", 0},
                      {kP, kL, "weigh", 0},
                      {kL, kR, "all-reduce", 1536}};
  for (const Row& row : rows) {
    const Redistribution r = redistribution(row.from, row.to);
    EXPECT_EQ(name_of(r), row.name) << to_string(row.from) << " to " << to_string(row.to);
    EXPECT_EQ(bytes_moved(r, axis, 1024), row.bytes) << row.name;
    EXPECT_EQ(bytes_moved(r, {.name = "turns", .size = 4, .over = MeshAxis::Over::kTurns}, 1024), 0) << row.name;
    EXPECT_EQ(bytes_moved(r, {.name = "data", .size = 1}, 1024), 0) << row.name;
  }
  for (const Placement& from : {kS0, kOnce, kV}) {
    EXPECT_EQ(redistribution(from, kP), Redistribution::kImpossible) << to_string(from);
  }
  for (const Placement& to : {kR, kS0, kOnce}) {
    EXPECT_EQ(redistribution(kV, to), Redistribution::kImpossible) << to_string(to);
    EXPECT_EQ(redistribution(to, kV), Redistribution::kImpossible) << to_string(to);
  }
}

TEST(Redistribution, TakesSeconds) {
  const MeshAxis axis{.name = "data", .size = 4};
  const Link link{.latency = 1e-5, .bytes_per_second = 1e9};
  EXPECT_DOUBLE_EQ(seconds(Redistribution::kAllReduce, axis, 1e6, link), 6e-5 + 1.5e-3);
  EXPECT_DOUBLE_EQ(seconds(Redistribution::kSlice, axis, 1e6, link), 0);
}

TEST(Cut, TakesItemsOfEveryRound) {
  const MeshAxis axis{.name = "data", .size = 2};
  const auto first = cut_dim(axis, Placement::shard(0, 2, 3), 12, 0),
             second = cut_dim(axis, Placement::shard(0, 2, 3), 12, 1);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->begin, 0);
  EXPECT_EQ(first->end, 3);
  EXPECT_EQ(first->step, 6);
  EXPECT_EQ(first->size(), 6);
  EXPECT_EQ(second->begin, 3);
  EXPECT_EQ(second->end, 6);
  EXPECT_EQ(second->size(), 6);
  // Three rows stay together, however the items are cut.
  const MeshAxis unequal{.name = "data", .size = 3, .weights = {1000, 500, 100}};
  std::int64_t rows = 0;
  for (int d = 0; d < 3; ++d) {
    const auto cut = cut_dim(unequal, Placement::shard(0, 1, 3), 21, d);
    ASSERT_TRUE(cut.ok());
    EXPECT_EQ(cut->size() % 3, 0);
    EXPECT_EQ(cut->begin, rows);
    rows = cut->end;
  }
  EXPECT_EQ(rows, 21);
  EXPECT_EQ(cut_dim(axis, Placement::shard(0, 2), 7, 0).status().id(), "ARG-SHARD-012");
}

}  // namespace
}  // namespace argosy
