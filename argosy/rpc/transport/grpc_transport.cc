#include "argosy/rpc/transport/grpc_transport.h"

#include <absl/synchronization/mutex.h>
#include <grpcpp/security/server_credentials.h>

#include <climits>

#include "argosy/base/guard.h"
#include "argosy/base/sanitizers.h"
#include "argosy/base/utf8.h"
#include "argosy/rpc/gate/relay.h"
#include "argosy/rpc/gate/tls_gate.h"
#include "argosy/rpc/transport/grpc_call.h"

namespace argosy::tf {

namespace {

constexpr const char* kHealthCheckPath = "/grpc.health.v1.Health/Check";
constexpr int kWaitingHealthChecks = 2;

// The paths of the methods, then that of the health check.
std::vector<std::string> paths_of(const std::vector<RpcMethod>& methods) {
  std::vector<std::string> paths;
  for (const RpcMethod& method : methods) paths.push_back(method.path);
  paths.emplace_back(kHealthCheckPath);
  return paths;
}

void tune(grpc::ServerBuilder& builder, const std::string& host) {
  builder.SetMaxReceiveMessageSize(INT_MAX);
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // two servers at one port would share its clients
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 4096);
  // Tensors come in large frames.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, (16 << 20) - 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 8 << 20);
  // A client whose machine is gone says nothing: ask it. On this machine the kernel ends connections of processes that are
  // gone. One that does not answer may be stopped, by ^Z or a debugger, or be the end of a tunnel whose other end is gone.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, is_loopback(host) ? 3'600'000 : 10'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
}

}  // namespace

class GrpcTransport::Impl final : public GrpcCallHandler {
 public:
  Impl(std::vector<RpcMethod> methods, GrpcTransportOptions options)
      : methods_(std::move(methods)), options_(std::move(options)) {}

  // Also of one that could not be started to its end.
  ~Impl() override { stop(std::chrono::milliseconds(0)); }

  Status start() {
    // Abseil without NDEBUG (Debian's) looks for cycles among gRPC's locks at each of them: under one lock, in a graph
    // that keeps some 400 bytes of every connection. The mode is the process's.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    grpc::ServerBuilder builder;
    std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
    if (!options_.cert_pem.empty()) {
      grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
      tls.pem_root_certs = options_.client_ca_pem;
      tls.pem_key_cert_pairs.push_back({options_.key_pem, options_.cert_pem});
      credentials = grpc::SslServerCredentials(tls);
    }
    ARGOSY_ASSIGN_OR_RETURN(gate_,
                            AcceptGate::listen({.host = options_.host,
                                                .port = options_.port,
                                                .rules = options_.rules,
                                                .refusal = options_.cert_pem.empty() ? http2_refusal : nullptr}));
    ARGOSY_ASSIGN_OR_RETURN(
        relay_,
        Relay::start({.unfinished_of_peer = options_.unfinished_of_peer,
                      .unfinished_in_all = 2 * options_.unfinished_of_peer,
                      .on_cut = [this](const std::string& key, std::string_view why) { gate_->punish(key, why); }}));
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
    tune(builder, options_.host);
    builder.RegisterService(&raw_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      queue_->Shutdown();
      void* tag = nullptr;
      bool ok = false;
      while (queue_->Next(&tag, &ok)) {
      }
      return unavailable("gRPC does not start: the certificate or its key is damaged, or they do not belong together")
          .with_id("ARG-RPC-005");
    }
    for (int method = 0; method <= health_check(); ++method) {
      const int waiting = method == health_check() ? kWaitingHealthChecks : methods_[method].waiting;
      for (int i = 0; i < waiting; ++i) GrpcCall::wait(raw_, method, *queue_, *this);
    }
    pollers_ = std::make_unique<Pollers>([this](Pollers& pollers) {
      void* tag = nullptr;
      bool ok = false;
      if (!queue_->Next(&tag, &ok)) return false;
      takes_over(tag);
      const GrpcEvent& event = *static_cast<GrpcEvent*>(tag);
      event.call->on(event.kind, ok, &pollers);
      return true;
    });
    if (!options_.cert_pem.empty()) {
      ARGOSY_ASSIGN_OR_RETURN(tls_, TlsGate::start([this](int socket) { hand_over(socket); }));
    }
    gate_->open([this](int socket, const AcceptGate::Arrival& from) {
      if (tls_ != nullptr) return tls_->look_at(socket);
      if (!from.stranger) return hand_over(socket);
      const auto inner = relay_->take(socket, from.peer, from.key);
      if (inner.ok()) hand_over(*inner);
    });
    return ok_status();
  }

  void stop(std::chrono::milliseconds grace) {
    if (server_ == nullptr) return;
    gate_->close();
    tls_.reset();
    server_->Shutdown(std::chrono::system_clock::now() + grace);
    {
      // Nothing may be put into a queue that is shut down.
      MutexLock lock(mutex_);
      stopping_ = true;
      while (serving_ > 0) idle_.wait(mutex_);
    }
    queue_->Shutdown();
    if (pollers_ != nullptr) {
      call_threads_.reset();
      pollers_->join();
      pollers_.reset();
    } else {  // there was no thread to serve with, and nobody was let in
      void* tag = nullptr;
      bool ok = false;
      while (queue_->Next(&tag, &ok)) {
        takes_over(tag);
        const GrpcEvent& event = *static_cast<GrpcEvent*>(tag);
        event.call->on(event.kind, ok, nullptr);
      }
    }
    server_.reset();
  }

  int port() const { return gate_->port(); }
  AcceptGate::Counts connections() const { return gate_->counts(); }
  int threads() const { return pollers_ != nullptr ? pollers_->threads() + call_threads_->threads() : 0; }

  void wait_for_next(int method) override { GrpcCall::wait(raw_, method, *queue_, *this); }
  TypicalTime& typical_time(int method) override { return typical_times_[static_cast<std::size_t>(method)]; }
  CallThreads& call_threads() override { return *call_threads_; }
  std::shared_ptr<GatedConnection> connection(const std::string& peer) override {
    auto address = parse_peer(peer);
    if (!address) address = relay_->behind(peer);
    return address ? gate_->find(*address) : nullptr;
  }
  bool enter() override {
    MutexLock lock(mutex_);
    if (stopping_) return false;
    ++serving_;
    return true;
  }
  void leave() override {
    MutexLock lock(mutex_);
    if (--serving_ == 0 && stopping_) idle_.notify_all();
  }

  grpc::Status serve(int method, WireReader request, CallContext& context, std::vector<WirePiece>& response) override {
    if (method == health_check()) {
      response.resize(1);
      response[0].bytes = "\x08\x01";  // HealthCheckResponse{status: SERVING}
      return grpc::Status::OK;
    }
    return sent_for(methods_[method].handler(request, context), response);
  }
  grpc::Status sent_for(RpcReply reply, std::vector<WirePiece>& response) override {
    if (!reply.ok()) return to_grpc(reply.status());
    response = *std::move(reply);
    if (options_.on_response) {
      std::size_t bytes = 0;
      for (const WirePiece& piece : response) bytes += piece.view().size();
      options_.on_response(bytes);
    }
    return grpc::Status::OK;
  }

 private:
  int health_check() const { return static_cast<int>(methods_.size()); }  // its number, behind the methods

  grpc::Status to_grpc(const Status& status) const {
    std::string text = options_.error_text ? options_.error_text(status) : std::string(status.message());
    // Python's clients are told "No message returned for unary request" in place of a text that is no UTF-8.
    return grpc::Status(static_cast<grpc::StatusCode>(status.code()), escape_non_utf8(std::move(text)));
  }

  void hand_over(int socket) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = socket;
    acceptor_->HandleNewConnection(&connection);
  }

  const std::vector<RpcMethod> methods_;
  const GrpcTransportOptions options_;
  const std::vector<std::string> paths_ = paths_of(methods_);  // gRPC borrows them
  std::vector<TypicalTime> typical_times_{methods_.size() + 1};
  RawService raw_{paths_};
  std::unique_ptr<AcceptGate> gate_;
  std::unique_ptr<Relay> relay_;  // tells the gate
  std::unique_ptr<TlsGate> tls_;  // null: no certificates
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Pollers> pollers_;
  std::unique_ptr<CallThreads> call_threads_ = std::make_unique<CallThreads>();
  Mutex mutex_;
  CondVar idle_;
  bool stopping_ ARGOSY_GUARDED_BY(mutex_) = false;
  int serving_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

GrpcTransport::GrpcTransport(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GrpcTransport::~GrpcTransport() { stop(std::chrono::milliseconds(0)); }

Result<std::unique_ptr<GrpcTransport>> GrpcTransport::start(std::vector<RpcMethod> methods,
                                                            GrpcTransportOptions options) {
  return guarded([&]() -> Result<std::unique_ptr<GrpcTransport>> {
    auto impl = std::make_unique<Impl>(std::move(methods), std::move(options));
    ARGOSY_RETURN_IF_ERROR(impl->start());
    return std::unique_ptr<GrpcTransport>(new GrpcTransport(std::move(impl)));
  });
}

int GrpcTransport::port() const { return impl_->port(); }
AcceptGate::Counts GrpcTransport::connections() const { return impl_->connections(); }
int GrpcTransport::threads() const { return impl_->threads(); }
void GrpcTransport::stop(std::chrono::milliseconds grace) { impl_->stop(grace); }

}  // namespace argosy::tf
