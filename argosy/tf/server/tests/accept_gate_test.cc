// Issue 31: every user of the machine could use a server on loopback, hosts that are shut out were read to the end of
// their messages, and after descriptors had run out once nobody was let in any more.
#include "argosy/rpc/gate/accept_gate.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "argosy/rpc/gate/descriptor.h"
#include "argosy/rpc/gate/socket_owner.h"
#include "argosy/tf/server/tests/server_test.h"

namespace argosy::tf {
namespace {

using std::chrono::milliseconds;
constexpr uid_t kOther = 65534;

Descriptor connect_to(int port, const char* from = "127.0.0.1") {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{}, to{};
  own.sin_family = to.sin_family = AF_INET;
  inet_pton(AF_INET, from, &own.sin_addr);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&own), sizeof own) != 0 ||
      ::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
    socket.reset();
  }
  return socket;
}

// What the other side says before it closes, or "open" where it does not.
std::string said(const Descriptor& socket) {
  std::string text;
  for (;;) {
    pollfd one{.fd = socket.get(), .events = POLLIN, .revents = 0};
    if (::poll(&one, 1, 300) == 0) return "open";
    char part[1000];
    const ssize_t n = ::recv(socket.get(), part, sizeof part, 0);
    if (n <= 0) return text;
    text.append(part, static_cast<std::size_t>(n));
  }
}

// `ask` in a process of another user; its exit code. -1: only root can do that.
int as_other_user(const std::function<int()>& ask) {
  if (::geteuid() != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::setuid(kOther) == 0 ? ask() : 99);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

class AcceptGateTest : public testing::Test {
 protected:
  void open(const GateRules& rules = {}) {
    auto gate = AcceptGate::listen({.host = "127.0.0.1", .rules = rules, .refusal = http2_refusal});
    ASSERT_TRUE(gate.ok()) << gate.status().to_string();
    gate_ = *std::move(gate);
    gate_->open([this](int socket, const AcceptGate::Arrival& from) {
      MutexLock lock(mutex_);
      sockets_.emplace_back(socket);
      arrivals_.push_back(from);
    });
  }
  void TearDown() override {
    if (gate_ != nullptr) gate_->close();
  }
  std::vector<AcceptGate::Arrival> arrivals() {
    MutexLock lock(mutex_);
    return arrivals_;
  }
  void close_all() {
    MutexLock lock(mutex_);
    for (const Descriptor& socket : sockets_) ::shutdown(socket.get(), SHUT_RDWR);
    sockets_.clear();
  }
  bool soon(const std::function<bool()>& what) {
    for (int i = 0; i < 500 && !what(); ++i) std::this_thread::sleep_for(milliseconds(10));
    return what();
  }

  std::unique_ptr<AcceptGate> gate_;
  Mutex mutex_;
  std::vector<Descriptor> sockets_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<AcceptGate::Arrival> arrivals_ ARGOSY_GUARDED_BY(mutex_);
};

TEST_F(AcceptGateTest, OurOwnUserIsLetInAndMissedWhenGone) {
  open();
  Descriptor client = connect_to(gate_->port());
  EXPECT_EQ(said(client), "open");
  ASSERT_EQ(arrivals().size(), 1u);
  const AcceptGate::Arrival from = arrivals()[0];
  EXPECT_FALSE(from.stranger);
  EXPECT_EQ(from.key, str_cat("user ", ::geteuid()));
  const auto connection = gate_->find(from.peer);
  ASSERT_NE(connection, nullptr);
  EXPECT_EQ(connection->gone_at(), 0);
  client.reset();
  EXPECT_TRUE(soon([&] { return connection->gone_at() != 0; }));
  EXPECT_GT(gate_->find(from.peer)->gone_at(), 0) << "whoever asks later is told that it is gone";
  EXPECT_EQ(gate_->counts().open, 0);
}

TEST_F(AcceptGateTest, OtherUsersAreNotLetIn) {
  open();
  const int port = gate_->port();
  const int got = as_other_user([&] {
    const Descriptor client = connect_to(port);
    return said(client).find("another user's") != std::string::npos ? 0 : 1;
  });
  if (got < 0) GTEST_SKIP() << "only root can be another user";
  EXPECT_EQ(got, 0);
  EXPECT_TRUE(arrivals().empty());
  EXPECT_TRUE(soon([&] { return gate_->counts().shut_out == 1; }));
}

// Of a socket that is closed the kernel says it was root's.
TEST_F(AcceptGateTest, WhoClosesBeforeItIsLookedAtIsNobody) {
  auto gate = AcceptGate::listen({.host = "127.0.0.1"});
  ASSERT_TRUE(gate.ok());
  const int got = as_other_user([&] {
    for (int i = 0; i < 20; ++i) {
      const Descriptor client = connect_to((*gate)->port());
      (void)!::write(client.get(), "payload", 7);
    }
    return 0;
  });
  if (got < 0) GTEST_SKIP() << "only root can be another user";
  std::atomic<int> in{0};
  (*gate)->open([&](int socket, const AcceptGate::Arrival&) {
    ++in;
    ::close(socket);
  });
  EXPECT_TRUE(soon([&] { return (*gate)->counts().shut_out == 20; }));
  EXPECT_EQ(in, 0);
}

TEST_F(AcceptGateTest, EveryLocalUserIsLetInWhereThatIsAskedFor) {
  open({.own_user_only = false});
  const int port = gate_->port();
  const int got = as_other_user([&] { return said(connect_to(port)) == "open" ? 0 : 1; });
  if (got < 0) GTEST_SKIP() << "only root can be another user";
  EXPECT_EQ(got, 0);
  ASSERT_EQ(arrivals().size(), 1u);
  EXPECT_TRUE(arrivals()[0].stranger);
  EXPECT_EQ(arrivals()[0].key, "user 65534");
}

TEST_F(AcceptGateTest, NamedNetworksAreOtherHosts) {
  open({.filter = true, .networks = *PeerFilter::parse({"127.0.0.2"})});
  const Descriptor named = connect_to(gate_->port(), "127.0.0.2");
  EXPECT_EQ(said(named), "open");
  const Descriptor own = connect_to(gate_->port(), "127.0.0.3");
  EXPECT_EQ(said(own), "open");
  ASSERT_EQ(arrivals().size(), 2u);
  EXPECT_TRUE(arrivals()[0].stranger);
  EXPECT_EQ(arrivals()[0].key, "127.0.0.2");
  EXPECT_FALSE(arrivals()[1].stranger);
  gate_->punish("127.0.0.2", "test");
  EXPECT_NE(said(connect_to(gate_->port(), "127.0.0.2")).find("had to be cut"), std::string::npos);
  EXPECT_EQ(said(connect_to(gate_->port())), "open") << "others are not punished";
  std::this_thread::sleep_for(milliseconds(1100));
  EXPECT_EQ(said(connect_to(gate_->port(), "127.0.0.2")), "open");
}

TEST_F(AcceptGateTest, ConnectionsAreLimitedInAllAndOfEachPeer) {
  open({.filter = true, .networks = *PeerFilter::parse({"127.0.1.0/24"}), .most = 5, .most_of_peer = 2});
  std::vector<Descriptor> clients;
  const auto add = [&](const char* from) {
    clients.push_back(connect_to(gate_->port(), from));
    return said(clients.back());
  };
  EXPECT_EQ(add("127.0.1.1"), "open");
  EXPECT_EQ(add("127.0.1.1"), "open");
  EXPECT_NE(add("127.0.1.1").find("2 connections of this peer"), std::string::npos);
  EXPECT_EQ(add("127.0.1.2"), "open");
  EXPECT_EQ(add("127.0.1.3"), "open");
  EXPECT_EQ(add("127.0.0.1"), "open");
  EXPECT_NE(add("127.0.1.4").find("5 connections in all"), std::string::npos);
  EXPECT_TRUE(soon([&] { return gate_->counts().over_limit == 2; }));
  clients.clear();
  EXPECT_TRUE(soon([&] { return gate_->counts().open == 0; }));
  EXPECT_EQ(add("127.0.1.1"), "open");
}

TEST_F(AcceptGateTest, LetsInAgainAfterDescriptorsRanOut) {
  open({.most = 1000});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<Descriptor> clients;
  for (int i = 0; i < 20; ++i) clients.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int top = Descriptor(::dup(0)).get();
  const rlimit low{static_cast<rlim_t>(top + 6), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(gate_->port()));
  for (const Descriptor& client : clients) {
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  EXPECT_TRUE(soon([&] { return gate_->counts().no_descriptor > 0; }));
  int refused = 0;
  for (const Descriptor& client : clients) refused += said(client) != "open" ? 1 : 0;
  EXPECT_GE(refused, 10) << "they are told, and do not wait";
  clients.clear();
  close_all();
  EXPECT_TRUE(soon([&] { return gate_->counts().open == 0; }));
  EXPECT_EQ(said(connect_to(gate_->port())), "open");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

class GatedServer : public ServerTest {};

TEST_F(GatedServer, OtherUsersReachNeitherCallsNorPages) {
  start({.http_port = 0});
  const int ports[] = {server_->port(), server_->http_port()};
  for (const int port : ports) {
    const int got = as_other_user([&] {
      const Descriptor client = connect_to(port);
      const std::string text = "GET /statusz HTTP/1.1\r\nHost: localhost\r\n\r\n";
      (void)!::write(client.get(), text.data(), text.size());
      const std::string answer = said(client);
      return answer.find("another user's") != std::string::npos && answer.find("sessions") == std::string::npos ? 0 : 1;
    });
    if (got < 0) GTEST_SKIP() << "only root can be another user";
    EXPECT_EQ(got, 0) << port;
  }
  EXPECT_EQ(create().size(), 16u);
}

// A client of a named network is relayed: it is served as others are.
TEST_F(GatedServer, StrangersAreServedToo) {
  start({.host = "0.0.0.0", .insecure_clients = {"127.0.0.0/8"}, .client_lease = std::chrono::seconds(1)});
  client_ = std::make_unique<RawClient>(str_cat("127.0.0.1:", server_->port()));
  const std::string session = create();
  for (const std::int64_t n : {1, 1000, 100'000, 10'000'000}) {
    const Tensor x = Tensor::zeros(DType::kFloat32, {n});
    const StepReply reply = run(session, {.feeds = {{"x:0", x}}, .fetches = {"y:0"}});
    ASSERT_EQ(reply.code, 0) << n << ": " << reply.message;
    EXPECT_EQ(reply["y:0"].elements(), n);
  }
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(run(session, {.feeds = {{"x:0", Tensor::scalar(2.0f)}}, .fetches = {"y:0"}}).code, 0) << i;
  }
  EXPECT_EQ(server_->num_sessions(), 1);
  client_.reset();
  for (int i = 0; i < 500 && server_->num_sessions() > 0; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(server_->num_sessions(), 0) << "its lease is over";
}

TEST_F(GatedServer, SessionsOfClientsThatAreGoneEndOthersDoNot) {
  start({.client_lease = std::chrono::seconds(1)});
  const std::string stays = create();
  auto other = std::make_unique<RawClient>(str_cat("127.0.0.1:", server_->port()));
  EXPECT_EQ(other->create(simple_graph()).size(), 16u);
  EXPECT_EQ(server_->num_sessions(), 2);
  other.reset();
  for (int i = 0; i < 500 && server_->num_sessions() > 1; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(server_->num_sessions(), 1);
  std::this_thread::sleep_for(milliseconds(2000));
  EXPECT_EQ(run(stays, {.targets = {"nothing"}}).code, 0);
}

}  // namespace
}  // namespace argosy::tf
