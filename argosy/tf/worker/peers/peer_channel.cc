#include "argosy/tf/worker/peers/peer_channel.h"

#include <algorithm>
#include <utility>

namespace argosy::tf {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongCall{1000};
constexpr std::chrono::milliseconds kSilence{3000};
// Answers of the connection of long calls wait behind values: 24 MB, at 10 Mbit/s, are 20 s. A connection that some
// box on the way has forgotten answers never, while the other one does.
constexpr std::chrono::milliseconds kForgotten{120'000};
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
  auto call = long_calls_.start(path, std::move(request), std::chrono::milliseconds(0),
                                [self = shared_from_this(), number](Result<RpcResponse> response) {
                                  if (const Done answered = self->take(number))
                                    answered(self->named(std::move(response)));
                                });
  MutexLock lock(mutex_);
  const auto at = calls_.find(number);
  if (at != calls_.end()) at->second.call = call;
  return call;
}

Result<RpcResponse> PeerChannel::named(Result<RpcResponse> response) const {
  if (!is_connection_error(response.status())) return response;
  return lost_task(response.status().message());
}

Status PeerChannel::lost_task(std::string_view cause) const {
  return unavailable(options().peer, " at ", options().address, " is lost: ", cause)
      .with_id("ARG-CLUSTER-017")
      .with_hint("start that task again; sessions recover as TensorFlow's do");
}

void PeerChannel::look() {
  {
    MutexLock lock(mutex_);
    const auto now = Clock::now();
    if (std::ranges::none_of(calls_, [&](const auto& c) { return now - c.second.begin >= kLongCall; })) return;
  }
  ask(short_calls_, kSilence, &PeerChannel::asking_);
  ask(long_calls_, kForgotten, &PeerChannel::asking_long_calls_);
}

void PeerChannel::ask(RpcChannel& channel, std::chrono::milliseconds patience, bool PeerChannel::*asking) {
  {
    MutexLock lock(mutex_);
    if (std::exchange(this->*asking, true)) return;
  }
  (void)channel.start(kGetStatus, {}, patience, [self = shared_from_this(), patience, asking](auto response) {
    {
      MutexLock lock(self->mutex_);
      (*self).*asking = false;
    }
    // Any answer shows that it lives.
    const Code code = response.status().code();
    if (code == Code::kDeadlineExceeded || code == Code::kUnavailable) self->lost(response.status(), patience);
  });
}

void PeerChannel::lost(const Status& why, std::chrono::milliseconds patience) {
  std::map<std::int64_t, Call> calls;
  {
    MutexLock lock(mutex_);
    calls.swap(calls_);
  }
  const std::string cause = why.code() == Code::kUnavailable ? std::string(why.message())
                                                             : str_cat("no answer for ", patience.count(), " ms");
  for (auto& [number, call] : calls) {
    if (call.call != nullptr) call.call->cancel();
    call.done(lost_task(cause));
  }
}

}  // namespace argosy::tf
