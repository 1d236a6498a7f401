#include "argosy/tf/session/http_status.h"

#include <httplib.h>

#include <chrono>
#include <thread>

namespace argosy::tf {

class HttpStatus::Impl {
 public:
  ~Impl() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Status start(const std::string& host, int port, Page metrics, Page statusz) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(2); };
    server_.set_keep_alive_max_count(100);
    server_.set_read_timeout(5, 0);
    server_.set_write_timeout(5, 0);
    server_.set_payload_max_length(1 << 16);
    // Not to be shared with another server, as the library would.
    server_.set_socket_options([](socket_t) {});
    server_.Get("/metrics", [metrics](const httplib::Request&, httplib::Response& to) {
      to.set_content(metrics(), "text/plain; version=0.0.4; charset=utf-8");
    });
    server_.Get("/statusz", [statusz](const httplib::Request&, httplib::Response& to) {
      to.set_content(statusz(), "text/plain; charset=utf-8");
    });
    server_.Get("/healthz",
                [](const httplib::Request&, httplib::Response& to) { to.set_content("ok\n", "text/plain"); });
    port_ = port == 0 ? server_.bind_to_any_port(host) : server_.bind_to_port(host, port) ? port : -1;
    if (port_ <= 0) {
      return unavailable("cannot listen at http://", host, ":", port,
                         ": the port is taken, or the address is none of "
                         "this machine's")
          .with_id("ARG-RPC-005")
          .with_next("another --http-port, or 0 for any free one");
    }
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    // Before it runs it could not be stopped.
    while (!server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ok_status();
  }

  int port() const { return port_; }

 private:
  httplib::Server server_;
  std::thread thread_;
  int port_ = -1;
};

HttpStatus::HttpStatus(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpStatus::~HttpStatus() = default;
int HttpStatus::port() const { return impl_->port(); }

Result<std::unique_ptr<HttpStatus>> HttpStatus::start(const std::string& host, int port, Page metrics, Page statusz) {
  auto impl = std::make_unique<Impl>();
  ARGOSY_RETURN_IF_ERROR(impl->start(host, port, std::move(metrics), std::move(statusz)));
  return std::unique_ptr<HttpStatus>(new HttpStatus(std::move(impl)));
}

}  // namespace argosy::tf
