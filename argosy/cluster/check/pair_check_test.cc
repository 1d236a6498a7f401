#include "argosy/cluster/check/pair_check.h"

#include <gmock/gmock.h>

#include <cmath>

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

TEST(PairsText, ComesBackWhateverWasMeasured) {
  const std::vector<PairFacts> pairs = {
      {.from = 0, .to = 1, .round_trip_seconds = 1e-4, .bytes_per_second = 1e9, .clock_seconds = -2},
      {.from = 1, .to = 0, .bytes_per_second = INFINITY, .error = "bad \xff bytes"}};
  const auto again = read_pairs(pairs_text(pairs), 2);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  ASSERT_EQ(again->size(), 2u);
  EXPECT_EQ((*again)[0].bytes_per_second, 1e9);
  EXPECT_EQ((*again)[0].clock_seconds, -2);
  EXPECT_THAT((*again)[1].error, HasSubstr("bad "));
}

TEST(PairsText, AnythingElseIsAnError) {
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[1]"), std::string("[[]]"),
        std::string(R"([["a", 1, 1, 1, 1, ""]])"), std::string(R"([[0, 2, 1, 1, 1, ""]])"),
        std::string(R"([[-1, 1, 1, 1, 1, ""]])"), std::string(R"([[0, 1, "x", 1, 1, ""]])"),
        std::string(R"([[0, 1, 1, 1, 1, 7]])"), std::string(R"([[0, 1, 1, 1, []]])"), std::string(1 << 20, '[')}) {
    const auto read = read_pairs(text, 2);
    EXPECT_EQ(read.status().id(), "ARG-CLUSTER-046") << text.substr(0, 80);
  }
}

}  // namespace
}  // namespace argosy
