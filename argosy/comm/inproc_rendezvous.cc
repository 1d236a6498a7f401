#include "argosy/comm/inproc_rendezvous.h"

#include <algorithm>

#include "argosy/base/clock.h"
#include "argosy/base/str.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/comm/shared_memory/host_places.h"

namespace argosy {

InprocRendezvous::InprocRendezvous(int size, const InprocOptions& options)
    : size_(size),
      options_(options),
      may_spin_(size <= available_cores()),
      seats_(static_cast<std::size_t>(size)),
      rounds_(size) {
  ARGOSY_CHECK(size >= 1);
  if (options.cancellation != nullptr) step_abort_ = std::make_shared<StepAbort>(*options.cancellation);
}

std::int64_t InprocRendezvous::deadline(std::chrono::nanoseconds timeout) const {
  if (timeout.count() <= 0) timeout = options_.timeout;
  return timeout.count() <= 0 ? 0 : now_nanos() + timeout.count();
}

InprocRound* InprocRendezvous::join(const CollectiveCall& call, GroupBackend* backend, Communicator::Done done,
                                    bool waits) {
  const InprocRounds::Joined joined = rounds_.join(call, backend, done, waits);
  if (joined.round == nullptr) {
    done(rounds_.cause());
  } else if (joined.complete) {
    begin(*joined.round);
    rounds_.leave(*joined.round);
  } else if (!waits && call.timeout.count() > 0) {
    set_timer(joined.id, call);
  }
  return joined.round;
}

void InprocRendezvous::start(const CollectiveCall& call, GroupBackend* backend, Communicator::Done done) {
  join(call, backend, std::move(done), false);
}

Result<Event> InprocRendezvous::run(const CollectiveCall& call, GroupBackend* backend, std::chrono::nanoseconds timeout,
                                    std::int64_t deadline_nanos) {
  struct Answer {
    std::atomic<bool> here{false};
    Result<Event> end = Event();
  } answer;
  Seat& mine = seat(call.rank);
  // Once it is here, the answer may be gone.
  const auto done = [answer = &answer, mine = &mine](Result<Event> end) {
    answer->end = std::move(end);
    answer->here.store(true, std::memory_order_seq_cst);
    mine->wake();
  };
  Round* const round = join(call, backend, done, true);
  if (round == nullptr) return std::move(answer.end);
  const auto here = [&] { return answer.here.load(std::memory_order_seq_cst); };
  const auto begun = [&] { return here() || round->phase.load(std::memory_order_seq_cst) == Round::kSharing; };
  if (!mine.wait(begun, deadline_nanos, may_spin_)) {
    give_up(round->id, Round::slot_of(call), timeout);
    mine.wait(begun, 0, may_spin_);
  }
  if (!here()) {
    if (round->job.work(static_cast<int>(Round::slot_of(call)))) round->finish(ok_status());
    mine.wait(here, 0, may_spin_);
  }
  if (answer.end.ok() && round->link_seconds > 0) pace(*round, round->start_nanos);
  rounds_.leave(*round);
  return std::move(answer.end);
}

void InprocRendezvous::begin(Round& round) {
  drop_timers(round.timers);
  GroupBackend* backend = nullptr;
  for (const Round::Entry& entry : round.entries) backend = backend != nullptr ? backend : entry.backend;
  if (backend == nullptr) return begin_in_host_memory(round);
  if (const Status agreed = CollectiveJob::check(round.calls); !agreed.ok()) return round.finish(agreed);
  std::vector<CollectiveCall> calls = round.calls;
  for (std::size_t s = 0; s < calls.size(); ++s) {
    if (round.entries[s].backend == nullptr) calls[s].device = nullptr;
  }
  Result<std::vector<Event>> ends = backend->start(calls, step_abort_);
  if (!ends.ok()) return round.finish(ends.status());
  round.phase.store(Round::kOver, std::memory_order_seq_cst);
  for (std::size_t s = 0; s < calls.size(); ++s) round.finish_one(s, std::move((*ends)[s]));
}

void InprocRendezvous::begin_in_host_memory(Round& round) {
  const Status planned = round.job.plan(round.calls);
  if (!planned.ok() || round.job.empty()) return round.finish(planned);
  const HostPlaces places = HostPlaces::of(round.calls);
  const bool waited_for =
      std::any_of(round.entries.begin(), round.entries.end(), [](const Round::Entry& entry) { return entry.waits; });
  if (!waited_for && !places.worth_streams()) {
    round.job.work_alone();
    return round.finish(planned);
  }
  const double link = places.link_bytes_per_second > 0 ? places.link_bytes_per_second : options_.link_bytes_per_second;
  if (link > 0) {
    round.link_seconds = link_crossings(round.calls[0].kind, size_) * static_cast<double>(round.job.bytes()) / link;
    round.start_nanos = now_nanos();
  }
  round.phase.store(Round::kSharing, std::memory_order_seq_cst);
  int wakes = round.job.bytes() >= SharedJob::kWorthWaking ? available_cores() - 1 : 0;
  for (std::size_t s = 0; s < round.entries.size(); ++s) {
    if (round.entries[s].waits) {
      if (wakes-- > 0) seat(round.calls[s].rank).wake();
    } else if (Device* const device = round.calls[s].device; device != nullptr) {
      round.users.fetch_add(1, std::memory_order_relaxed);
      device->communication().run([self = shared_from_this(), &round, s] { self->share(round, s); });
    }
  }
}

void InprocRendezvous::share(Round& round, std::size_t slot) {
  const std::int64_t start_nanos = round.link_seconds > 0 ? now_nanos() : 0;
  if (round.job.work(static_cast<int>(slot))) round.finish(ok_status());
  if (round.link_seconds > 0) {
    pace(round, start_nanos);
    while (round.phase.load(std::memory_order_acquire) != Round::kOver) sched_yield();
    round.finish_one(slot, Event());
  }
  rounds_.leave(round);
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
    round->finish(cause);
    rounds_.leave(*round);
  }
}

Status InprocRendezvous::reset() {
  for (int r = 0; r < size_; ++r) {
    if (seat(r).inside.load(std::memory_order_acquire)) {
      return failed_precondition("group cannot be reset: rank ", r, " is still inside a call").with_id("ARG-COMM-003");
    }
  }
  rounds_.open();
  return {};
}

void InprocRendezvous::disarm() {
  if (step_abort_ != nullptr) step_abort_->disarm();
}

void InprocRendezvous::set_timer(std::int64_t id, const CollectiveCall& call) {
  ARGOSY_CHECK(options_.timers != nullptr);
  // The round may be over by now, and the call's tensors gone.
  const std::chrono::nanoseconds timeout = call.timeout;
  const std::size_t slot = Round::slot_of(call);
  const Result<Timers::Token> token =
      options_.timers->set(std::chrono::steady_clock::now() + timeout, [weak = weak_from_this(), id, slot, timeout] {
        if (const auto self = weak.lock()) self->give_up(id, slot, timeout);
      });
  if (!token.ok()) return abort(token.status());
  if (!rounds_.add_timer(id, *token)) options_.timers->cancel(*token);
}

void InprocRendezvous::drop_timers(const std::vector<Timers::Token>& timers) {
  for (const Timers::Token token : timers) options_.timers->cancel(token);
}

void InprocRendezvous::give_up(std::int64_t id, std::size_t slot, std::chrono::nanoseconds timeout) {
  if (timeout.count() <= 0) timeout = options_.timeout;
  const std::string late = rounds_.late(id, slot, timeout);
  if (late.empty()) return;
  abort(
      deadline_exceeded(late)
          .with_id("ARG-COMM-002")
          .with_hint("look at what those ranks do: an earlier error, another order of collectives, or just slow work"));
}

}  // namespace argosy
