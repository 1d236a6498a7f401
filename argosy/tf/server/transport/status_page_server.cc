#include "argosy/tf/server/transport/status_page_server.h"

#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <thread>

#include "argosy/base/guard.h"
#include "argosy/base/mutex.h"
#include "argosy/rpc/gate/descriptor.h"

namespace argosy::tf {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kConnectionDeadline{2};
constexpr int kThreads = 2, kMaxQueued = 64;

// A connection that ends kConnectionDeadline after it was accepted, however slowly its bytes come.
class DeadlineStream final : public httplib::Stream {
 public:
  DeadlineStream(Descriptor socket, PeerAddress peer)
      : socket_(std::move(socket)), peer_(peer), end_(Clock::now() + kConnectionDeadline) {}
  ~DeadlineStream() override { (void)::shutdown(socket_.get(), SHUT_RDWR); }
  bool is_readable() const override { return ready(POLLIN); }
  bool is_writable() const override { return ready(POLLOUT); }
  ssize_t read(char* to, size_t bytes) override { return ready(POLLIN) ? ::recv(socket_.get(), to, bytes, 0) : -1; }
  ssize_t write(const char* from, size_t bytes) override {
    return ready(POLLOUT) ? ::send(socket_.get(), from, bytes, MSG_NOSIGNAL) : -1;
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip = peer_.to_string();
    port = peer_.port;
  }
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_.get(); }

 private:
  bool ready(short events) const {
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
      pollfd one{.fd = socket_.get(), .events = events, .revents = 0};
      const int n = left <= 0 ? 0 : ::poll(&one, 1, static_cast<int>(left));
      if (n < 0 && errno == EINTR) continue;
      return n > 0;
    }
  }
  const Descriptor socket_;
  const PeerAddress peer_;
  const Clock::time_point end_;
};

// Parses and answers by httplib, but does not listen by it: its listener blocks one thread for each slow client.
class PageHandler final : public httplib::Server {
 public:
  void answer(DeadlineStream& stream) {
    bool closed = false;
    (void)process_request(stream, true, closed, nullptr);
  }
};

}  // namespace

class StatusPageServer::Impl {
 public:
  ~Impl() {
    if (gate_ != nullptr) gate_->close();
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
  }

  Status start(const std::string& host, int port, const GateRules& rules, Page metrics, Page statusz) {
    pages_.set_payload_max_length(1 << 16);
    pages_.Get("/metrics", [metrics](const httplib::Request&, httplib::Response& to) {
      to.set_content(metrics(), "text/plain; version=0.0.4; charset=utf-8");
    });
    pages_.Get("/statusz", [statusz](const httplib::Request&, httplib::Response& to) {
      to.set_content(statusz(), "text/plain; charset=utf-8");
    });
    pages_.Get("/healthz",
               [](const httplib::Request&, httplib::Response& to) { to.set_content("ok\n", "text/plain"); });
    auto gate = AcceptGate::listen({.host = host, .port = port, .rules = rules, .refusal = refusal});
    if (!gate.ok()) {
      Status status = std::move(gate).status();
      return status.id() == "ARG-RPC-005" ? std::move(status).with_hint("another --http-port, or 0 for any free one")
                                          : status;
    }
    gate_ = *std::move(gate);
    for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { work(); });
    gate_->open([this](int socket, const AcceptGate::Arrival& from) { take(Descriptor(socket), from.peer); });
    return ok_status();
  }

  int port() const { return gate_->port(); }

 private:
  // On the gate's thread. Closes the connection when too many wait, or when memory runs out.
  void take(Descriptor socket, const PeerAddress& peer) {
    const Status taken = guarded([&] {
      auto stream = std::make_unique<DeadlineStream>(std::move(socket), peer);
      MutexLock lock(mutex_);
      if (waiting_.size() >= kMaxQueued) return ok_status();
      waiting_.push_back(std::move(stream));
      changed_.notify_one();
      return ok_status();
    });
    // No stream took the socket. Closing alone would leave the connection open: the gate watches a duplicate.
    if (!taken.ok() && socket.get() >= 0) (void)::shutdown(socket.get(), SHUT_RDWR);
  }

  static std::string refusal(std::string_view reason) {
    return str_cat("HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ",
                   reason.size() + 1, "\r\n\r\n", reason, "\n");
  }

  void work() {
    for (;;) {
      std::unique_ptr<DeadlineStream> next;
      {
        MutexLock lock(mutex_);
        while (waiting_.empty() && !stopping_) changed_.wait(mutex_);
        if (stopping_) return;
        next = std::move(waiting_.front());
        waiting_.pop_front();
      }
      contained("an HTTP request", [&] {
        const CheckScope scope;  // a check that fails here fails this request alone
        pages_.answer(*next);
      });
    }
  }

  PageHandler pages_;
  std::unique_ptr<AcceptGate> gate_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::unique_ptr<DeadlineStream>> waiting_ ARGOSY_GUARDED_BY(mutex_);
  bool stopping_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

StatusPageServer::StatusPageServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StatusPageServer::~StatusPageServer() = default;
int StatusPageServer::port() const { return impl_->port(); }

Result<std::unique_ptr<StatusPageServer>> StatusPageServer::start(const std::string& host, int port,
                                                                  const GateRules& rules, Page metrics, Page statusz) {
  return guarded([&]() -> Result<std::unique_ptr<StatusPageServer>> {
    auto impl = std::make_unique<Impl>();
    ARGOSY_RETURN_IF_ERROR(impl->start(host, port, rules, std::move(metrics), std::move(statusz)));
    return std::unique_ptr<StatusPageServer>(new StatusPageServer(std::move(impl)));
  });
}

}  // namespace argosy::tf
