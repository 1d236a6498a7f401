// RpcChannel: the client's side of GrpcTransport: unary calls to another server, with a literal path and raw bytes.
//
// It has one connection, made by the first call and again after it was lost.
// * A call fails at once with UNAVAILABLE if the server is not there.
// * If the last call failed so, the next one first tries to connect anew, for at most kFreshAttempt. So it finds a
//   server that has started in the meantime.
// * Every call has a deadline or can be cancelled, so a silent server blocks nobody for ever.
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

// A server's response. Movable; readers of it, and views into it, are valid until it is moved or destroyed.
class RpcResponse {
 public:
  class Bytes;  // the response in gRPC's memory
  explicit RpcResponse(std::shared_ptr<const Bytes> bytes) : bytes_(std::move(bytes)) {}
  WireReader reader() const;

 private:
  std::shared_ptr<const Bytes> bytes_;
};

struct RpcChannelOptions {
  std::string address;                    // "host:port"
  std::string peer;                       // for messages: "/job:ps/replica:0/task:0"
  std::string cert_pem, key_pem, ca_pem;  // all or none: our certificate and key, and the CA of the server's
};

// True if a call ended because its connection was lost or could not be made. A server may answer UNAVAILABLE, too, and
// gRPC does not say which it was: this goes by the sentences of its transport.
bool is_connection_error(const Status& status);

// A handle of a running call. Destroying it does not end the call.
class RpcClientCall {
 public:
  virtual ~RpcClientCall() = default;
  virtual void cancel() = 0;  // the call ends soon with CANCELLED, unless it has ended
};

class RpcChannel {
 public:
  // Called once, on the thread that all channels share: it must not block for long.
  using Done = std::function<void(Result<RpcResponse>)>;
  static constexpr std::chrono::milliseconds kFreshAttempt{500};

  explicit RpcChannel(RpcChannelOptions options);
  ~RpcChannel();  // running calls continue
  RpcChannel(const RpcChannel&) = delete;
  RpcChannel& operator=(const RpcChannel&) = delete;

  const RpcChannelOptions& options() const { return options_; }

  // Starts a call. `timeout` zero: no deadline; it ends with its answer, the loss of the connection, or cancel().
  std::shared_ptr<RpcClientCall> start(const std::string& path, std::vector<WirePiece> request,
                                       std::chrono::milliseconds timeout, Done done);
  // Makes a call and waits for the answer. Returns the status of `cancellation` if it is cancelled before. It may be
  // null; then `timeout` must be above zero.
  Result<RpcResponse> call(const std::string& path, std::vector<WirePiece> request, std::chrono::milliseconds timeout,
                           Cancellation* cancellation = nullptr);

 private:
  class Impl;
  const RpcChannelOptions options_;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
