// GrpcCall: one unary call on raw bytes, from the request for a new call to its end. Internal to grpc_transport.cc.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/async_unary_call.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/rpc/gate/accept_gate.h"
#include "argosy/rpc/transport/rpc_method.h"
#include "argosy/rpc/wire/call_threads.h"
#include "argosy/rpc/wire/pollers.h"

namespace argosy::tf {

// A gRPC service of unary methods with literal paths, whose requests and responses are raw ByteBuffers.
class RawService final : public grpc::Service {
 public:
  explicit RawService(std::span<const std::string> paths);  // borrowed
  void wait_for_call(int method, grpc::ServerContext& context, grpc::ByteBuffer& request,
                     grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>& writer, grpc::ServerCompletionQueue& queue,
                     void* tag);
};

class GrpcCall;

// How long the calls of one method take: a moving average. Thread-safe.
class TypicalTime {
 public:
  std::int64_t nanos() const { return nanos_.load(std::memory_order_relaxed); }
  void add(std::int64_t nanos) {
    const std::int64_t before = nanos_.load(std::memory_order_relaxed);
    nanos_.store(before + (nanos - before) / 4, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t> nanos_{0};
};

// A tag in gRPC's completion queue: a call, and the event that the tag stands for.
struct GrpcEvent {
  enum Kind : std::uint8_t { kArrived, kOver, kSent };
  GrpcCall* call;
  Kind kind;
};

// The part of the transport that its calls use. It outlives them.
class GrpcCallHandler {
 public:
  virtual ~GrpcCallHandler() = default;
  // Asks gRPC for the next call of this method. Called before the current call is served, which may block for ever.
  virtual void wait_for_next(int method) = 0;
  virtual grpc::Status serve(int method, WireReader request, CallContext& context,
                             std::vector<WirePiece>& response) = 0;
  // Returns the gRPC status to send for a reply, and moves its message to `response`.
  virtual grpc::Status sent_for(RpcReply reply, std::vector<WirePiece>& response) = 0;
  virtual TypicalTime& typical_time(int method) = 0;
  // The threads of calls that take long.
  virtual CallThreads& call_threads() = 0;
  // Returns the connection of a peer, by gRPC's name for it; it may be closed. Null: the peer is not known.
  virtual std::shared_ptr<GatedConnection> connection(const std::string& peer) = 0;
  // Called around each call that has arrived, until its answer has been passed to gRPC. False: the server is stopping;
  // nothing may be sent.
  virtual bool enter() = 0;
  virtual void leave() = 0;
};

class GrpcCall final : public CallContext {
 public:
  // Asks gRPC for a call of this method. The GrpcCall deletes itself when that call has ended.
  static void wait(RawService& service, int method, grpc::ServerCompletionQueue& queue, GrpcCallHandler& handler);

  // Handles an event of this call. `pollers`: the thread is one of theirs; null: calls are not served any more.
  void on(GrpcEvent::Kind kind, bool ok, Pollers* pollers);

  Cancellation& cancellation() override { return cancellation_; }
  void expect_duration(std::int64_t typical_nanos) override;
  void reply_early(RpcReply reply) override;
  std::shared_ptr<DeferredReply> defer_reply() override;
  std::shared_ptr<const ClientLink> client() override;

 private:
  class Kept;
  GrpcCall(int method, GrpcCallHandler& handler) : method_(method), handler_(handler) {}
  void arrived();
  void serve();
  void answer(const grpc::Status& status, std::vector<WirePiece> response);
  void release();

  const int method_;
  GrpcCallHandler& handler_;
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> writer_{&context_};
  GrpcEvent arrived_{this, GrpcEvent::kArrived}, over_{this, GrpcEvent::kOver}, sent_{this, GrpcEvent::kSent};
  std::atomic<int> pending_{3};  // references of an arrived call: the serving thread, and the events kOver and kSent
  std::atomic<bool> answered_{false};
  bool kept_ = false;  // defer_reply() was called; used by the handler's thread only
  Cancellation cancellation_;
  Pollers* pollers_ = nullptr;  // null: on a thread of its own
};

}  // namespace argosy::tf
