#include "argosy/rpc/transport/grpc_call.h"

#include <utility>

#include "argosy/base/clock.h"
#include "argosy/base/sanitizers.h"
#include "argosy/rpc/transport/rpc_bytes.h"

namespace argosy::tf {

namespace {

// Decoding this much takes longer than waking a thread.
constexpr std::size_t kLargeBytes = 256 << 10;
// Calls of so long get a thread of their own: it costs a wake-up, and the next one finds it warm.
constexpr std::int64_t kOwnThreadNanos = 300'000;

}  // namespace

RawService::RawService(std::span<const std::string> paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    AddMethod(new grpc::internal::RpcServiceMethod(paths[i].c_str(), grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodRaw(static_cast<int>(i));
  }
}

void RawService::wait_for_call(int method, grpc::ServerContext& context, grpc::ByteBuffer& request,
                               grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>& writer,
                               grpc::ServerCompletionQueue& queue, void* tag) {
  RequestAsyncUnary(method, &context, &request, &writer, &queue, &queue, tag);
}

void GrpcCall::wait(RawService& service, int method, grpc::ServerCompletionQueue& queue, GrpcCallHandler& handler) {
  auto* const call = new GrpcCall(method, handler);
  hands_over(&call->arrived_);
  hands_over(&call->over_);
  call->context_.AsyncNotifyWhenDone(&call->over_);
  service.wait_for_call(method, call->context_, call->request_, call->writer_, queue, &call->arrived_);
}

void GrpcCall::on(GrpcEvent::Kind kind, bool ok, Pollers* pollers) {
  switch (kind) {
    case GrpcEvent::kArrived:
      if (!ok || pollers == nullptr) {  // the server stops; the other events never come
        delete this;
        return;
      }
      pollers->begin_work();
      pollers_ = pollers;
      if (handler_.enter()) {
        handler_.wait_for_next(method_);
        arrived();
      } else {
        release();  // for what would have been sent
        release();
      }
      return;
    case GrpcEvent::kOver:
      if (context_.IsCancelled()) cancellation_.cancel(cancelled("the client cancelled the call, or is gone"));
      release();
      return;
    case GrpcEvent::kSent: release(); return;
  }
}

void GrpcCall::release() {
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

void GrpcCall::expect_duration(std::int64_t typical_nanos) {
  if (pollers_ != nullptr) pollers_->expect_duration(typical_nanos);
}
std::shared_ptr<const ClientLink> GrpcCall::client() { return handler_.connection(context_.peer()); }

// Serves the call here, or on a thread of its own where such calls take long.
void GrpcCall::arrived() {
  if (handler_.typical_time(method_).nanos() >= kOwnThreadNanos) {
    Pollers* const pollers = std::exchange(pollers_, nullptr);
    if (handler_.call_threads().run([this] { serve(); })) return;
    pollers_ = pollers;
  }
  serve();
}

void GrpcCall::serve() {
  const std::int64_t begin = now_nanos();
  std::vector<WirePiece> response;
  grpc::Status status;
  try {
    if (request_.Length() >= kLargeBytes) expect_duration(-1);
  } catch (const std::exception&) {  // no other thread for the queue: others wait until this is read
  }
  grpc::Slice single;
  if (request_.Length() == 0) {
    status = handler_.serve(method_, WireReader(), *this, response);
  } else if (request_.TrySingleSlice(&single).ok()) {
    const std::string_view pieces[] = {view_of(single)};
    status = handler_.serve(method_, WireReader(pieces), *this, response);
  } else {
    std::vector<grpc::Slice> slices;
    status = request_.Dump(&slices);
    std::vector<std::string_view> pieces;
    for (const grpc::Slice& slice : slices) pieces.push_back(view_of(slice));
    if (status.ok()) status = handler_.serve(method_, WireReader(pieces), *this, response);
  }
  request_.Clear();
  if (!kept_) answer(status, std::move(response));
  handler_.typical_time(method_).add(now_nanos() - begin);
  release();
}

class GrpcCall::Kept final : public DeferredReply {
 public:
  explicit Kept(GrpcCall& call) : call_(call) {}
  ~Kept() override {
    if (!call_.answered_.load(std::memory_order_acquire)) answer(cancelled("the server dropped the call"));
    call_.release();
  }
  Cancellation& cancellation() override { return call_.cancellation_; }
  void answer(RpcReply reply) override { call_.reply_early(std::move(reply)); }

 private:
  GrpcCall& call_;
};

std::shared_ptr<DeferredReply> GrpcCall::defer_reply() {
  pending_.fetch_add(1, std::memory_order_relaxed);
  kept_ = true;
  return std::make_shared<Kept>(*this);
}

void GrpcCall::reply_early(RpcReply reply) {
  std::vector<WirePiece> response;
  const grpc::Status status = handler_.sent_for(std::move(reply), response);
  answer(status, std::move(response));
}

void GrpcCall::answer(const grpc::Status& status, std::vector<WirePiece> response) {
  if (answered_.exchange(true, std::memory_order_acq_rel)) return;
  hands_over(&sent_);
  if (status.ok()) {
    writer_.Finish(to_buffer(std::move(response)), status, &sent_);
  } else {
    writer_.FinishWithError(status, &sent_);
  }
  handler_.leave();
}

}  // namespace argosy::tf
