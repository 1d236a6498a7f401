// Exceptions on the threads of AcceptGate and Relay cost one connection, not the process.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <new>
#include <string>

#include "argosy/base/threads/test_no_threads.h"
#include "argosy/rpc/gate/accept_gate.h"
#include "argosy/rpc/gate/descriptor.h"
#include "argosy/rpc/gate/relay.h"

namespace argosy::tf {
namespace {

bool ends(const Descriptor& socket) {
  pollfd one{.fd = socket.get(), .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, 5000) == 1;
}

Descriptor connect_to(int port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) socket.reset();
  return socket;
}

TEST(AcceptGate, SurvivesAnExceptionOfTheHandOver) {
  auto gate = AcceptGate::listen({.host = "127.0.0.1"});
  ASSERT_TRUE(gate.ok()) << gate.status().to_string();
  std::atomic<int> taken{0};
  (*gate)->open([&](int socket, const AcceptGate::Arrival&) {
    const Descriptor owned(socket);
    ++taken;
    (void)::shutdown(socket, SHUT_RDWR);
    if (taken == 1) throw std::bad_alloc();
  });
  for (int i = 0; i < 2; ++i) {
    const Descriptor client = connect_to((*gate)->port());
    ASSERT_GE(client.get(), 0);
    EXPECT_TRUE(ends(client)) << "client " << i;
  }
  EXPECT_EQ(taken, 2);
  (*gate)->close();
}

TEST(Relay, SurvivesAnExceptionOfItsReport) {
  std::atomic<int> cut{0};
  auto relay = Relay::start({.unfinished_of_peer = 1 << 20,
                             .unfinished_in_all = 1 << 20,
                             .on_cut = [&](const std::string&, std::string_view) {
                               if (cut++ == 0) throw std::bad_alloc();
                             }});
  ASSERT_TRUE(relay.ok());
  for (int i = 0; i < 2; ++i) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    const Descriptor client(pair[0]);
    const auto inner = (*relay)->take(pair[1], {}, "a peer");
    ASSERT_TRUE(inner.ok());
    const Descriptor server(*inner);
    const std::string text = "this is no HTTP/2 connection, and never will be one\r\n\r\n";
    ASSERT_EQ(::send(client.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    EXPECT_TRUE(ends(client)) << "client " << i;
  }
  EXPECT_EQ(cut, 2);
}

TEST(Relay, SaysSoWhereNoThreadCanBeStarted) {
  const NoThreads none;
  EXPECT_EQ(Relay::start({}).status().id(), "ARG-THREAD-001");
}

}  // namespace
}  // namespace argosy::tf
