// PeerChannel: calls to another task that may last as long as a step. A task that is silent is noticed: while such a
// call is under way the task is asked for its status each second, and has three seconds to answer. Then all its calls
// end with UNAVAILABLE. (A closed connection ends them at once.) Thread-safe.
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
  // A call that ends by its answer, by the loss of the task, or by cancel().
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
