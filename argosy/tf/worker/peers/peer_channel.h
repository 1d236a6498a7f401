// PeerChannel: calls to another task that may last as long as a step. It detects a silent task: while such a call is
// running, it calls GetStatus each second. If there is no answer for three seconds, all calls to the task end with
// UNAVAILABLE. (A closed connection ends them at once.) Thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "argosy/base/mutex.h"
#include "argosy/rpc/transport/rpc_channel.h"

namespace argosy::tf {

class PeerChannel : public std::enable_shared_from_this<PeerChannel> {
 public:
  using Done = RpcChannel::Done;
  explicit PeerChannel(RpcChannelOptions options) : channel_(std::move(options)) {}

  const RpcChannelOptions& options() const { return channel_.options(); }
  // Starts a call that ends with its answer, with the loss of the task, or with cancel().
  std::shared_ptr<RpcClientCall> start(const std::string& path, std::vector<WirePiece> request, Done done)
      ARGOSY_EXCLUDES(mutex_);
  // A call with a deadline; nobody waits for it.
  void send(const std::string& path, std::vector<WirePiece> request, std::chrono::milliseconds timeout, Done done) {
    (void)channel_.start(path, std::move(request), timeout, std::move(done));
  }
  Result<RpcResponse> call(const std::string& path, std::vector<WirePiece> request, std::chrono::milliseconds timeout,
                           Cancellation* cancellation = nullptr) {
    return channel_.call(path, std::move(request), timeout, cancellation);
  }

  // Asks for the task's status if a call has lasted for a second. Called about once a second.
  void look() ARGOSY_EXCLUDES(mutex_);

 private:
  struct Call {
    std::chrono::steady_clock::time_point begin;
    std::shared_ptr<RpcClientCall> call;
    Done done;
  };
  // The call's own `done`; null when it was answered already.
  Done take(std::int64_t number) ARGOSY_EXCLUDES(mutex_);
  void lost(const Status& why) ARGOSY_EXCLUDES(mutex_);

  RpcChannel channel_;
  Mutex mutex_;
  std::int64_t next_ ARGOSY_GUARDED_BY(mutex_) = 1;
  bool asking_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::map<std::int64_t, Call> calls_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::tf
