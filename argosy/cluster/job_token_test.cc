#include "argosy/cluster/job_token.h"

#include <gtest/gtest.h>

namespace argosy {
namespace {

TEST(JobToken, ReadsWhatItWrites) {
  const JobToken token = JobToken::draw();
  const auto again = JobToken::parse(token.to_hexadecimal());
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(token.equals(again->bytes()));
  EXPECT_EQ(token.to_hexadecimal().size(), 64u);
  EXPECT_FALSE(token.none());
}

TEST(JobToken, DiffersFromOthers) {
  EXPECT_FALSE(JobToken::draw().equals(JobToken::draw().bytes()));
  EXPECT_FALSE(JobToken::draw().equals(""));
  EXPECT_TRUE(JobToken::parse("")->none());
}

TEST(JobToken, RefusesOtherTextWithoutRepeatingIt) {
  for (const std::string& text : {std::string("secret"), std::string("0x12"), std::string(63, 'a'), std::string(64, 'g')}) {
    const Status refused = JobToken::parse(text).status();
    EXPECT_EQ(refused.id(), "ARG-CLUSTER-034") << text;
    EXPECT_EQ(refused.to_string().find(text), std::string::npos);
  }
}

}  // namespace
}  // namespace argosy
