#include "argosy/rpc/gate/tls_gate.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <new>
#include <string>

#include "argosy/base/threads/test_no_threads.h"
#include "argosy/rpc/gate/descriptor.h"

namespace argosy::tf {
namespace {

// The shortest first message of a client that offers TLS 1.3.
std::string client_hello() {
  const std::string body =
      std::string("\x03\x03", 2) + std::string(32, 'r') + std::string("\0\0\x02\x13\x01\x01\0\0\x09", 9);
  const std::string message = body + std::string("\0\x2b\0\x05\x04\x03\x04\x03\x03", 9);
  const std::string all = std::string("\x01\0\0", 3) + static_cast<char>(message.size()) + message;
  return std::string("\x16\x03\x01\0", 4) + static_cast<char>(all.size()) + all;
}

// A client that has sent its first message; the other end is the gate's.
Descriptor client_of(TlsGate& gate) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
  const std::string hello = client_hello();
  EXPECT_EQ(::send(ends[0], hello.data(), hello.size(), 0), static_cast<ssize_t>(hello.size()));
  gate.look_at(ends[1]);
  return Descriptor(ends[0]);
}

TEST(TlsGate, SurvivesAnExceptionOfTheHandOver) {
  std::atomic<int> taken{0};
  auto gate = TlsGate::start([&](int socket) {
    const Descriptor owned(socket);
    if (taken++ == 0) throw std::bad_alloc();
  });
  ASSERT_TRUE(gate.ok());
  for (int i = 0; i < 2; ++i) {
    const Descriptor client = client_of(**gate);
    pollfd ended{.fd = client.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&ended, 1, 5000), 1) << "client " << i << " waits for ever";
  }
  EXPECT_EQ(taken, 2);
}

TEST(TlsGate, SaysSoWhereNoThreadCanBeStarted) {
  const NoThreads none;
  const auto refused = TlsGate::start([](int socket) { const Descriptor owned(socket); });
  EXPECT_EQ(refused.status().id(), "ARG-THREAD-001") << refused.status().to_string();
}

}  // namespace
}  // namespace argosy::tf
