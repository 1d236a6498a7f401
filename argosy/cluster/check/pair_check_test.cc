#include "argosy/cluster/check/pair_check.h"

#include <gmock/gmock.h>

namespace argosy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<JobTask> kTasks = {{.rank = 0, .host = "a"}, {.rank = 1, .host = "b"}, {.rank = 2, .host = "c"}};

TEST(BadPairs, NamesWhatStandsOut) {
  std::vector<PairFacts> pairs;
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) {
      if (from != to) pairs.push_back({.from = from, .to = to, .round_trip_seconds = 1e-4, .bytes_per_second = 1e9});
    }
  }
  EXPECT_THAT(bad_pairs(pairs, kTasks), ElementsAre());
  pairs[1].bytes_per_second = 0.2e9;
  pairs[2].error = "no route to host";
  pairs[3].clock_seconds = 2.5;
  EXPECT_THAT(bad_pairs(pairs, kTasks),
              ElementsAre(HasSubstr("task 0 (a) to task 2 (c): 0.20 GB/s, the median of all pairs is 1.00 GB/s"),
                          HasSubstr("task 1 (b) to task 0 (a): no route to host"),
                          HasSubstr("task 1 (b) to task 2 (c): the clocks are 2.5 s apart")));
}

}  // namespace
}  // namespace argosy
