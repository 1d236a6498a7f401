#include "argosy/tf/server/transport/heap_upkeep.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "argosy/base/sanitizers.h"

namespace argosy::tf {
namespace {

using Work = HeapUpkeep::Work;

TEST(HeapUpkeep, WithoutSessionsAtOnceAndEveryFiveSeconds) {
  HeapUpkeep upkeep;
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(upkeep.look(false), Work::kTrim) << round;
    for (int i = 1; i < 5 * HeapUpkeep::kLooksASecond; ++i) EXPECT_EQ(upkeep.look(false), Work::kNone) << i;
  }
}

TEST(HeapUpkeep, WithSessionsEveryHalfMinuteIfThereIsMuch) {
  HeapUpkeep upkeep;
  (void)upkeep.look(false);
  for (int round = 0; round < 3; ++round) {
    for (int i = 1; i < 30 * HeapUpkeep::kLooksASecond; ++i) EXPECT_EQ(upkeep.look(true), Work::kNone) << i;
    EXPECT_EQ(upkeep.look(true), Work::kTrimIfUnused) << round;
  }
  EXPECT_EQ(upkeep.look(false), Work::kTrim);  // the last session was closed
  EXPECT_EQ(upkeep.look(true), Work::kNone);
}

TEST(HeapUpkeep, UnusedBytesAreThoseThatWereFreed) {
#if defined(ARGOSY_ASAN) || defined(ARGOSY_TSAN)
  GTEST_SKIP() << "the sanitizer has a heap of its own";
#endif
  constexpr std::size_t kPieces = 4096, kSize = 16 << 10;
  std::vector<std::unique_ptr<char[]>> pieces;
  for (std::size_t i = 0; i < 2 * kPieces; ++i) pieces.push_back(std::make_unique<char[]>(kSize));
  const std::size_t before = unused_heap_bytes();
  for (std::size_t i = 0; i < pieces.size(); i += 2) pieces[i].reset();  // each hole lies between two that are used
  EXPECT_GE(unused_heap_bytes(), before + kPieces * kSize / 2);
}

}  // namespace
}  // namespace argosy::tf
