#include "argosy/cluster/network/host_port.h"

#include <gtest/gtest.h>

#include "argosy/cluster/network/own_interface.h"
#include "argosy/rpc/gate/listening_socket.h"

namespace argosy {
namespace {

using Addresses = std::vector<std::string>;

TEST(HostPort, ReadsWhatItWrites) {
  for (const char* text : {"gpu-a:2222", "10.0.0.1:0", "[fd00::1]:65535"}) {
    const auto parsed = HostPort::parse(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(parsed->to_string(), text);
  }
}

TEST(HostPort, RefusesOthers) {
  for (const char* text :
       {"", "a", ":1", "a:", "a:x", "a:65536", "a:-1", "fd00::1:2", "[a:1", "[]:1", "a b:1", "a/b:1"}) {
    EXPECT_EQ(HostPort::parse(text).status().id(), "ARG-CLUSTER-030") << text;
  }
}

TEST(HostPort, ConnectionSaysWhatTheNetworkSays) {
  const auto listener = tf::listening_socket("127.0.0.1", 0);
  ASSERT_TRUE(listener.ok());
  const auto local = try_connection("127.0.0.1", tf::port_of(listener->get()), std::chrono::milliseconds(1000));
  ASSERT_TRUE(local.ok()) << local.status().to_string();
  EXPECT_EQ(local->local_address, "127.0.0.1");
  EXPECT_EQ(try_connection("127.0.0.1", 1, std::chrono::milliseconds(1000)).status().message(), "connection refused");
}

TEST(HostPort, ResolvesNames) {
  ASSERT_TRUE(resolve("127.0.1.3").ok());
  EXPECT_EQ(resolve("127.0.1.3")->front(), "127.0.1.3");
  const Status unknown = resolve("no-such-host.invalid").status();
  EXPECT_EQ(unknown.id(), "ARG-CLUSTER-047");
  EXPECT_TRUE(is_own_address("127.0.1.3"));
  EXPECT_FALSE(is_own_address("192.0.2.1"));  // of documentation, on no host
}

TEST(OwnInterface, AddressesOfNamedNetworksComeFirst) {
  const Addresses two = {"172.17.0.1", "10.0.0.1"};
  EXPECT_EQ(order_addresses("gpu-a", two, {"10.0.0.0/8"}), (Addresses{"10.0.0.1", "172.17.0.1"}));
  EXPECT_EQ(order_addresses("gpu-a", two, {"10.0.0.0/8", "172.16.0.0/12"}), two);
  EXPECT_EQ(order_addresses("gpu-a", two, {"192.168.0.0/16"}), two);
  EXPECT_EQ(order_addresses("gpu-a", two, {"no network"}), two);
}

// Task 0 on a host whose /etc/hosts has "127.0.1.1 gpu-a" listened where no other host came to.
TEST(OwnInterface, OwnNameOnLoopbackIsTheAddressThatOthersReach) {
  const auto own = own_address_in({"0.0.0.0/0"});
  if (!own.ok()) GTEST_SKIP() << "this machine has no address beyond loopback";
  const Addresses network = {*own + "/32"};
  EXPECT_EQ(order_addresses("gpu-a", {"127.0.1.1"}, network), (Addresses{*own, "127.0.1.1"}));
  EXPECT_EQ(order_addresses("gpu-a", {"127.0.1.1", *own}, network), (Addresses{*own, "127.0.1.1"}));
  EXPECT_EQ(order_addresses("gpu-a", {"127.0.1.1"}, {"192.0.2.99/32"}), Addresses{"127.0.1.1"});
  for (const char* host : {"localhost", "127.0.1.1"}) {  // who writes it means it
    EXPECT_EQ(order_addresses(host, {"127.0.1.1"}, network), Addresses{"127.0.1.1"});
  }
}

}  // namespace
}  // namespace argosy
