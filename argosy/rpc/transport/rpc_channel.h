// RpcChannel: unary calls to another server: a literal path, bytes out and bytes in, as GrpcTransport serves them.
//
// One connection, made by the first call and again after it was lost. Where the server is not there a call fails at once
// with UNAVAILABLE. Where an earlier attempt to connect has failed, a call makes one of its own first, kFreshAttempt at most.
// So a server that has come up in the meantime is found. Every call has a deadline or somebody who may cancel it: a server
// that is silent holds nobody.
// Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/base/threads/cancellation.h"
#include "argosy/rpc/wire/wire_reader.h"
#include "argosy/rpc/wire/wire_writer.h"

namespace argosy::tf {

// What a server answered. Movable; readers and views into it are valid as long as it is where it was.
class RpcResponse {
 public:
  class Bytes;  // in gRPC's memory
  explicit RpcResponse(std::shared_ptr<const Bytes> bytes) : bytes_(std::move(bytes)) {}
  WireReader reader() const;

 private:
  std::shared_ptr<const Bytes> bytes_;
};

struct RpcChannelOptions {
  std::string address;                    // "host:port"
  std::string peer;                       // for messages: "/job:ps/replica:0/task:0"
  std::string cert_pem, key_pem, ca_pem;  // all or none: ours, and who signed the server's
};

// A call under way. Destroying it does not end the call.
class RpcClientCall {
 public:
  virtual ~RpcClientCall() = default;
  virtual void cancel() = 0;  // its end comes soon: CANCELLED, unless it was over already
};

class RpcChannel {
 public:
  // Called once, on a thread of the channels: it must not block for long.
  using Done = std::function<void(Result<RpcResponse>)>;
  static constexpr std::chrono::milliseconds kFreshAttempt{500};

  explicit RpcChannel(RpcChannelOptions options);
  ~RpcChannel();  // calls under way go on
  RpcChannel(const RpcChannel&) = delete;
  RpcChannel& operator=(const RpcChannel&) = delete;

  const RpcChannelOptions& options() const { return options_; }

  // Starts a call. `timeout` zero: it ends by its answer, its connection or cancel().
  std::shared_ptr<RpcClientCall> start(const std::string& path, std::vector<WirePiece> request,
                                       std::chrono::milliseconds timeout, Done done);
  // Waits for the answer. `cancellation` may be null; then `timeout` must be above zero. When it is pulled, the call
  // ends with its reason.
  Result<RpcResponse> call(const std::string& path, std::vector<WirePiece> request, std::chrono::milliseconds timeout,
                           Cancellation* cancellation = nullptr);

 private:
  class Impl;
  const RpcChannelOptions options_;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
