#include "argosy/comm/net/direct_sums.h"

#include <algorithm>
#include <utility>

#include "argosy/base/log.h"
#include "argosy/base/str.h"

namespace argosy {

namespace {

// Tags that neither steps nor NetGroup's own calls have; sum_turns.cc has another.
constexpr std::uint32_t kOffers = 0x2000'0001, kOutcomes = 0x2000'0002;

}  // namespace

bool DirectSums::may_take(std::span<const CollectiveCall> calls, const SpanningRanks& ranks) {
  return static_cast<int>(calls.size()) == ranks.here && ranks.here > 0 &&
         std::ranges::all_of(calls, [&](const CollectiveCall& call) {
           return call.kind == Collective::kAllReduceShards && call.any_order == calls[0].any_order &&
                  call.total == ranks.size && call.shards.size() == 1 && call.shards[0].index == call.rank;
         });
}

Result<std::optional<std::vector<Event>>> DirectSums::start(std::span<const CollectiveCall> calls,
                                                            const SpanningRanks& ranks, GroupBackend* backend,
                                                            std::uint32_t tag, std::uint64_t ticket,
                                                            const std::shared_ptr<StepAbort>& step_abort) {
  ARGOSY_ASSIGN_OR_RETURN(const bool mine, turns_.take(tag, ticket, {ranks.size, calls[0].any_order}));
  if (!mine) return std::optional<std::vector<Event>>();
  Result<std::optional<std::vector<Event>>> started = in_turn(calls, ranks, backend, step_abort);
  turns_.end(started.status());
  return started;
}

Result<std::optional<std::vector<Event>>> DirectSums::in_turn(std::span<const CollectiveCall> calls,
                                                              const SpanningRanks& ranks, GroupBackend* backend,
                                                              const std::shared_ptr<StepAbort>& step_abort) {
  const SumKind kind{ranks.size, calls[0].any_order};
  std::shared_ptr<SpanningBackend> connected;
  {
    MutexLock lock(mutex_);
    connected = backends_[kind];
  }
  // Tasks make their devices anew together: they run one program.
  if (connected == nullptr || !connected->is_of(calls)) {
    std::shared_ptr<SpanningBackend> before;  // destroyed after the lock: its watcher may be about to abort()
    ARGOSY_ASSIGN_OR_RETURN(connected, connect(calls, ranks, backend));
    MutexLock lock(mutex_);
    before = std::exchange(backends_[kind], connected);
    if (connected == nullptr) turns_.close(kind);
  }
  ARGOSY_RETURN_IF_ERROR(turns_.cause());
  if (connected == nullptr || !connected->takes(calls)) return std::optional<std::vector<Event>>();
  ARGOSY_ASSIGN_OR_RETURN(std::vector<Event> ends, connected->start(calls, step_abort));
  return std::optional<std::vector<Event>>(std::move(ends));
}

Result<std::shared_ptr<SpanningBackend>> DirectSums::connect(std::span<const CollectiveCall> calls,
                                                             const SpanningRanks& ranks, GroupBackend* backend) {
  SpanningRanks with_patience = ranks;
  with_patience.patience = engine_.timeout();
  std::shared_ptr<SpanningBackend> made = backend != nullptr ? backend->over_tasks(calls, with_patience) : nullptr;
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> offers,
                          blobs_.gather(made != nullptr ? made->offer() : std::string(), kOffers));
  const auto none = std::ranges::find(offers, std::string());
  if (none == offers.end()) {
    {
      MutexLock lock(mutex_);
      ARGOSY_RETURN_IF_ERROR(turns_.cause());
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
  turns_.abort(cause);
  std::vector<std::shared_ptr<SpanningBackend>> all;
  {
    MutexLock lock(mutex_);
    for (const auto& [kind, backend] : backends_) {
      if (backend != nullptr) all.push_back(backend);
    }
    if (connecting_ != nullptr) all.push_back(connecting_);
  }
  for (const auto& each : all) each->abort(cause);
}

}  // namespace argosy
