#include "argosy/comm/inproc_rendezvous.h"

#include <algorithm>
#include <utility>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/str.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/comm/shared_memory/host_places.h"

namespace argosy {

InprocRendezvous::InprocRendezvous(int size, const InprocOptions& options)
    : size_(size),
      options_(options),
      may_spin_(size <= available_cores()),
      waiters_(static_cast<std::size_t>(size)),
      rounds_(size) {
  ARGOSY_CHECK(size >= 1);
  if (options.cancellation != nullptr) step_abort_ = std::make_shared<StepAbort>(*options.cancellation);
}

std::int64_t InprocRendezvous::deadline(std::chrono::nanoseconds timeout) const {
  if (timeout.count() <= 0) timeout = options_.timeout;
  return timeout.count() <= 0 ? 0 : now_nanos() + timeout.count();
}

void InprocRendezvous::start(const CollectiveCall& call, const InprocPlace& place, Communicator::Done done) {
  ARGOSY_CHECK(done != nullptr);
  const std::chrono::nanoseconds timeout = call.timeout;
  const std::size_t slot = Round::slot_of(call, place.rank);
  const InprocRounds::Joined joined = rounds_.join(call, place, call.ready, done);
  if (joined.round == nullptr) return done(rounds_.cause());
  if (joined.complete) {
    begin(*joined.round, false);
    InprocRounds::leave(*joined.round);
  } else if (timeout.count() > 0) {
    // The round may be over by now, and the call's tensors gone.
    set_timer(joined.id, slot, timeout);
  }
}

Result<Event> InprocRendezvous::run(const CollectiveCall& call, const InprocPlace& place, const Event& ready,
                                    std::chrono::nanoseconds timeout, std::int64_t deadline_nanos) {
  Communicator::Done none;
  const InprocRounds::Joined joined = rounds_.join(call, place, ready, none);
  if (joined.round == nullptr) return rounds_.cause();
  Round& round = *joined.round;
  RankWaiter& mine = waiter(place.rank);
  const std::size_t slot = Round::slot_of(call, place.rank);
  const auto begun = [&] { return round.phase.load(std::memory_order_seq_cst) != Round::kGathering; };
  const auto over = [&] { return round.phase.load(std::memory_order_seq_cst) == Round::kOver; };
  if (joined.complete) {
    begin(round, true);
  } else if (!mine.wait(begun, deadline_nanos, may_spin_)) {
    give_up(joined.id, slot, timeout);
    mine.wait(begun, 0, may_spin_);
  }
  if (!over()) {
    if (round.job.work(static_cast<int>(slot))) finish(round, {});
    mine.wait(over, 0, may_spin_);
  }
  if (round.status.ok() && round.link_seconds > 0) pace(round, round.start_nanos);
  Result<Event> end = Event();
  if (!round.status.ok()) {
    end = copy_of(round.status);
  } else if (!round.ends.empty()) {
    end = round.ends[slot];
  }
  InprocRounds::leave(round);
  return end;
}

void InprocRendezvous::begin(Round& round, bool helps) {
  drop_timers(round.timers);
  GroupBackend* backend = nullptr;
  for (const Round::Entry& entry : round.entries) backend = backend != nullptr ? backend : entry.backend;
  if (backend == nullptr) return begin_in_host_memory(round, helps);
  finish(round, guarded([&]() -> Status {
           ARGOSY_RETURN_IF_ERROR(CollectiveJob::check(round.calls));
           std::vector<CollectiveCall> calls = round.calls;
           for (std::size_t s = 0; s < calls.size(); ++s) {
             if (round.entries[s].backend == nullptr) calls[s].device = nullptr;
             round.calls[s].ready = {};
           }
           ARGOSY_ASSIGN_OR_RETURN(round.ends, backend->start(calls, step_abort_));
           return ok_status();
         }));
}

void InprocRendezvous::begin_in_host_memory(Round& round, bool helps) {
  Status planned = guarded([&] { return round.job.plan(round.calls); });
  if (!planned.ok() || round.job.empty()) return finish(round, std::move(planned));
  double link = options_.link_bytes_per_second;
  bool waited_for = false, on_devices = false;
  for (std::size_t s = 0; s < round.entries.size(); ++s) {
    waited_for = waited_for || round.entries[s].waits;
    on_devices = on_devices || round.calls[s].device != nullptr;
  }
  if (on_devices || !waited_for) {
    const HostPlaces places = HostPlaces::of(round.calls);
    if (!waited_for && !places.worth_streams()) {
      return finish(round, guarded([&] {
                      round.job.work_alone();
                      return ok_status();
                    }));
    }
    if (places.link_bytes_per_second > 0) link = places.link_bytes_per_second;
  }
  if (link > 0) {
    round.link_seconds = link_crossings(round.calls[0].kind, size_) * static_cast<double>(round.job.bytes()) / link;
    round.start_nanos = now_nanos();
  }
  round.phase.store(Round::kSharing, std::memory_order_seq_cst);
  // Somebody has to do it, though all that wait be asleep.
  int wakes = round.job.bytes() >= SharedJob::kWorthWaking ? available_cores() - 1 : 0;
  if (!helps) wakes = std::max(wakes, 1);
  for (std::size_t s = 0; s < round.entries.size() && (on_devices || wakes > 0); ++s) {
    Device* const device = round.calls[s].device;
    if (round.entries[s].waits) {
      if (wakes > 0 && waiter(round.calls[s].rank).wake()) --wakes;
    } else if (device != nullptr) {
      round.users.fetch_add(1, std::memory_order_relaxed);
      try {
        device->communication().run([self = shared_from_this(), &round, s] { self->share(round, s); });
      } catch (...) {  // no memory for the task: it was not queued
        share(round, s);
      }
    }
  }
}

void InprocRendezvous::share(Round& round, std::size_t slot) {
  const std::int64_t start_nanos = round.link_seconds > 0 ? now_nanos() : 0;
  if (round.job.work(static_cast<int>(slot))) finish(round, {});
  if (round.link_seconds > 0) {
    pace(round, start_nanos);
    while (round.phase.load(std::memory_order_acquire) != Round::kOver) sched_yield();
    finish_one(round, slot);
  }
  InprocRounds::leave(round);
}

void InprocRendezvous::finish(Round& round, Status status) {
  const bool paced = status.ok() && round.link_seconds > 0;
  if (!status.ok()) round.status = std::move(status);
  round.phase.store(Round::kOver, std::memory_order_seq_cst);
  for (std::size_t s = 0; s < round.entries.size(); ++s) {
    const Round::Entry& entry = round.entries[s];
    if (!entry.here) continue;
    if (entry.waits) {
      waiter(round.calls[s].rank).wake();
    } else if (!paced || round.calls[s].device == nullptr) {
      finish_one(round, s);
    }
  }
}

void InprocRendezvous::finish_one(Round& round, std::size_t slot) {
  Result<Event> end = !round.status.ok()   ? Result<Event>(copy_of(round.status))
                      : round.ends.empty() ? Result<Event>(Event())
                                           : Result<Event>(round.ends[slot]);
  Communicator::Done done = std::exchange(round.entries[slot].done, nullptr);
  call_and_release(done, "the end of a collective", std::move(end));  // the other ranks' follow, whatever is thrown
}

void InprocRendezvous::pace(const Round& round, std::int64_t start_nanos) {
  rounds_.sleep_until(start_nanos + static_cast<std::int64_t>(round.link_seconds * 1e9));
}

void InprocRendezvous::abort(const Status& cause) {
  ARGOSY_CHECK(!cause.ok());
  std::vector<Round*> gathering;
  if (!rounds_.close(cause, gathering)) return;
  for (Round* const round : gathering) {
    drop_timers(round->timers);
    finish(*round, copy_of(cause));
    InprocRounds::leave(*round);
  }
}

Status InprocRendezvous::reset() {
  for (int r = 0; r < size_; ++r) {
    if (waiter(r).inside.load(std::memory_order_acquire)) {
      return failed_precondition("group cannot be reset: rank ", r, " is still inside a call").with_id("ARG-COMM-003");
    }
  }
  rounds_.open();
  return {};
}

void InprocRendezvous::disarm() {
  if (step_abort_ != nullptr) step_abort_->disarm();
}

void InprocRendezvous::set_timer(std::int64_t id, std::size_t slot, std::chrono::nanoseconds timeout) {
  ARGOSY_CHECK(options_.timers != nullptr);
  const Status set = guarded([&]() -> Status {
    const auto end = std::chrono::steady_clock::now() + timeout;
    const auto callback = [weak = weak_from_this(), id, slot, timeout] {
      if (const auto self = weak.lock()) self->give_up(id, slot, timeout);
    };
    ARGOSY_ASSIGN_OR_RETURN(const Timers::Token token, options_.timers->set(end, callback));
    if (!rounds_.add_timer(id, token)) options_.timers->cancel(token);
    return ok_status();
  });
  if (!set.ok()) abort(set);
}

void InprocRendezvous::drop_timers(const std::vector<Timers::Token>& timers) {
  for (const Timers::Token token : timers) options_.timers->cancel(token);
}

void InprocRendezvous::give_up(std::int64_t id, std::size_t slot, std::chrono::nanoseconds timeout) {
  if (timeout.count() <= 0) timeout = options_.timeout;
  // A round that still gathers ends in any case: its caller's tensors may go when this returns.
  const Status late = guarded([&]() -> Status {
    const std::string what = rounds_.late(id, slot, timeout);
    if (what.empty()) return ok_status();
    return deadline_exceeded(what)
        .with_id("ARG-COMM-002")
        .with_hint("look at what those ranks do: an earlier error, another order of collectives, or just slow work");
  });
  if (!late.ok()) abort(late);
}

}  // namespace argosy
