// Channels to the tasks of a cluster where the system has no thread left: an error of the caller's, on whatever thread.
#include "argosy/tf/worker/peers/peers.h"

#include <gtest/gtest.h>

#include "argosy/base/threads/test_no_threads.h"

namespace argosy::tf {
namespace {

TEST(Peers, ChannelWithoutAThreadIsAnError) {
  const ClusterSpec cluster = ClusterSpec::parse(R"({"ps": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"]})").value();
  Peers peers(cluster, {"worker", 0}, {});
  {
    Peers others(cluster, {"worker", 0}, {});
    EXPECT_TRUE(others.channel({"ps", 0}).ok());  // gRPC has its own threads now
    const NoThreads none;
    const auto refused = peers.channel({"ps", 0});
    EXPECT_EQ(refused.status().id(), "ARG-THREAD-001") << refused.status().to_string();
    EXPECT_TRUE(others.channel({"ps", 0}).ok()) << "it is there";
  }
  EXPECT_TRUE(peers.channel({"ps", 0}).ok()) << "once there are threads again";
  EXPECT_EQ(peers.channel({"ps", 1}).status().id(), "ARG-CLUSTER-010");
}

}  // namespace
}  // namespace argosy::tf
