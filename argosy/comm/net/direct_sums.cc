#include "argosy/comm/net/direct_sums.h"

#include <algorithm>
#include <chrono>

#include "argosy/base/guard.h"
#include "argosy/base/log.h"
#include "argosy/base/str.h"

namespace argosy {

namespace {

// Tags that neither steps nor NetGroup's own calls have.
constexpr std::uint32_t kTurns = 0x2000'0000, kOffers = 0x2000'0001, kOutcomes = 0x2000'0002;

// Of a wait for this task's own call, which another task has announced, or for the call before it.
constexpr std::chrono::minutes kLongestWait{5};

}  // namespace

bool DirectSums::may_take(std::span<const CollectiveCall> calls, const SpanningRanks& ranks) {
  return static_cast<int>(calls.size()) == ranks.here && ranks.here > 0 &&
         std::ranges::all_of(calls, [&](const CollectiveCall& call) {
           return call.kind == Collective::kAllReduceShards && call.any_order == calls[0].any_order &&
                  call.total == ranks.size && call.shards.size() == 1 && call.shards[0].index == call.rank;
         });
}

Result<bool> DirectSums::take_turn(std::uint32_t tag, Kind kind) {
  const auto over = [&]() ARGOSY_REQUIRES(mutex_) { return !cause_.ok() || agreed_[kind].without; };
  std::uint32_t announced = tag;
  if (engine_.rank() == 0) {
    {
      MutexLock lock(mutex_);
      while (at_work_ && !over()) changed_.wait(mutex_);
      ARGOSY_RETURN_IF_ERROR(copy_of(cause_));
      if (agreed_[kind].without) return false;
      at_work_ = true;
    }
    Status sent = engine_.broadcast(reinterpret_cast<std::byte*>(&announced), sizeof announced, 0, kTurns);
    if (!sent.ok()) {
      end_turn(sent);
      return sent;
    }
    return true;
  }
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  MutexLock lock(mutex_);
  while (!over()) {
    if (turn_ == tag && !at_work_) {
      at_work_ = true;
      return true;
    }
    if (turn_ || listening_) {
      if (!changed_.wait_until(mutex_, end) && cause_.ok()) {
        cause_ = deadline_exceeded("another task's sum, not this one, had its turn for five minutes")
                     .with_id("ARG-COMM-002")
                     .with_hint("look at what the other tasks do: an earlier error, or other collectives");
      }
      continue;
    }
    listening_ = true;
    mutex_.unlock();
    const Status heard = engine_.broadcast(reinterpret_cast<std::byte*>(&announced), sizeof announced, 0, kTurns);
    mutex_.lock();
    listening_ = false;
    if (heard.ok()) {
      turn_ = announced;
    } else if (cause_.ok()) {
      cause_ = heard;
    }
    changed_.notify_all();
  }
  ARGOSY_RETURN_IF_ERROR(copy_of(cause_));
  return false;
}

void DirectSums::end_turn(const Status& status) {
  MutexLock lock(mutex_);
  at_work_ = false;
  turn_.reset();
  if (cause_.ok() && !status.ok()) cause_ = copy_of(status);
  changed_.notify_all();
}

Result<std::optional<std::vector<Event>>> DirectSums::start(std::span<const CollectiveCall> calls,
                                                            const SpanningRanks& ranks, GroupBackend* backend,
                                                            std::uint32_t tag,
                                                            const std::shared_ptr<StepAbort>& step_abort) {
  ARGOSY_ASSIGN_OR_RETURN(const bool mine, take_turn(tag, {ranks.size, calls[0].any_order}));
  if (!mine) return std::optional<std::vector<Event>>();
  Result<std::optional<std::vector<Event>>> started = in_turn(calls, ranks, backend, step_abort);
  end_turn(started.status());
  return started;
}

Result<std::optional<std::vector<Event>>> DirectSums::in_turn(std::span<const CollectiveCall> calls,
                                                              const SpanningRanks& ranks, GroupBackend* backend,
                                                              const std::shared_ptr<StepAbort>& step_abort) {
  const Kind kind{ranks.size, calls[0].any_order};
  std::shared_ptr<SpanningBackend> connected;
  {
    MutexLock lock(mutex_);
    connected = agreed_[kind].backend;
  }
  // Tasks make their devices anew together: they run one program.
  if (connected == nullptr || !connected->is_of(calls)) {
    connected.reset();
    ARGOSY_ASSIGN_OR_RETURN(connected, connect(calls, ranks, backend));
    MutexLock lock(mutex_);
    agreed_[kind] = {.without = connected == nullptr, .backend = connected};
    ARGOSY_RETURN_IF_ERROR(copy_of(cause_));
  }
  if (connected == nullptr || !connected->takes(calls)) return std::optional<std::vector<Event>>();
  ARGOSY_ASSIGN_OR_RETURN(std::vector<Event> ends, connected->start(calls, step_abort));
  return std::optional<std::vector<Event>>(std::move(ends));
}

Result<std::shared_ptr<SpanningBackend>> DirectSums::connect(std::span<const CollectiveCall> calls,
                                                             const SpanningRanks& ranks, GroupBackend* backend) {
  std::shared_ptr<SpanningBackend> made = backend != nullptr ? backend->over_tasks(calls, ranks) : nullptr;
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> offers,
                          blobs_.gather(made != nullptr ? made->offer() : std::string(), kOffers));
  const auto none = std::ranges::find(offers, std::string());
  if (none == offers.end()) {
    {
      MutexLock lock(mutex_);
      ARGOSY_RETURN_IF_ERROR(copy_of(cause_));
      connecting_ = made;
    }
    const Status own = made->connect(offers);
    {
      MutexLock lock(mutex_);
      connecting_.reset();
    }
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> outcomes,
                            blobs_.gather(own.ok() ? std::string() : own.message(), kOutcomes));
    const auto failed = std::ranges::find_if(outcomes, [](const std::string& text) { return !text.empty(); });
    if (failed == outcomes.end()) {
      ARGOSY_LOG(kInfo, "sums of ", ranks.size, " GPUs of ", engine_.size(), " tasks go by ", made->describe());
      return made;
    }
    if (own.ok()) {
      ARGOSY_LOG(kWarning, "task ", failed - outcomes.begin(), ": ", *failed,
                 "; sums of GPUs go by the hosts' memories");
    }
  } else if (made != nullptr) {
    ARGOSY_LOG(kInfo, "sums of GPUs go by the hosts' memories: ranks of task ", none - offers.begin(),
               " are not on CUDA GPUs");
  }
  return std::shared_ptr<SpanningBackend>();
}

void DirectSums::abort(const Status& cause) {
  std::vector<std::shared_ptr<SpanningBackend>> all;
  {
    MutexLock lock(mutex_);
    if (cause_.ok()) cause_ = copy_of(cause);
    for (const auto& [kind, agreed] : agreed_) {
      if (agreed.backend != nullptr) all.push_back(agreed.backend);
    }
    if (connecting_ != nullptr) all.push_back(connecting_);
    changed_.notify_all();
  }
  for (const auto& each : all) each->abort(cause);
}

}  // namespace argosy
