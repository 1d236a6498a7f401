// GrpcCall: one unary call on raw bytes, from waiting for it to its end. Internal to grpc_transport.cc.
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
#include "argosy/rpc/wire/pollers.h"

namespace argosy::tf {

// Unary methods by literal path, requests and responses as gRPC holds them.
class RawService final : public grpc::Service {
 public:
  explicit RawService(std::span<const std::string> paths);  // borrowed
  void wait_for_call(int method, grpc::ServerContext& context, grpc::ByteBuffer& request,
                     grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>& writer, grpc::ServerCompletionQueue& queue,
                     void* tag);
};

class GrpcCall;

// A tag in gRPC's queue: a call, and the event that it waits for.
struct GrpcEvent {
  enum Kind : std::uint8_t { kArrived, kOver, kSent };
  GrpcCall* call;
  Kind kind;
};

// The transport, as its calls use it. It outlives them.
class GrpcCallHandler {
 public:
  virtual ~GrpcCallHandler() = default;
  // Waits for the next call of this method. Called before the work of the current call, which may block for ever.
  virtual void wait_for_next(int method) = 0;
  virtual grpc::Status serve(int method, WireReader request, CallContext& context,
                             std::vector<WirePiece>& response) = 0;
  // The status and message that are sent for a reply.
  virtual grpc::Status sent_for(RpcReply reply, std::vector<WirePiece>& response) = 0;
  // The connection of a peer, as gRPC calls it, perhaps one that is over; null: it is not known.
  virtual std::shared_ptr<GatedConnection> connection(const std::string& peer) = 0;
  // Around each call that has come, until its answer is on its way. False: the server stops, nothing may be sent.
  virtual bool enter() = 0;
  virtual void leave() = 0;
};

class GrpcCall final : public CallContext {
 public:
  // Waits for a call of this method; deletes itself when that is over.
  static void wait(RawService& service, int method, grpc::ServerCompletionQueue& queue, GrpcCallHandler& handler);

  // `pollers`: whose thread this is; null where nobody serves calls.
  void on(GrpcEvent::Kind kind, bool ok, Pollers* pollers);

  Cancellation& cancellation() override { return cancellation_; }
  void expect_duration(std::int64_t typical_nanos) override;
  void give_up(RpcReply reply) override;
  std::shared_ptr<OpenCall> keep_open() override;
  std::shared_ptr<const ClientLink> client() override;

 private:
  class Kept;
  GrpcCall(int method, GrpcCallHandler& handler) : method_(method), handler_(handler) {}
  void arrived();
  void answer(const grpc::Status& status, std::vector<WirePiece> response);
  void release();

  const int method_;
  GrpcCallHandler& handler_;
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> writer_{&context_};
  GrpcEvent arrived_{this, GrpcEvent::kArrived}, over_{this, GrpcEvent::kOver}, sent_{this, GrpcEvent::kSent};
  std::atomic<int> pending_{3};  // once it has arrived: the thread that serves it, two events to come
  std::atomic<bool> answered_{false};
  bool kept_ = false;  // the handler's thread alone: an OpenCall answers
  Cancellation cancellation_;
  Pollers* pollers_ = nullptr;
};

}  // namespace argosy::tf
