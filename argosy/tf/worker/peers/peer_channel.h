// PeerChannel: calls to another task, over two connections.
//
//   start()          long calls: steps, graphs, values      their own connection, which a value may fill for minutes
//   send(), call()   short calls, with deadlines            another connection, so that no value delays them
//
// It detects a silent task: while a long call is running, it calls GetStatus each second, over the connection of short
// calls. If there is no answer for three seconds, all long calls end with UNAVAILABLE "ARG-CLUSTER-017". So they do
// when the connection of long calls gives no answer for two minutes, or is closed. Thread-safe.
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
  explicit PeerChannel(const RpcChannelOptions& options) : long_calls_(options), short_calls_(options) {}

  const RpcChannelOptions& options() const { return long_calls_.options(); }
  // Starts a call that ends with its answer, with the loss of the task, or with cancel().
  std::shared_ptr<RpcClientCall> start(const std::string& path, std::vector<WirePiece> request, Done done)
      ARGOSY_EXCLUDES(mutex_);
  // A call with a deadline; nobody waits for it.
  void send(const std::string& path, std::vector<WirePiece> request, std::chrono::milliseconds timeout, Done done) {
    (void)short_calls_.start(path, std::move(request), timeout, std::move(done));
  }
  Result<RpcResponse> call(const std::string& path, std::vector<WirePiece> request, std::chrono::milliseconds timeout,
                           Cancellation* cancellation = nullptr) {
    return short_calls_.call(path, std::move(request), timeout, cancellation);
  }

  // UNAVAILABLE "ARG-CLUSTER-017": the task is lost, for this cause.
  Status lost_task(std::string_view cause) const;

  // Asks for the task's status if a call has lasted for a second. Called about once a second.
  void look() ARGOSY_EXCLUDES(mutex_);

 private:
  struct Call {
    std::chrono::steady_clock::time_point begin;
    std::shared_ptr<RpcClientCall> call;
    Done done;
  };
  // With an error of the network that names the task, and says what to do.
  Result<RpcResponse> named(Result<RpcResponse> response) const;
  // The call's own `done`; null when it was answered already.
  Done take(std::int64_t number) ARGOSY_EXCLUDES(mutex_);
  void ask(RpcChannel& channel, std::chrono::milliseconds patience, bool PeerChannel::*asking) ARGOSY_EXCLUDES(mutex_);
  void lost(const Status& why, std::chrono::milliseconds patience) ARGOSY_EXCLUDES(mutex_);

  RpcChannel long_calls_, short_calls_;
  Mutex mutex_;
  std::int64_t next_ ARGOSY_GUARDED_BY(mutex_) = 1;
  bool asking_ ARGOSY_GUARDED_BY(mutex_) = false;             // GetStatus is under way: short calls' connection
  bool asking_long_calls_ ARGOSY_GUARDED_BY(mutex_) = false;  // long calls' connection
  std::map<std::int64_t, Call> calls_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::tf
