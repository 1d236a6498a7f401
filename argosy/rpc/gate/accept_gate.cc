#include "argosy/rpc/gate/accept_gate.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/log.h"
#include "argosy/base/mutex.h"
#include "argosy/base/str.h"
#include "argosy/rpc/gate/descriptor.h"
#include "argosy/rpc/gate/listening_socket.h"
#include "argosy/rpc/gate/socket_owner.h"

namespace argosy::tf {

namespace {

constexpr int kMostConnections = 4096;
constexpr int kOtherDescriptors = 256;  // for files, devices and gRPC itself
constexpr std::int64_t kStarvedMillis = 50;
constexpr std::int64_t kLogNanos = 60'000'000'000;
constexpr std::int64_t kFirstPenaltyNanos = 1'000'000'000, kLongestPenaltyNanos = 60'000'000'000;
constexpr std::int64_t kForgottenNanos = 600'000'000'000;
constexpr std::size_t kMostPunished = 10'000;
constexpr uid_t kRoot = 0;
constexpr uid_t kNobodyKnows = static_cast<uid_t>(-1);

Descriptor spare() { return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

int by_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMostConnections;
  // A stranger's connection takes four: its own, a copy to watch it, two between relay and gRPC.
  const auto left = (static_cast<std::int64_t>(limit.rlim_cur) - kOtherDescriptors) / 4;
  return static_cast<int>(std::clamp<std::int64_t>(left, 8, kMostConnections));
}

// The key that a limit of one peer counts by: a user of this machine, an IPv4 host, an IPv6 network of 2^64 addresses.
std::string address_key(const PeerAddress& peer) {
  if (peer.family == AF_INET) return peer.to_string();
  PeerAddress network = peer;
  std::fill(network.bytes.begin() + 8, network.bytes.end(), 0);
  return str_cat(network.to_string(), "/64");
}

std::string peer_key(const PeerAddress& peer, uid_t user) {
  return user != kNobodyKnows ? str_cat("user ", user) : address_key(peer);
}

bool ours(uid_t user) { return user == ::geteuid() || user == kRoot; }

}  // namespace

std::string http2_refusal(std::string_view reason) {
  constexpr std::string_view kSettings("\0\0\0\x04\0\0\0\0\0", 9);
  constexpr std::string_view kGoAway("\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0b", 14);  // last stream 0, ENHANCE_YOUR_CALM
  reason = reason.substr(0, 200);
  return str_cat(kSettings, std::string_view("\0\0", 2), std::string(1, static_cast<char>(8 + reason.size())), kGoAway,
                 reason);
}

class AcceptGate::Impl {
 public:
  explicit Impl(Options options) : options_(std::move(options)) {}
  ~Impl() { close(); }

  Status listen() {
    GateRules& rules = options_.rules;
    if (rules.own_user_only) ARGOSY_RETURN_IF_ERROR(check_owners());
    if (rules.most <= 0) rules.most = by_descriptors();
    if (rules.most_of_peer <= 0) rules.most_of_peer = std::max(1, rules.most / 2);
    ARGOSY_ASSIGN_OR_RETURN(listener_, listening_socket(options_.host, options_.port));
    port_ = port_of(listener_.get());
    spare_ = spare();
    poll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    stop_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (spare_.get() < 0 || !watch(listener_.get(), EPOLLIN) || !watch(stop_.get(), EPOLLIN)) {
      return resource_exhausted("no descriptors to listen with: ", std::strerror(errno)).with_id("ARG-RPC-005");
    }
    return ok_status();
  }

  void open(Take take) {
    take_ = std::move(take);
    thread_ = std::thread([this] { work(); });
  }

  void close() {
    stopping_.store(true);
    const std::uint64_t one = 1;
    if (stop_.get() >= 0) (void)!::write(stop_.get(), &one, sizeof one);
    if (thread_.joinable()) thread_.join();
    listener_.reset();
  }

  int port() const { return port_; }
  Counts counts() const {
    MutexLock lock(mutex_);
    Counts now = counts_;
    now.open = static_cast<int>(open_.size());
    return now;
  }
  void punish(const std::string& key, std::string_view why) {
    {
      MutexLock lock(mutex_);
      if (punished_.size() >= kMostPunished) punished_.clear();
      Penalty& penalty = punished_[key];
      penalty.nanos = std::clamp(2 * penalty.nanos, kFirstPenaltyNanos, kLongestPenaltyNanos);
      penalty.until = now_nanos() + penalty.nanos;
    }
    count(&Counts::punished, str_cat("a connection of ", key, " was cut: ", why));
  }
  std::shared_ptr<GatedConnection> find(const PeerAddress& peer) const {
    {
      MutexLock lock(mutex_);
      if (const auto found = open_.find(peer); found != open_.end()) return found->second.connection;
    }
    auto gone = std::make_shared<GatedConnection>();
    gone->gone_at_.store(now_nanos(), std::memory_order_release);
    return gone;
  }

 private:
  struct Entry {
    std::shared_ptr<GatedConnection> connection;
    Descriptor watched;  // a second one of the socket: that the first is closed by others does no harm
    std::string key;
  };
  using Open = std::map<PeerAddress, Entry>;
  struct Penalty {
    std::int64_t nanos = 0, until = 0;
  };

  bool watch(int descriptor, std::uint32_t events) const {
    epoll_event event{.events = events, .data = {.fd = descriptor}};
    return ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
  }

  void work() {
    std::array<epoll_event, 64> events;
    while (!stopping_.load()) {
      // Starved of descriptors, it does not spin at a queue that cannot be emptied.
      const int n = ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < n; ++i) {
        const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
        if (descriptor == listener_.get()) {
          contained("new connections", [this] { accept_some(); });
        } else if (descriptor != stop_.get()) {
          ended(descriptor);
        }
      }
    }
  }

  void accept_some() {
    for (int i = 0; i < 64 && !stopping_.load(); ++i) {
      sockaddr_storage from{};
      socklen_t bytes = sizeof from;
      Descriptor socket(
          ::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from), &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket.get() < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
          refuse_one();
          continue;
        }
        if (errno == EAGAIN) return;
        continue;  // it was gone before it was accepted
      }
      if (const auto peer = to_address(reinterpret_cast<const sockaddr*>(&from))) judge(std::move(socket), *peer);
    }
  }

  // Without a free descriptor the queue would never get shorter: the spare one accepts and refuses one connection.
  void refuse_one() {
    spare_.reset();
    Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.get() >= 0) {
      refuse(std::move(socket), "this server has no descriptor left");
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(kStarvedMillis));
    }
    spare_ = spare();
    count(&Counts::no_descriptor, "descriptors have run out: connections are refused until some are free");
  }

  void judge(Descriptor socket, const PeerAddress& peer) {
    const GateRules& rules = options_.rules;
    const std::string address = peer.to_string();
    // A network of the list counts as other hosts, also if it is on loopback.
    const bool named = rules.filter && rules.networks.names(peer);
    if (rules.filter && !named && !peer.loopback()) {
      refuse(std::move(socket), str_cat("clients at ", address, " are not let in without a certificate"));
      return count(&Counts::shut_out,
                   str_cat("a client at ", address, " was not let in: --insecure-tf-clients ", address));
    }
    uid_t user = kNobodyKnows;
    if (peer.loopback() && !named && !rules.certificates) {
      const auto owner = owner_of_peer(socket.get());
      if (owner.ok()) user = *owner;
      if (rules.own_user_only && !ours(user)) {
        refuse(std::move(socket), "this server is another user's; --any-local-user would let you in");
        return count(&Counts::shut_out, owner.ok()
                                            ? str_cat("user ", user, " was not let in: --any-local-user")
                                            : str_cat("a local client was not let in: ", owner.status().message()));
      }
    }
    const bool stranger = !rules.certificates && !ours(user);
    std::string key = named ? address_key(peer) : peer_key(peer, user);
    if (in_disgrace(key)) {
      refuse(std::move(socket), "your last connection had to be cut; wait");
      return count(&Counts::punished, str_cat("connections of ", key, " are refused for a while"));
    }
    if (const std::string full = over_limit(key); !full.empty()) {
      refuse(std::move(socket), full);
      return count(&Counts::over_limit, str_cat("a connection of ", key, " was refused: ", full));
    }
    Descriptor watched(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
    if (watched.get() < 0) {
      refuse(std::move(socket), "this server has no descriptor left");
      return count(&Counts::no_descriptor, "descriptors have run out: connections are refused until some are free");
    }
    const int id = watched.get();
    {
      MutexLock lock(mutex_);
      // A peer's port is taken again only once its connection is over, perhaps before its end was seen here.
      if (const auto before = open_.find(peer); before != open_.end()) forget(before);
      note_open(id, peer, {std::make_shared<GatedConnection>(), std::move(watched), key});
    }
    // What is thrown there must not keep the connection from being watched.
    contained("the hand-over of a connection", [&] { take_(socket.release(), {peer, std::move(key), stranger}); });
    if (!watch(id, EPOLLRDHUP | EPOLLHUP | EPOLLET)) ended(id);
  }

  // All or nothing: an allocation that fails must not leave a connection counted for ever.
  void note_open(int descriptor, const PeerAddress& peer, Entry entry) ARGOSY_REQUIRES(mutex_) {
    const std::string key = entry.key;
    const auto noted = open_.emplace(peer, std::move(entry)).first;
    try {
      by_descriptor_[descriptor] = peer;
      ++by_key_[key];
    } catch (...) {
      by_descriptor_.erase(descriptor);
      open_.erase(noted);
      throw;
    }
    ++counts_.let_in;
  }

  bool in_disgrace(const std::string& key) {
    MutexLock lock(mutex_);
    const auto found = punished_.find(key);
    if (found == punished_.end()) return false;
    const std::int64_t now = now_nanos();
    if (now < found->second.until) return true;
    if (now > found->second.until + kForgottenNanos) punished_.erase(found);
    return false;
  }

  std::string over_limit(const std::string& key) const {
    const GateRules& rules = options_.rules;
    MutexLock lock(mutex_);
    const auto of_peer = by_key_.find(key);
    const bool all = static_cast<int>(open_.size()) >= rules.most;
    if (!all && (of_peer == by_key_.end() || of_peer->second < rules.most_of_peer)) return "";
    return str_cat("there are ", all ? rules.most : rules.most_of_peer, " connections ",
                   all ? "in all" : "of this peer", ", as many as this server takes");
  }

  void ended(int descriptor) {
    MutexLock lock(mutex_);
    const auto found = by_descriptor_.find(descriptor);
    if (found != by_descriptor_.end()) forget(open_.find(found->second));
  }

  void forget(Open::iterator entry) ARGOSY_REQUIRES(mutex_) {
    if (const auto of_peer = by_key_.find(entry->second.key); --of_peer->second == 0) by_key_.erase(of_peer);
    const int watched = entry->second.watched.get();
    by_descriptor_.erase(watched);
    (void)::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, watched, nullptr);
    entry->second.connection->gone_at_.store(now_nanos(), std::memory_order_release);
    open_.erase(entry);
  }

  void refuse(Descriptor socket, std::string_view reason) const {
    if (options_.refusal == nullptr) return;
    const std::string text = options_.refusal(reason);
    (void)::send(socket.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)::shutdown(socket.get(), SHUT_WR);
  }

  void count(std::int64_t Counts::*what, const std::string& log) {
    const std::int64_t now = now_nanos();
    {
      MutexLock lock(mutex_);
      ++(counts_.*what);
      if (now < next_log_) return;
      next_log_ = now + kLogNanos;
    }
    ARGOSY_LOG(kWarning, log);
  }

  Options options_;
  Take take_;
  Descriptor listener_, poll_, stop_, spare_;
  int port_ = 0;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
  mutable Mutex mutex_;
  Counts counts_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t next_log_ ARGOSY_GUARDED_BY(mutex_) = 0;
  Open open_ ARGOSY_GUARDED_BY(mutex_);
  std::map<int, PeerAddress> by_descriptor_ ARGOSY_GUARDED_BY(mutex_);
  std::map<std::string, int> by_key_ ARGOSY_GUARDED_BY(mutex_);
  std::map<std::string, Penalty> punished_ ARGOSY_GUARDED_BY(mutex_);
};

AcceptGate::AcceptGate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AcceptGate::~AcceptGate() = default;
Result<std::unique_ptr<AcceptGate>> AcceptGate::listen(const Options& options) {
  auto impl = std::make_unique<Impl>(options);
  ARGOSY_RETURN_IF_ERROR(impl->listen());
  return std::unique_ptr<AcceptGate>(new AcceptGate(std::move(impl)));
}
void AcceptGate::open(Take take) { impl_->open(std::move(take)); }
void AcceptGate::close() { impl_->close(); }
void AcceptGate::punish(const std::string& key, std::string_view why) { impl_->punish(key, why); }
int AcceptGate::port() const { return impl_->port(); }
AcceptGate::Counts AcceptGate::counts() const { return impl_->counts(); }
std::shared_ptr<GatedConnection> AcceptGate::find(const PeerAddress& peer) const { return impl_->find(peer); }

}  // namespace argosy::tf
