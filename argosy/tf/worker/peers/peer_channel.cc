#include "argosy/tf/worker/peers/peer_channel.h"

#include <algorithm>

namespace argosy::tf {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongCall{1000};
constexpr std::chrono::milliseconds kSilence{3000};
constexpr const char* kGetStatus = "/tensorflow.WorkerService/GetStatus";

}  // namespace

PeerChannel::Done PeerChannel::take(std::int64_t number) {
  MutexLock lock(mutex_);
  const auto at = calls_.find(number);
  if (at == calls_.end()) return nullptr;
  Done done = std::move(at->second.done);
  calls_.erase(at);
  return done;
}

std::shared_ptr<RpcClientCall> PeerChannel::start(const std::string& path, std::vector<WirePiece> request, Done done) {
  std::int64_t number = 0;
  {
    MutexLock lock(mutex_);
    number = next_++;
    calls_[number] = {.begin = Clock::now(), .call = nullptr, .done = std::move(done)};
  }
  auto call = channel_.start(path, std::move(request), std::chrono::milliseconds(0),
                             [self = shared_from_this(), number](Result<RpcResponse> response) {
                               if (const Done answered = self->take(number)) answered(std::move(response));
                             });
  MutexLock lock(mutex_);
  const auto at = calls_.find(number);
  if (at != calls_.end()) at->second.call = call;
  return call;
}

void PeerChannel::look() {
  {
    MutexLock lock(mutex_);
    const auto now = Clock::now();
    if (asking_ || std::ranges::none_of(calls_, [&](const auto& c) { return now - c.second.begin >= kLongCall; }))
      return;
    asking_ = true;
  }
  (void)channel_.start(kGetStatus, {}, kSilence, [self = shared_from_this()](Result<RpcResponse> response) {
    {
      MutexLock lock(self->mutex_);
      self->asking_ = false;
    }
    // Any answer shows that it lives.
    const Code code = response.status().code();
    if (code == Code::kDeadlineExceeded || code == Code::kUnavailable) self->lost(response.status());
  });
}

void PeerChannel::lost(const Status& why) {
  std::map<std::int64_t, Call> calls;
  {
    MutexLock lock(mutex_);
    calls.swap(calls_);
  }
  const std::string cause = why.code() == Code::kUnavailable ? std::string(why.message())
                                                             : str_cat("no answer for ", kSilence.count(), " ms");
  for (auto& [number, call] : calls) {
    if (call.call != nullptr) call.call->cancel();
    call.done(unavailable(options().peer, " at ", options().address, " is lost: ", cause)
                  .with_id("ARG-CLUSTER-017")
                  .with_hint("start that task again; sessions recover as TensorFlow's do"));
  }
}

}  // namespace argosy::tf
