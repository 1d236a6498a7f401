// Channels to the tasks of a cluster. A slow link is no lost task, a silent task is one. Where the system has no thread
// left, the caller gets an error.
#include "argosy/tf/worker/peers/peers.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/threads/test_no_threads.h"
#include "argosy/rpc/transport/grpc_transport.h"

namespace argosy::tf {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A link to a port of this machine. What comes from there arrives at so many bytes a second on each connection.
class SlowLink {
 public:
  SlowLink(int to, std::int64_t bytes_a_second) : to_(to), rate_(bytes_a_second), listens_(open()) {
    sockaddr_in address = loopback(0);
    EXPECT_EQ(bind(listens_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listens_, 16), 0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(getsockname(listens_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    accepts_ = std::thread([this] { accept_all(); });
  }
  ~SlowLink() {
    silent_ = false;
    (void)shutdown(listens_, SHUT_RDWR);
    accepts_.join();
    for (const int socket : sockets_) (void)shutdown(socket, SHUT_RDWR);
    for (std::thread& pump : pumps_) pump.join();
    for (const int socket : sockets_) (void)close(socket);
    (void)close(listens_);
  }
  int port() const { return port_; }
  void fall_silent() { silent_ = true; }  // connections stay open, and nothing arrives

 private:
  static int open() { return socket(AF_INET, SOCK_STREAM, 0); }
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }
  void accept_all() {
    for (int here; (here = accept(listens_, nullptr, nullptr)) >= 0;) {
      const int there = open();
      const sockaddr_in address = loopback(to_);
      if (connect(there, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {  // the server has ended
        (void)close(here);
        (void)close(there);
        continue;
      }
      sockets_.insert(sockets_.end(), {here, there});
      pumps_.emplace_back([this, here, there] { pump(here, there, 0); });
      pumps_.emplace_back([this, here, there] { pump(there, here, rate_); });
    }
  }
  void pump(int from, int to, std::int64_t rate) {
    std::string bytes(32 << 10, '\0');
    for (ssize_t n; (n = recv(from, bytes.data(), bytes.size(), 0)) > 0;) {
      while (silent_) std::this_thread::sleep_for(10ms);
      if (send(to, bytes.data(), static_cast<std::size_t>(n), MSG_NOSIGNAL) != n) break;
      if (rate > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(n * 1'000'000'000 / rate));
    }
    (void)shutdown(to, SHUT_RDWR);
  }

  const int to_;
  const std::int64_t rate_;
  const int listens_;
  int port_ = 0;
  std::atomic<bool> silent_{false};
  std::thread accepts_;
  std::vector<int> sockets_;  // of accepts_, until it has ended
  std::vector<std::thread> pumps_;
};

class PeerChannelTest : public testing::Test {
 protected:
  void start(std::int64_t bytes_a_second) {
    const auto bytes = [](std::size_t n) {
      std::vector<WirePiece> pieces(1);
      pieces[0].bytes.assign(n, 'x');
      return pieces;
    };
    auto transport = GrpcTransport::start(
        {{"/tensorflow.WorkerService/GetStatus", [=](WireReader, CallContext&) -> RpcReply { return bytes(1); }},
         {"/a/Large", [=](WireReader, CallContext&) -> RpcReply { return bytes(kLarge); }}},
        {.host = "127.0.0.1"});
    ASSERT_TRUE(transport.ok()) << transport.status().to_string();
    transport_ = *std::move(transport);
    link_ = std::make_unique<SlowLink>(transport_->port(), bytes_a_second);
    channel_ = std::make_shared<PeerChannel>(
        RpcChannelOptions{.address = str_cat("127.0.0.1:", link_->port()), .peer = "/job:ps/replica:0/task:0"});
  }
  // A call of kLarge bytes. Its task is looked at each second.
  Status large() {
    std::promise<Status> ended;
    (void)channel_->start("/a/Large", {}, [&](Result<RpcResponse> response) {
      EXPECT_TRUE(!response.ok() || response->reader().remaining() == kLarge);
      ended.set_value(Status(response.status()));
    });
    std::future<Status> status = ended.get_future();
    while (status.wait_for(1s) != std::future_status::ready) channel_->look();
    return status.get();
  }

  static constexpr std::size_t kLarge = 24 << 20;
  std::unique_ptr<GrpcTransport> transport_;
  std::unique_ptr<SlowLink> link_;
  std::shared_ptr<PeerChannel> channel_;
};

// It was "no answer for 3000 ms": the answer to GetStatus lay behind the value.
TEST_F(PeerChannelTest, AValueThatTakesLongIsNoLostTask) {
  start(3 << 20);
  EXPECT_TRUE(large().ok());
}

TEST_F(PeerChannelTest, ASilentTaskIsLost) {
  start(3 << 20);
  const std::int64_t start = now_nanos();
  std::jthread silence([this] {
    std::this_thread::sleep_for(500ms);
    link_->fall_silent();
  });
  const Status lost = large();
  EXPECT_EQ(lost.id(), "ARG-CLUSTER-017") << lost.to_string();
  EXPECT_THAT(lost.message(), HasSubstr("/job:ps/replica:0/task:0 at 127.0.0.1:"));
  EXPECT_LT(seconds_since(start), 9);
}

TEST_F(PeerChannelTest, AClosedConnectionNamesTheTask) {
  start(3 << 20);
  std::jthread end([this] {
    std::this_thread::sleep_for(500ms);
    transport_->stop(0ms);
    link_.reset();
  });
  const std::int64_t start = now_nanos();
  std::promise<Status> ended;
  (void)channel_->start("/a/Large", {}, [&](Result<RpcResponse> response) { ended.set_value(response.status()); });
  const Status lost = ended.get_future().get();  // nobody looks: the connection's end tells
  EXPECT_LT(seconds_since(start), 5);
  EXPECT_EQ(lost.id(), "ARG-CLUSTER-017") << lost.to_string();
  EXPECT_THAT(lost.message(), HasSubstr("/job:ps/replica:0/task:0 at 127.0.0.1:"));
  EXPECT_THAT(lost.hint(), HasSubstr("start that task again"));
}

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
