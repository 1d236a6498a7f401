#include "argosy/planner/candidates.h"

#include <gtest/gtest.h>

#include <set>

namespace argosy {
namespace {

std::vector<DeviceSpec> devices(std::vector<double> speeds) {
  std::vector<DeviceSpec> specs;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    DeviceSpec spec;
    spec.name = {"localhost", 0, 0, "GPU", static_cast<int>(i)};
    spec.speed = speeds[i];
    specs.push_back(spec);
  }
  return specs;
}

std::vector<std::string> texts(const std::vector<Candidate>& found) {
  std::vector<std::string> all;
  for (const Candidate& c : found) all.push_back(c.strategy.to_string());
  return all;
}

TEST(Candidates, ArePlainOnesFirst) {
  EXPECT_EQ(texts(candidates(devices({1, 1}), 128)),
            (std::vector<std::string>{"dp=1", "dp=2", "dp=2,zero=1", "dp=1,accumulate=2", "dp=2,accumulate=2",
                                      "dp=2,accumulate=2,zero=1", "dp=1,accumulate=4", "dp=2,accumulate=4",
                                      "dp=2,accumulate=4,zero=1", "dp=1,accumulate=8", "dp=2,accumulate=8",
                                      "dp=2,accumulate=8,zero=1"}));
}

TEST(Candidates, SuitTheBatch) {
  for (const std::int64_t batch : {1, 2, 3, 5, 16}) {
    for (const Candidate& c : candidates(devices({1, 1, 1}), batch)) {
      EXPECT_EQ(c.strategy.empty_micro_batches(static_cast<int>(c.devices.size()), batch), "");
    }
  }
  EXPECT_EQ(texts(candidates(devices({1}), 1)), (std::vector<std::string>{"dp=1"}));
}

TEST(Candidates, CoverAllDevicesAndNoneTwice) {
  const auto found = texts(candidates(devices({1, 1, 1, 1, 1, 1}), 1024));
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()).size(), found.size());
  EXPECT_NE(std::find(found.begin(), found.end(), "dp=6"), found.end());
  EXPECT_NE(std::find(found.begin(), found.end(), "dp=4"), found.end());
}

TEST(Candidates, FewerDevicesAreTheFastest) {
  const auto found = candidates(devices({0.5, 1, 0.7}), 64);
  ASSERT_EQ(found[0].devices.size(), 1u);
  EXPECT_EQ(found[0].devices[0].name.id, 1);
  ASSERT_EQ(found[1].devices.size(), 2u);
  EXPECT_EQ(found[1].devices[0].name.id, 1);
  EXPECT_EQ(found[1].devices[1].name.id, 2);
}

TEST(Candidates, AGivenOneMustSuitTheDevices) {
  const auto given = candidate_of({.zero = 1}, devices({1, 1}));
  ASSERT_TRUE(given.ok());
  EXPECT_EQ(given->strategy.to_string(), "dp=2,zero=1");
  EXPECT_EQ(candidate_of({.dp = 3}, devices({1, 1})).status().id(), "ARG-SHARD-002");
}

}  // namespace
}  // namespace argosy
