#include "argosy/comm/net/reduce_layout.h"

#include <gtest/gtest.h>

#include "argosy/comm/gloo/peers.h"

namespace argosy {
namespace {

using Trees = std::vector<Subtree>;

TEST(ReduceLayout, OwnShardsAreTheLargestSubtreesOfTheirPlace) {
  const auto of = [](std::vector<int> shards) { return subtrees_of(shards); };
  EXPECT_EQ(of({}), Trees{});
  EXPECT_EQ(of({0, 1, 2, 3}), (Trees{{0, 2}}));
  EXPECT_EQ(of({4, 5, 6, 7}), (Trees{{4, 2}}));
  EXPECT_EQ(of({0, 1, 2}), (Trees{{0, 1}, {2, 0}}));
  EXPECT_EQ(of({3, 4, 5}), (Trees{{3, 0}, {4, 1}}));
  EXPECT_EQ(of({1, 2, 3, 4}), (Trees{{1, 0}, {2, 1}, {4, 0}}));
  EXPECT_EQ(of({0, 2, 3}), (Trees{{0, 0}, {2, 1}}));
}

TEST(ReduceLayout, SaysWhatIsHeldTwiceOrByNobody) {
  EXPECT_TRUE((ReduceLayout{{{{0, 1}}, {{2, 1}}}, 4}.check().ok()));
  EXPECT_EQ((ReduceLayout{{{{0, 1}}, {{2, 0}}}, 4}.check().message()), "no task holds shard 3 of 4");
  EXPECT_EQ((ReduceLayout{{{{0, 1}}, {{1, 0}, {2, 1}}}, 4}.check().message()), "tasks 0 and 1 both hold shard 1");
  EXPECT_FALSE((ReduceLayout{{{{0, 1}}, {{2, 1}}}, 3}.check().ok()));
}

TEST(ReduceLayout, IsAlignedOnPowersOfTwoOfEqualTasks) {
  EXPECT_TRUE((ReduceLayout{{{{0, 1}}, {{2, 1}}}, 4}.is_aligned()));
  EXPECT_FALSE((ReduceLayout{{{{2, 1}}, {{0, 1}}}, 4}.is_aligned()));
  EXPECT_FALSE((ReduceLayout{{{{0, 0}}, {{1, 0}}, {{2, 0}}}, 3}.is_aligned()));
  EXPECT_FALSE((ReduceLayout{{{{0, 1}}, {{2, 0}}}, 3}.is_aligned()));
}

TEST(Peers, AreMutualAndFewInLargeGroups) {
  for (const int size : {1, 2, 3, 8, 16, 17, 64, 100, 1024}) {
    std::size_t most = 0;
    for (int rank = 0; rank < size; ++rank) {
      const std::vector<int> peers = peers_of(rank, size, 16);
      most = std::max(most, peers.size());
      for (const int peer : peers) {
        const std::vector<int> theirs = peers_of(peer, size, 16);
        EXPECT_TRUE(std::find(theirs.begin(), theirs.end(), rank) != theirs.end()) << rank << " and " << peer;
      }
    }
    EXPECT_LE(most, size <= 16 ? 15U : 28U) << size;
  }
}

}  // namespace
}  // namespace argosy
