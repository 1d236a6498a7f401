#include "argosy/rpc/gate/tls_gate.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/mutex.h"
#include "argosy/base/str.h"
#include "argosy/rpc/gate/descriptor.h"
#include "argosy/rpc/gate/tls_hello.h"

namespace argosy::tf {

namespace {

constexpr std::int64_t kLongestNanos = 10'000'000'000;
constexpr int kLookMillis = 250;

}  // namespace

class TlsGate::Impl {
 public:
  explicit Impl(std::function<void(int socket)> take) : take_(std::move(take)), poll_(::epoll_create1(EPOLL_CLOEXEC)) {}
  ~Impl() {
    stopping_.store(true);
    if (thread_.joinable()) thread_.join();
    for (const auto& [socket, since] : waiting_) drop(socket);
  }

  Status start() {
    if (poll_.get() < 0) return resource_exhausted("no descriptor to wait with: ", std::strerror(errno));
    return guarded([&] {
      bytes_.resize(kMostHelloBytes);
      thread_ = std::thread([this] { work(); });
      return ok_status();
    });
  }

  void look_at(int socket) {
    // Edge-triggered: epoll reports new bytes once. Level-triggered, a message in pieces would wake the thread forever.
    epoll_event event{.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data = {.fd = socket}};
    const Status noted = guarded([&] {
      MutexLock lock(mutex_);
      waiting_[socket] = now_nanos();
      return ok_status();
    });
    if (noted.ok() && ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, socket, &event) == 0) return;
    {
      MutexLock lock(mutex_);
      waiting_.erase(socket);
    }
    drop(socket);
  }

 private:
  static void drop(int socket) {
    (void)::shutdown(socket, SHUT_RDWR);
    ::close(socket);
  }

  void work() {
    std::array<epoll_event, 64> events;
    while (!stopping_.load()) {
      const int n = ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), kLookMillis);
      for (int i = 0; i < n; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        const int socket = event.data.fd;
        const ssize_t got = ::recv(socket, bytes_.data(), bytes_.size(), MSG_PEEK | MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        TlsHello said = got > 0 ? parse_client_hello({bytes_.data(), static_cast<std::size_t>(got)}) : TlsHello::kOther;
        const bool ended = (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
        if (said == TlsHello::kIncomplete && ended) said = TlsHello::kOther;
        if (said != TlsHello::kIncomplete) decide(socket, said == TlsHello::kSpeaks13);
      }
      const std::int64_t now = now_nanos();
      MutexLock lock(mutex_);
      std::erase_if(waiting_, [&](const auto& entry) {
        if (now - entry.second < kLongestNanos) return false;
        drop(entry.first);
        return true;
      });
    }
  }

  void decide(int socket, bool good) {
    {
      MutexLock lock(mutex_);
      waiting_.erase(socket);
    }
    (void)::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, socket, nullptr);
    if (good) {
      contained("the hand-over of a TLS connection", [&] { take_(socket); });
    } else {
      drop(socket);
    }
  }

  const std::function<void(int socket)> take_;
  const Descriptor poll_;
  std::atomic<bool> stopping_{false};
  std::vector<char> bytes_;  // the thread reads first messages into it
  std::thread thread_;
  Mutex mutex_;
  std::map<int, std::int64_t> waiting_ ARGOSY_GUARDED_BY(mutex_);  // since when
};

TlsGate::TlsGate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsGate::~TlsGate() = default;
Result<std::unique_ptr<TlsGate>> TlsGate::start(std::function<void(int socket)> take) {
  auto impl = std::make_unique<Impl>(std::move(take));
  ARGOSY_RETURN_IF_ERROR(impl->start());
  return std::unique_ptr<TlsGate>(new TlsGate(std::move(impl)));
}
void TlsGate::look_at(int socket) { impl_->look_at(socket); }

}  // namespace argosy::tf
