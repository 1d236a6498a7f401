#include "argosy/tf/server/testing/raw_client.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>

#include <climits>
#include <map>

#include "argosy/rpc/wire/tensor_wire.h"
#include "argosy/rpc/wire/wire_reader.h"
#include "argosy/rpc/wire/wire_writer.h"

namespace argosy::tf {

namespace {
constexpr std::string_view kMaster = "/tensorflow.MasterService/";
constexpr std::string_view kLocal = "localhost:";

// The server listens on 127.0.0.1 alone, whatever "localhost" is on this machine.
std::string numeric_target(const std::string& target) {
  return target.starts_with(kLocal) ? str_cat("127.0.0.1:", target.substr(kLocal.size())) : target;
}
}  // namespace

class RawClient::Impl {
 public:
  Impl(const std::string& target, std::chrono::milliseconds deadline) : deadline_(deadline) {
    grpc::ChannelArguments args;
    args.SetMaxReceiveMessageSize(INT_MAX);
    args.SetMaxSendMessageSize(INT_MAX);
    args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel(numeric_target(target), grpc::InsecureChannelCredentials(), args);
  }

  grpc::Status call(const std::string& path, const grpc::ByteBuffer& request, grpc::ByteBuffer& response,
                    std::chrono::milliseconds timeout) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + (timeout.count() > 0 ? timeout : deadline_));
    const grpc::internal::RpcMethod method(path.c_str(), grpc::internal::RpcMethod::NORMAL_RPC, channel_);
    return grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(channel_.get(), method, &context,
                                                                                 request, &response);
  }

 private:
  const std::chrono::milliseconds deadline_;
  std::shared_ptr<grpc::Channel> channel_;
};

RawClient::RawClient(const std::string& target, std::chrono::milliseconds deadline)
    : impl_(std::make_unique<Impl>(target, deadline)) {}
RawClient::~RawClient() = default;

RawReply RawClient::call(std::string_view path, std::string_view request, std::chrono::milliseconds timeout) {
  const grpc::Slice slice(request.data(), request.size());
  const grpc::ByteBuffer bytes(&slice, 1);
  grpc::ByteBuffer response;
  const grpc::Status status = impl_->call(std::string(path), bytes, response, timeout);
  RawReply reply{.code = status.error_code(), .message = status.error_message()};
  std::vector<grpc::Slice> slices;
  if (status.ok() && response.Dump(&slices).ok()) {
    for (const grpc::Slice& s : slices) reply.bytes.append(reinterpret_cast<const char*>(s.begin()), s.size());
  }
  return reply;
}

RawReply RawClient::master(std::string_view method, std::string_view request, std::chrono::milliseconds timeout) {
  return call(str_cat(kMaster, method), request, timeout);
}

std::int64_t RawClient::repeat(std::string_view path, std::string_view request, int times) {
  const std::string name(path);
  const grpc::Slice slice(request.data(), request.size());
  std::int64_t size = 0;
  for (int i = 0; i < times; ++i) {
    const grpc::ByteBuffer bytes(&slice, 1);
    grpc::ByteBuffer response;
    if (!impl_->call(name, bytes, response, {}).ok()) return -1;
    size = static_cast<std::int64_t>(response.Length());
  }
  return size;
}

// Field numbers here and below: TensorFlow's master.proto.
std::string run_step_request(std::string_view session, const StepCall& call) {
  WireWriter to;
  to.bytes_field(1, session);
  for (const auto& [name, tensor] : call.feeds) {
    auto message = TensorMessage::make(tensor, {});
    ARGOSY_CHECK(message.ok());
    to.begin_bytes(2, WireWriter::field_size(1, name.size()) + WireWriter::field_size(2, message->size()));
    to.bytes_field(1, name);
    to.begin_bytes(2, message->size());
    message->append_to(to);
  }
  for (const std::string& fetch : call.fetches) to.bytes_field(3, fetch);
  for (const std::string& target : call.targets) to.bytes_field(4, target);
  if (!call.options.empty()) to.bytes_field(5, call.options);
  if (!call.partial_run.empty()) to.bytes_field(6, call.partial_run);
  to.varint_field(7, call.errors_in_body ? 1 : 0);
  to.varint_field(8, static_cast<std::uint64_t>(call.request_id));
  return joined(to.take());
}

std::string create_session_request(std::string_view graph_def, std::string_view config) {
  WireWriter to;
  to.bytes_field(1, graph_def);
  if (!config.empty()) to.bytes_field(2, config);
  return joined(to.take());
}

std::string extend_session_request(std::string_view session, std::string_view graph_def, std::int64_t version) {
  WireWriter to;
  to.bytes_field(1, session);
  to.bytes_field(2, graph_def);
  to.varint_field(3, static_cast<std::uint64_t>(version));
  return joined(to.take());
}

const Tensor& StepReply::operator[](std::string_view name) const {
  static const Tensor none;
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return tensor;
  }
  return none;
}

StepReply read_step_reply(const RawReply& reply) {
  StepReply step{.code = reply.code, .message = reply.message};
  const std::string_view pieces[] = {reply.bytes};
  WireReader in(pieces);
  WireScratch scratch;
  for (WireField f; in.next(f);) {
    if (f.number == 1 && f.is_bytes()) {
      WireReader named = in.message(f);
      std::string name;
      Tensor tensor;
      for (WireField n; named.next(n);) {
        if (n.number == 1) {
          name = named.text(n, scratch);
        } else {
          auto value = read_tensor(named.message(n), {});
          if (value.ok()) tensor = *std::move(value);
        }
      }
      step.tensors.emplace_back(std::move(name), std::move(tensor));
    } else if (f.number == 2) {
      step.metadata = in.text(f, scratch);
    } else if (f.number == 4) {
      step.message = in.text(f, scratch);
    } else {
      if (f.number == 3) step.code = static_cast<int>(f.value);
      in.skip(f);
    }
  }
  return step;
}

std::string RawClient::create(std::string_view graph_def, std::string_view config, RawReply* reply) {
  const RawReply got = master("CreateSession", create_session_request(graph_def, config));
  if (reply != nullptr) *reply = got;
  const std::string_view pieces[] = {got.bytes};
  WireReader in(pieces);
  WireScratch scratch;
  std::string handle;
  for (WireField f; in.next(f);) {
    if (f.number == 1 && f.is_bytes()) {
      handle = in.text(f, scratch);
    } else {
      in.skip(f);
    }
  }
  return handle;
}

StepReply RawClient::run(std::string_view session, const StepCall& call, std::chrono::milliseconds timeout) {
  return read_step_reply(master("RunStep", run_step_request(session, call), timeout));
}

RawReply RawClient::close(std::string_view session) {
  WireWriter to;
  to.bytes_field(1, session);
  return master("CloseSession", joined(to.take()));
}

}  // namespace argosy::tf
