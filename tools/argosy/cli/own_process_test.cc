#include "tools/argosy/cli/own_process.h"

#include <gtest/gtest.h>

#include <csignal>

namespace argosy::cli {
namespace {

TEST(OwnProcess, GivesWhatTheWorkGaveAndLeavesThisOneAsItWas) {
  int here = 1;
  const auto result = in_own_process<double>([&]() -> Result<double> {
    here = 2;
    return here * 1.5;
  });
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(*result, 3.0);
  EXPECT_EQ(here, 1);
}

TEST(OwnProcess, TellsWhyTheWorkFailed) {
  const auto result =
      in_own_process<double>([]() -> Result<double> { return invalid_argument("no such ", std::string(10000, 'x')); });
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().message(), "no such " + std::string(10000, 'x'));
}

TEST(OwnProcess, TellsHowTheProcessEndedWithoutAResult) {
  const auto killed = in_own_process<double>([]() -> Result<double> {
    (void)::raise(SIGKILL);
    return 0.0;
  });
  ASSERT_FALSE(killed.ok());
  EXPECT_NE(killed.status().message().find("signal 9"), std::string::npos);
  const auto left = in_own_process<double>([]() -> Result<double> { ::_exit(3); });
  ASSERT_FALSE(left.ok());
  EXPECT_NE(left.status().message().find("without a word"), std::string::npos);
}

}  // namespace
}  // namespace argosy::cli
