#include "argosy/rpc/transport/unary_channel.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <climits>
#include <future>

#include "argosy/base/threads/cancel_link.h"

namespace argosy::tf {

namespace {

std::shared_ptr<grpc::Channel> open_channel(const std::string& address, const UnaryChannelOptions& options) {
  grpc::ChannelArguments arguments;
  // A proxy of the environment is for the web, not for a neighbour.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, INT_MAX);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(options.connect_timeout.count()));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  if (options.cert_pem.empty()) return CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = options.ca_pem;
  tls.pem_private_key = options.key_pem;
  tls.pem_cert_chain = options.cert_pem;
  return CreateCustomChannel(address, grpc::SslCredentials(tls), arguments);
}

}  // namespace

class UnaryChannel::Impl {
 public:
  Impl(const std::string& address, const UnaryChannelOptions& options)
      : address_(address), stub_(open_channel(address, options)) {}

  Result<std::string> call(const std::string& path, std::string_view request, std::chrono::milliseconds timeout,
                           Cancellation* cancellation) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    const grpc::Slice slice(request.data(), request.size());
    const grpc::ByteBuffer bytes(&slice, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    std::future<grpc::Status> ended = done.get_future();
    CancelLink link(cancellation, [&context] { context.TryCancel(); });
    if (link.too_late()) return cancellation->status();
    stub_.UnaryCall(&context, path, {}, &bytes, &response,
                    [&done](grpc::Status status) { done.set_value(std::move(status)); });
    const grpc::Status status = ended.get();
    link.end();
    if (!status.ok()) {
      return Status(static_cast<Code>(status.error_code()), status.error_message()).with_where(address_);
    }
    std::string answer;
    std::vector<grpc::Slice> slices;
    if (!response.Dump(&slices).ok()) return internal_error("a response that cannot be read");
    for (const grpc::Slice& part : slices) answer.append(reinterpret_cast<const char*>(part.begin()), part.size());
    return answer;
  }

 private:
  const std::string address_;
  grpc::GenericStub stub_;
};

UnaryChannel::UnaryChannel(const std::string& address, const UnaryChannelOptions& options)
    : impl_(std::make_unique<Impl>(address, options)) {}
UnaryChannel::~UnaryChannel() = default;

Result<std::string> UnaryChannel::call(const std::string& path, std::string_view request,
                                       std::chrono::milliseconds timeout, Cancellation* cancellation) {
  return impl_->call(path, request, timeout, cancellation);
}

}  // namespace argosy::tf
