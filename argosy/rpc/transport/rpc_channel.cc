#include "argosy/rpc/transport/rpc_channel.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <thread>

#include "argosy/base/mutex.h"
#include "argosy/base/sanitizers.h"
#include "argosy/rpc/transport/rpc_bytes.h"

namespace argosy::tf {

class RpcResponse::Bytes {
 public:
  static Result<RpcResponse> of(const grpc::ByteBuffer& buffer) {
    auto bytes = std::make_shared<Bytes>();
    if (buffer.Valid() && !buffer.Dump(&bytes->slices_).ok()) return internal_error("a response could not be read");
    for (const grpc::Slice& slice : bytes->slices_) bytes->pieces_.push_back(view_of(slice));
    return RpcResponse(std::move(bytes));
  }
  WireReader reader() const { return WireReader(pieces_); }

 private:
  std::vector<grpc::Slice> slices_;
  std::vector<std::string_view> pieces_;
};

WireReader RpcResponse::reader() const { return bytes_->reader(); }

bool is_connection_error(const Status& status) {
  constexpr std::string_view kSentences[] = {"Socket closed",
                                             "failed to connect to all addresses",
                                             "Connection reset by peer",
                                             "Broken pipe",
                                             "Connection refused",
                                             "Connection timed out",
                                             "Endpoint read failed",
                                             "Transport closed",
                                             "GOAWAY received",
                                             "keepalive watchdog timeout"};
  return status.code() == Code::kUnavailable && status.id() == unavailable("").id() &&
         std::ranges::any_of(kSentences, [&](std::string_view s) {
           return std::string_view(status.message()).substr(0, 200).find(s) != std::string_view::npos;
         });
}

namespace {

// gRPC's queue for every channel of the process, and the thread at it. Never destroyed: calls may outlive everything.
class Queue {
 public:
  static Queue& shared() {
    static Queue* const queue = new Queue;
    return *queue;
  }
  grpc::CompletionQueue& queue() { return queue_; }

 private:
  Queue();
  grpc::CompletionQueue queue_;
};

// gRPC's channel. Once an attempt to connect has failed it fails every call until one of its own later attempts succeeds.
class Connection {
 public:
  explicit Connection(std::shared_ptr<grpc::Channel> channel) : channel_(std::move(channel)), stub_(channel_) {}
  grpc::GenericStub& stub() { return stub_; }

  // Where the last attempt has failed: starts another one now, and `tag` comes back once it has succeeded, or after
  // RpcChannel::kFreshAttempt. A call of less time waits for a third of it, and still hears that nobody is there. Else false,
  // and nothing comes back.
  bool attempt_anew(void* tag, std::chrono::system_clock::time_point deadline) {
    if (!failed_.load(std::memory_order_relaxed)) return false;
    if (channel_->GetState(false) != GRPC_CHANNEL_TRANSIENT_FAILURE) return false;
    grpc::experimental::ChannelResetConnectionBackoff(channel_.get());
    const auto now = std::chrono::system_clock::now();
    const auto wait = std::min<std::chrono::system_clock::duration>(RpcChannel::kFreshAttempt, (deadline - now) / 3);
    channel_->NotifyOnStateChange(GRPC_CHANNEL_TRANSIENT_FAILURE, now + wait, &Queue::shared().queue(), tag);
    return true;
  }
  // How a call has ended.
  void heard(const grpc::Status& status) {
    failed_.store(status.error_code() == grpc::StatusCode::UNAVAILABLE, std::memory_order_relaxed);
  }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;
  std::atomic<bool> failed_{false};  // the last call: the state is asked for then alone
};

// A server may answer with any number.
Code code_of(const grpc::Status& status) {
  const auto code = static_cast<std::uint32_t>(status.error_code());
  return code <= static_cast<std::uint32_t>(Code::kUnauthenticated) ? static_cast<Code>(code) : Code::kUnknown;
}

class Call final : public RpcClientCall, public std::enable_shared_from_this<Call> {
 public:
  Call(RpcChannel::Done done, const RpcChannelOptions& options, std::shared_ptr<Connection> to)
      : done_(std::move(done)), peer_(options.peer), address_(options.address), to_(std::move(to)) {}

  void start(const std::string& path, std::vector<WirePiece> request, std::chrono::milliseconds timeout) {
    if (timeout.count() > 0) context_.set_deadline(std::chrono::system_clock::now() + timeout);
    path_ = path;
    request_ = to_buffer(std::move(request));
    self_ = shared_from_this();
    waits_ = true;  // comes_back() may be called on the queue's thread from here on
    hands_over(this);
    if (to_->attempt_anew(this, context_.deadline())) return;
    waits_ = false;
    send();
  }
  void cancel() override { context_.TryCancel(); }

  // What the queue gives back: the fresh attempt to connect, then the answer.
  void comes_back() {
    if (std::exchange(waits_, false)) return send();
    const std::shared_ptr<Call> self = std::exchange(self_, nullptr);
    to_->heard(status_);
    const RpcChannel::Done done = std::exchange(done_, nullptr);
    if (!status_.ok()) {
      const std::string from = peer_.empty() ? address_ : str_cat(peer_, " at ", address_);
      return done(Status(code_of(status_), status_.error_message()).with_where(from));
    }
    done(RpcResponse::Bytes::of(response_));
  }

 private:
  void send() {
    reader_ = to_->stub().PrepareUnaryCall(&context_, path_, request_, &Queue::shared().queue());
    reader_->StartCall();
    hands_over(this);
    reader_->Finish(&response_, &status_, this);
  }

  RpcChannel::Done done_;
  const std::string peer_, address_;
  const std::shared_ptr<Connection> to_;
  grpc::ClientContext context_;
  std::string path_;
  grpc::ByteBuffer request_;
  bool waits_ = false;  // for the fresh attempt
  grpc::ByteBuffer response_;
  grpc::Status status_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader_;
  std::shared_ptr<Call> self_;  // until it is over
};

Queue::Queue() {
  std::thread([this] {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
      takes_over(tag);
      static_cast<Call*>(tag)->comes_back();
    }
  }).detach();
}

grpc::ChannelArguments arguments() {
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(INT_MAX);
  args.SetMaxSendMessageSize(INT_MAX);
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, (16 << 20) - 1);
  args.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 8 << 20);
  // A task that was started again is found soon.
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);  // how long one attempt may take: a busy host answers late
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  return args;
}

// Names may mean several addresses, and "localhost" be ::1 where the server listens at 127.0.0.1.
std::string dialled(const std::string& address) {
  constexpr std::string_view kLocal = "localhost:";
  return address.starts_with(kLocal) ? str_cat("127.0.0.1:", address.substr(kLocal.size())) : address;
}

}  // namespace

class RpcChannel::Impl {
 public:
  explicit Impl(const RpcChannelOptions& options) {
    std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
    if (!options.cert_pem.empty()) {
      credentials = grpc::SslCredentials(
          {.pem_root_certs = options.ca_pem, .pem_private_key = options.key_pem, .pem_cert_chain = options.cert_pem});
    }
    connection_ =
        std::make_shared<Connection>(grpc::CreateCustomChannel(dialled(options.address), credentials, arguments()));
  }
  const std::shared_ptr<Connection>& connection() const { return connection_; }

 private:
  std::shared_ptr<Connection> connection_;
};

RpcChannel::RpcChannel(RpcChannelOptions options)
    : options_(std::move(options)), impl_(std::make_unique<Impl>(options_)) {}
RpcChannel::~RpcChannel() = default;

std::shared_ptr<RpcClientCall> RpcChannel::start(const std::string& path, std::vector<WirePiece> request,
                                                 std::chrono::milliseconds timeout, Done done) {
  auto call = std::make_shared<Call>(std::move(done), options_, impl_->connection());
  call->start(path, std::move(request), timeout);
  return call;
}

Result<RpcResponse> RpcChannel::call(const std::string& path, std::vector<WirePiece> request,
                                     std::chrono::milliseconds timeout, Cancellation* cancellation) {
  ARGOSY_CHECK(cancellation != nullptr || timeout.count() > 0);
  struct Answer {
    Mutex mutex;
    CondVar changed;
    std::optional<Result<RpcResponse>> response ARGOSY_GUARDED_BY(mutex);
  };
  const auto answer = std::make_shared<Answer>();
  const auto call = start(path, std::move(request), timeout, [answer](Result<RpcResponse> response) {
    MutexLock lock(answer->mutex);
    answer->response = std::move(response);
    answer->changed.notify_all();
  });
  Cancellation::Token token = 0;
  const bool watched = cancellation != nullptr && cancellation->add([call] { call->cancel(); }, &token);
  if (cancellation != nullptr && !watched) call->cancel();
  Result<RpcResponse> response = [&] {
    MutexLock lock(answer->mutex);
    while (!answer->response) answer->changed.wait(answer->mutex);
    return *std::move(answer->response);
  }();
  if (watched) cancellation->remove(token);
  if (!response.ok() && cancellation != nullptr && cancellation->cancelled()) return cancellation->status();
  return response;
}

}  // namespace argosy::tf
