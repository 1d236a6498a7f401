#include "argosy/rpc/gate/relay.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <thread>
#include <unordered_map>
#include <vector>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/mutex.h"
#include "argosy/base/str.h"
#include "argosy/rpc/gate/descriptor.h"
#include "argosy/rpc/gate/http2_guard.h"

namespace argosy::tf {

namespace {

constexpr std::size_t kPiece = 128 << 10;  // read at once, and what may wait for the other side
constexpr int kInnerBuffer = 1 << 20;
constexpr int kLookMillis = 1000;
constexpr std::int64_t kLastWordsNanos = 10'000'000'000;
constexpr std::string_view kAbstract = "unix-abstract:";

// One direction: bytes that were read and not yet written.
struct Flow {
  std::string waiting;
  std::size_t written = 0;  // of it
  bool ended = false;       // nothing more comes
  bool passed = false;      // … and the other side knows
};

struct Connection {
  Descriptor client, server;
  std::string name, key;
  std::unique_ptr<Http2Guard> guard;
  Flow up, down;
  std::int64_t server_ended = 0;
  std::uint32_t client_events = 0, server_events = 0;  // that epoll knows of
};

}  // namespace

class Relay::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)), in_all_(std::make_shared<UnfinishedBytes>(options_.unfinished_in_all)) {}

  ~Impl() {
    stopping_.store(true);
    wake();
    if (thread_.joinable()) thread_.join();
  }

  Status start() {
    poll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    wake_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    epoll_event event{.events = EPOLLIN, .data = {.fd = wake_.get()}};
    if (::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) return none_left();
    return guarded([&] {
      thread_ = std::thread([this] { work(); });
      return ok_status();
    });
  }

  Result<int> take(int socket, const PeerAddress& peer, const std::string& key) {
    Descriptor client(socket);
    auto c = std::make_unique<Connection>();
    c->client = std::move(client);
    c->key = key;
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
      (void)::shutdown(socket, SHUT_RDWR);
      return none_left();
    }
    c->server = Descriptor(ends[0]);
    Descriptor inner(ends[1]);
    for (const int end : ends) (void)::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kInnerBuffer, sizeof kInnerBuffer);
    // The kernel names our end; gRPC reports that name as the peer.
    sockaddr_un own{};
    own.sun_family = AF_UNIX;
    socklen_t bytes = sizeof own.sun_family;
    if (::bind(ends[0], reinterpret_cast<sockaddr*>(&own), bytes) == 0) {
      bytes = sizeof own;
      if (::getsockname(ends[0], reinterpret_cast<sockaddr*>(&own), &bytes) == 0 &&
          bytes > offsetof(sockaddr_un, sun_path) + 1) {
        c->name.assign(own.sun_path + 1, bytes - offsetof(sockaddr_un, sun_path) - 1);
      }
    }
    {
      MutexLock lock(mutex_);
      auto& of_peer = by_peer_[key];
      auto bytes_of_peer = of_peer.lock();
      if (bytes_of_peer == nullptr) {
        bytes_of_peer = std::make_shared<UnfinishedBytes>(options_.unfinished_of_peer);
        of_peer = bytes_of_peer;
      }
      c->guard = std::make_unique<Http2Guard>(std::move(bytes_of_peer), in_all_, now_nanos());
      behind_[c->name] = peer;
      fresh_.push_back(std::move(c));
    }
    wake();
    return inner.release();
  }

  std::optional<PeerAddress> behind(std::string_view peer) const {
    if (!peer.starts_with(kAbstract)) return std::nullopt;
    MutexLock lock(mutex_);
    const auto found = behind_.find(std::string(peer.substr(kAbstract.size())));
    return found != behind_.end() ? found->second : PeerAddress();
  }

 private:
  static Status none_left() {
    return resource_exhausted("no descriptor is left for a connection: ", std::strerror(errno)).with_id("ARG-RPC-007");
  }

  void wake() const {
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
  }

  void work() {
    std::array<epoll_event, 64> events;
    std::int64_t next_look = now_nanos();
    while (!stopping_.load()) {
      const int n = ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()),
                                 connections_.empty() ? -1 : kLookMillis);
      for (int i = 0; i < n; ++i) {
        const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
        if (descriptor == wake_.get()) {
          contained("new relayed connections", [this] { begin_fresh(); });
        } else if (const auto found = by_descriptor_.find(descriptor); found != by_descriptor_.end()) {
          move(*found->second);
        }
      }
      if (const std::int64_t now = now_nanos(); now >= next_look) {
        contained("the time limits of relayed connections", [&] { look_at_clock(now); });
        next_look = now + kLookMillis * 1'000'000ll;
      }
    }
    while (!connections_.empty()) end(*connections_.begin()->second);
  }

  void begin_fresh() {
    std::uint64_t count = 0;
    (void)!::read(wake_.get(), &count, sizeof count);
    std::vector<std::unique_ptr<Connection>> fresh;
    {
      MutexLock lock(mutex_);
      fresh.swap(fresh_);
    }
    for (std::unique_ptr<Connection>& one : fresh) {
      Connection& c = *one;
      const Status noted = guarded([&] {
        connections_[&c] = nullptr;
        by_descriptor_[c.client.get()] = by_descriptor_[c.server.get()] = &c;
        return ok_status();
      });
      if (noted.ok()) {
        connections_[&c] = std::move(one);
        move(c);
      } else {
        end(c);  // `one` still owns it
      }
    }
  }

  // Passes bytes on; ends the connection when it is over, or when memory runs out.
  void move(Connection& c) {
    bool open = false;
    contained("a relayed connection", [&] { open = advance(c); });
    if (!open) end(c);
  }

  // As much as goes without waiting, but not for ever: others wait, too. False: the connection is over.
  bool advance(Connection& c) {
    const bool up = pass(c.client.get(), c.server.get(), c.up, &c);
    const bool down = up && pass(c.server.get(), c.client.get(), c.down, &c);
    if (!up || !down) return false;
    if (c.down.ended && c.server_ended == 0) c.server_ended = now_nanos();
    if (c.down.ended && c.down.waiting.empty()) return false;
    watch(c.client.get(), c.client_events, c.up, c.down);
    watch(c.server.get(), c.server_events, c.down, c.up);
    return true;
  }

  // False: the connection is over, or cut.
  bool pass(int from, int to, Flow& flow, Connection* c) {
    const bool from_client = &flow == &c->up;
    if (!flow.waiting.empty() && !write(to, flow)) return false;
    if (flow.waiting.empty() && !flow.ended) {
      const ssize_t n = ::recv(from, piece_.data(), piece_.size(), 0);
      if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
      if (n == 0) flow.ended = true;
      if (n > 0) {
        const std::string_view bytes(piece_.data(), static_cast<std::size_t>(n));
        if (!from_client) {
          c->guard->answered(bytes.size());
        } else if (!c->guard->see(bytes, now_nanos())) {
          options_.on_cut(c->key, c->guard->why());
          return false;
        }
        if (!write_from(to, bytes, flow)) return false;
      }
    }
    if (flow.ended && flow.waiting.empty() && !flow.passed) {
      flow.passed = true;
      (void)::shutdown(to, SHUT_WR);
    }
    return true;
  }

  static bool write_from(int to, std::string_view bytes, Flow& flow) {
    const ssize_t n = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
    flow.waiting.assign(bytes.substr(n < 0 ? 0 : static_cast<std::size_t>(n)));
    return true;
  }
  static bool write(int to, Flow& flow) {
    const ssize_t n = ::send(to, flow.waiting.data() + flow.written, flow.waiting.size() - flow.written, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    flow.written += static_cast<std::size_t>(n);
    if (flow.written == flow.waiting.size()) {
      flow.waiting = std::string();  // thousands of connections may have waited once
      flow.written = 0;
    }
    return true;
  }

  // Its input where there is room for it, its output where something waits.
  void watch(int descriptor, std::uint32_t& known, const Flow& in, const Flow& out) const {
    std::uint32_t wanted = 0;
    if (in.waiting.empty() && !in.ended) wanted |= EPOLLIN;
    if (!out.waiting.empty()) wanted |= EPOLLOUT;
    if (wanted == known) return;
    epoll_event event{.events = wanted, .data = {.fd = descriptor}};
    // Without wanted events the descriptor leaves epoll: its hang-up would be reported again and again.
    const int what = known == 0 ? EPOLL_CTL_ADD : wanted == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    (void)::epoll_ctl(poll_.get(), what, descriptor, &event);
    known = wanted;
  }

  void look_at_clock(std::int64_t now) {
    std::vector<Connection*> over;
    for (const auto& [c, owned] : connections_) {
      if (c->server_ended != 0 && now - c->server_ended > kLastWordsNanos) over.push_back(c);
      if (c->guard->in_time(now)) continue;
      options_.on_cut(c->key, c->guard->why());
      over.push_back(c);
    }
    std::sort(over.begin(), over.end());
    over.erase(std::unique(over.begin(), over.end()), over.end());
    for (Connection* const c : over) end(*c);
    MutexLock lock(mutex_);
    std::erase_if(by_peer_, [](const auto& entry) { return entry.second.expired(); });
  }

  void end(Connection& c) {
    (void)::shutdown(c.client.get(), SHUT_RDWR);
    by_descriptor_.erase(c.client.get());
    by_descriptor_.erase(c.server.get());
    {
      MutexLock lock(mutex_);
      behind_.erase(c.name);
    }
    connections_.erase(&c);
  }

  const Options options_;
  const std::shared_ptr<UnfinishedBytes> in_all_;
  Descriptor poll_, wake_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
  // The thread's own.
  std::unordered_map<Connection*, std::unique_ptr<Connection>> connections_;
  std::unordered_map<int, Connection*> by_descriptor_;
  std::vector<char> piece_ = std::vector<char>(kPiece);

  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> fresh_ ARGOSY_GUARDED_BY(mutex_);
  std::map<std::string, std::weak_ptr<UnfinishedBytes>> by_peer_ ARGOSY_GUARDED_BY(mutex_);
  std::unordered_map<std::string, PeerAddress> behind_ ARGOSY_GUARDED_BY(mutex_);
};

Relay::Relay(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Relay::~Relay() = default;
Result<std::unique_ptr<Relay>> Relay::start(Options options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  ARGOSY_RETURN_IF_ERROR(impl->start());
  return std::unique_ptr<Relay>(new Relay(std::move(impl)));
}
Result<int> Relay::take(int socket, const PeerAddress& peer, const std::string& key) {
  return impl_->take(socket, peer, key);
}
std::optional<PeerAddress> Relay::behind(std::string_view grpc_peer) const { return impl_->behind(grpc_peer); }

}  // namespace argosy::tf
