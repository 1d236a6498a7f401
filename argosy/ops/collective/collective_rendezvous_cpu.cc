#include "argosy/ops/collective/collective_rendezvous.h"

#include <algorithm>
#include <atomic>

#include "argosy/base/threads/parallel.h"
#include "argosy/comm/shared_memory/inproc_group.h"
#include "argosy/device/device.h"
#include "argosy/op/kernel/step_context.h"

namespace argosy {

namespace {

// Below it, waking the other devices' threads takes longer than the sum.
constexpr std::size_t kInlineBytes = 64 << 10;
// Likewise where the devices' own threads fill every core: a communication stream would take turns with one of them,
// and a turn is milliseconds long.
constexpr std::size_t kInlineBytesNoCoreToSpare = 2 << 20;

// The communicators of one set of devices, kept by the first of them from step to step. A failed group is replaced: its
// ranks may still be inside the call that failed.
class DeviceGroup final : public Resource {
 public:
  DeviceGroup(int size, double link) : size_(size), link_(link) {}
  std::string describe() const override { return str_cat("communicators of ", size_, " devices"); }

  // Every stream gets its part of one exchange before any gets part of the next. `start` must not block.
  template <typename Start>
  void start(const Start& start) {
    MutexLock lock(mutex_);
    if (!group_ || *failed_) {
      group_ = std::make_shared<InprocGroup>(size_, InprocOptions{.link_bytes_per_second = link_});
      failed_ = std::make_shared<std::atomic<bool>>(false);
    }
    start(group_, failed_);
  }

 private:
  const int size_;
  const double link_;
  Mutex mutex_;
  std::shared_ptr<InprocGroup> group_ ARGOSY_GUARDED_BY(mutex_);
  std::shared_ptr<std::atomic<bool>> failed_ ARGOSY_GUARDED_BY(mutex_);
};

class Clock final : public Resource {
 public:
  std::string describe() const override { return "timers of collectives"; }
  Timers timers;
};

std::vector<Shard> shards_of(const CollectiveParticipant& call) {
  std::vector<Shard> shards;
  const std::size_t tensors = call.results.size();
  if (call.kind != Collective::kAllReduceShards) return shards;
  for (std::size_t s = 0; s < call.shards.size(); ++s) {
    shards.push_back({static_cast<int>(call.shards[s]), std::span(call.values).subspan(s * tensors, tensors)});
  }
  return shards;
}

std::size_t bytes_of(const std::vector<Tensor>& tensors) {
  std::size_t bytes = 0;
  for (const Tensor& t : tensors) bytes += t.bytes();
  return bytes;
}

bool on_own_devices(const std::vector<CollectiveParticipant>& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (calls[i].context->device() == calls[k].context->device()) return false;
    }
  }
  return calls[0].context->device() != nullptr;
}

// The step, and with it the tensors' memory, may end with the call back.
void finish(CollectiveParticipant& call, Status status) {
  call.values.clear();
  call.results.clear();
  call.done(std::move(status));
}

Status join_on_stream(const CollectiveParticipant& call, Communicator& communicator, const std::string& group) {
  Cancellation* const cancellation = call.context->step() ? &call.context->step()->cancellation() : nullptr;
  const CollectiveOptions options{.name = group, .cancellation = cancellation};
  switch (call.kind) {
    case Collective::kAllGather: return communicator.all_gather(call.values[0], call.results[0], options);
    case Collective::kBroadcast:
      return communicator.broadcast(call.rank == call.root ? call.values : call.results, call.root, options);
    default: {
      const std::vector<Shard> shards = shards_of(call);
      return communicator.all_reduce_shards(shards, call.total, call.results, call.reduction, options);
    }
  }
}

}  // namespace

Result<CollectiveCalls> CollectiveCalls::of(const std::vector<CollectiveParticipant>& calls, const std::string& group) {
  CollectiveCalls all;
  all.calls_.resize(calls.size());
  all.shards_.resize(calls.size());
  for (std::size_t r = 0; r < calls.size(); ++r) {
    const CollectiveParticipant &call = calls[r], &first = calls[0];
    const std::vector<Tensor>& given =
        call.kind == Collective::kBroadcast && call.rank != call.root ? call.results : call.values;
    const std::vector<Tensor>& like =
        first.kind == Collective::kBroadcast && first.rank != first.root ? first.results : first.values;
    // Of equally many elements they might be and yet not belong together.
    const std::vector<Tensor>& ours = call.kind == Collective::kAllReduceShards ? call.results : given;
    const std::vector<Tensor>& theirs = first.kind == Collective::kAllReduceShards ? first.results : like;
    for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
      if (i < ours.size() && i < theirs.size() && ours[i].shape() == theirs[i].shape() &&
          ours[i].dtype() == theirs[i].dtype()) {
        continue;
      }
      const auto told = [i](const std::vector<Tensor>& t) {
        return i < t.size() ? str_cat(dtype_name(t[i].dtype()), t[i].shape()) : std::string("nothing");
      };
      return invalid_argument("group '", group, "': rank ", call.rank, " (", call.context->node(), ") brings ",
                              told(ours), " as value ", i, ", rank 0 (", first.context->node(), ") ", told(theirs))
          .with_id("ARG-COMM-001")
          .with_hint("every member of a group must bring tensors of the same shapes and dtypes");
    }
    all.shards_[r] = shards_of(call);
    CollectiveCall& asked = all.calls_[r];
    asked = {.kind = call.kind, .reduction = call.reduction, .root = call.root, .name = group};
    if (call.kind == Collective::kAllReduceShards) {
      asked.total = call.total;
      asked.shards = all.shards_[r];
      asked.out = call.results;
    } else {
      asked.tensors = given;
      if (call.kind == Collective::kAllGather) asked.out = call.results;
    }
  }
  return all;
}

Status do_here(const std::vector<CollectiveParticipant>& calls, const std::string& group) {
  ARGOSY_ASSIGN_OR_RETURN(const CollectiveCalls asked, CollectiveCalls::of(calls, group));
  CollectiveJob job;
  ARGOSY_RETURN_IF_ERROR(job.plan(asked.calls()));
  for (std::size_t b = 0; b < job.blocks(); ++b) job.run_block(b);
  return ok_status();
}

void exchange(std::vector<CollectiveParticipant> calls, const std::string& group) {
  double link = 0;
  int cores = 0;
  std::string devices;
  for (const CollectiveParticipant& call : calls) {
    if (call.context->device() == nullptr) continue;
    const DeviceSpec& spec = call.context->device()->spec();
    cores += spec.cores;
    if (spec.link_bytes_per_second > 0) {
      link = link == 0 ? spec.link_bytes_per_second : std::min(link, spec.link_bytes_per_second);
    }
    devices += spec.name.short_string() + " ";
  }
  const std::size_t most = cores >= available_cores() ? kInlineBytesNoCoreToSpare : kInlineBytes;
  // A broadcast has no result on its root.
  const std::size_t bytes = std::max(bytes_of(calls[0].results), bytes_of(calls[0].values));
  const bool small = bytes <= most && link == 0;
  if (small || !on_own_devices(calls)) {
    const Status status = do_here(calls, group);
    for (CollectiveParticipant& call : calls) finish(call, status);
    return;
  }
  auto found = calls[0].context->resources().find_or_make<DeviceGroup>(
      "_collective", devices, [&] { return std::make_shared<DeviceGroup>(static_cast<int>(calls.size()), link); });
  if (!found.ok()) {
    for (CollectiveParticipant& call : calls) call.done(found.status());
    return;
  }
  (*found)->start([&](const std::shared_ptr<InprocGroup>& ranks, const std::shared_ptr<std::atomic<bool>>& failed) {
    for (CollectiveParticipant& call : calls) {
      Stream& stream = call.context->device()->communication();
      auto mine = std::make_shared<CollectiveParticipant>(std::move(call));
      stream.run([mine, ranks, failed, group] {
        Status status = join_on_stream(*mine, ranks->rank(mine->rank), group);
        if (!status.ok()) *failed = true;
        finish(*mine, std::move(status));
      });
    }
  });
}

void CollectiveRendezvous::join(CollectiveParticipant call) {
  Cancellation* const cancellation = call.context->step() ? &call.context->step()->cancellation() : nullptr;
  const int rank = call.rank, size = call.size;
  const std::chrono::nanoseconds timeout = call.timeout;
  ResourceManager& resources = call.context->resources();
  std::vector<CollectiveParticipant> complete;
  std::int64_t joined = -1;
  std::vector<Timers::Token> timers;
  Cancellation::Token token = 0;
  std::int64_t opened = -1;
  {
    MutexLock lock(mutex_);
    auto round = std::find_if(rounds_.begin(), rounds_.end(), [&](const Round& r) {
      return rank < static_cast<int>(r.calls.size()) && !r.calls[rank].has_value();
    });
    if (round == rounds_.end()) {
      rounds_.push_back({.calls = std::vector<std::optional<CollectiveParticipant>>(size), .id = next_round_++});
      round = std::prev(rounds_.end());
      opened = round->id;
    }
    joined = round->id;
    round->calls[rank] = std::move(call);
    if (++round->num_joined == static_cast<int>(round->calls.size())) {
      for (auto& each : round->calls) complete.push_back(std::move(*each));
      token = round->token;
      timers = std::move(round->timers);
      rounds_.erase(round);
    }
  }
  if (!complete.empty()) {
    drop(timers);
    if (token != 0) cancellation->remove(token);
    Exchange how = exchange;
    for (const CollectiveParticipant& each : complete) {
      if (each.exchange != nullptr) how = each.exchange;
    }
    how(std::move(complete), group_);
    return;
  }
  // From here on the round may be over at any time, and the step with it.
  if (timeout.count() > 0) {
    if (Status set = set_timer(resources, joined, timeout); !set.ok()) return cancel(joined, set);
  }
  if (opened < 0 || cancellation == nullptr) return;
  // The round may be complete, or cancelled, before its callback is known to it: then nobody needs the callback.
  const bool added = cancellation->add(
      [self = shared_from_this(), opened, cancellation] { self->cancel(opened, cancellation->status()); }, &token);
  if (!added) return cancel(opened, cancellation->status());
  MutexLock lock(mutex_);
  for (Round& round : rounds_) {
    if (round.id == opened) round.token = token;
  }
}

Status CollectiveRendezvous::set_timer(ResourceManager& resources, std::int64_t id, std::chrono::nanoseconds timeout) {
  ARGOSY_ASSIGN_OR_RETURN(const auto clock, resources.find_or_make<Clock>("_collective", "timers",
                                                                          [] { return std::make_shared<Clock>(); }));
  const std::shared_ptr<Timers> timers(clock, &clock->timers);
  ARGOSY_ASSIGN_OR_RETURN(const Timers::Token token, timers->set(std::chrono::steady_clock::now() + timeout,
                                                                 [weak = weak_from_this(), id, timeout] {
                                                                   if (const auto rendezvous = weak.lock())
                                                                     rendezvous->give_up_waiting(id, timeout);
                                                                 }));
  {
    MutexLock lock(mutex_);
    clock_ = timers;
    for (Round& round : rounds_) {
      if (round.id != id) continue;
      round.timers.push_back(token);
      return ok_status();
    }
  }
  timers->cancel(token);
  return ok_status();
}

void CollectiveRendezvous::drop(const std::vector<Timers::Token>& timers) {
  if (timers.empty()) return;
  std::shared_ptr<Timers> clock;
  {
    MutexLock lock(mutex_);
    clock = clock_.lock();
  }
  for (const Timers::Token token : timers) {
    if (clock != nullptr) clock->cancel(token);
  }
}

void CollectiveRendezvous::give_up_waiting(std::int64_t id, std::chrono::nanoseconds timeout) {
  std::vector<std::string> here;
  std::size_t size = 0;
  {
    MutexLock lock(mutex_);
    const auto round = std::find_if(rounds_.begin(), rounds_.end(), [&](const Round& r) { return r.id == id; });
    if (round == rounds_.end()) return;
    size = round->calls.size();
    for (const auto& call : round->calls) {
      if (call) here.push_back(str_cat("'", call->context->node(), "'"));
    }
  }
  cancel(id, deadline_exceeded("group '", group_, "': after ", std::chrono::duration<double>(timeout).count(), " s ",
                               here.size(), " of ", size, " members have come: ", str_join(here))
                 .with_id("ARG-GROUP-007")
                 .with_hint("find out what holds up the others, or give timeout_seconds more time"));
}

void CollectiveRendezvous::cancel(std::int64_t id, const Status& reason) {
  std::vector<CollectiveParticipant> waiting;
  std::vector<Timers::Token> timers;
  {
    MutexLock lock(mutex_);
    const auto round = std::find_if(rounds_.begin(), rounds_.end(), [&](const Round& r) { return r.id == id; });
    if (round == rounds_.end()) return;
    for (auto& call : round->calls) {
      if (call) waiting.push_back(std::move(*call));
    }
    timers = std::move(round->timers);
    rounds_.erase(round);
  }
  drop(timers);
  for (CollectiveParticipant& call : waiting) call.give_up(reason);
}

}  // namespace argosy
