#include "argosy/base/memory/held_items.h"

#include <gtest/gtest.h>

namespace argosy {
namespace {

TEST(HeldItems, ReserveAsTheyGrowAndGiveBackAsTheyShrink) {
  const std::int64_t before = host_budget().in_use();
  const auto limit = host_budget().with_limit(before + 1000 * 100);
  {
    HeldItems held(HostUse::kBuffers, 100, "a list");
    for (std::int64_t n = 1; n <= 1000; ++n) {
      ASSERT_TRUE(held.hold(n).ok()) << n;
      EXPECT_GE(host_budget().in_use() - before, 100 * n);
    }
    const Status refused = held.hold(1001);
    EXPECT_EQ(refused.code(), Code::kResourceExhausted);
    EXPECT_EQ(refused.id(), "ARG-MEM-004");
    EXPECT_NE(refused.message().find("a list"), std::string::npos) << refused.message();
    EXPECT_NE(refused.message().find("buffers"), std::string::npos) << refused.message();
    EXPECT_TRUE(held.hold(1000).ok()) << "as before";
    for (std::int64_t n = 1000; n >= 1; --n) ASSERT_TRUE(held.hold(n).ok());
    EXPECT_LE(host_budget().in_use() - before, 100 * 8);
    EXPECT_FALSE(held.hold(INT64_MAX).ok());
  }
  EXPECT_EQ(host_budget().in_use(), before);
}

}  // namespace
}  // namespace argosy
