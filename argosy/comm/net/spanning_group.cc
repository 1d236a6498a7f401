#include "argosy/comm/net/spanning_group.h"

#include <algorithm>
#include <utility>

#include "argosy/base/guard.h"
#include "argosy/base/str.h"
#include "argosy/comm/collective_job.h"

namespace argosy {

struct SpanningGroup::State {
  State(std::shared_ptr<NetGroup> the_net, const SpanningOptions& o)
      : net(std::move(the_net)),
        options(o),
        calls(static_cast<std::size_t>(o.here)),
        backends(calls.size(), nullptr),
        dones(calls.size()) {
    if (o.cancellation != nullptr) step_abort = std::make_shared<StepAbort>(*o.cancellation);
  }

  // Ends what gathers.
  void close(const Status& why) {
    std::vector<Communicator::Done> waiting;
    {
      MutexLock lock(mutex);
      if (cause.ok()) cause = why;
      if (!gathering) return;
      gathering = false;
      for (Communicator::Done& done : dones) {
        if (done != nullptr) waiting.push_back(std::exchange(done, nullptr));
      }
      arrived = 0;
    }
    for (const Communicator::Done& done : waiting) done(copy_of(why));
  }

  const std::shared_ptr<NetGroup> net;
  const SpanningOptions options;
  std::shared_ptr<StepAbort> step_abort;  // null: no step
  Mutex mutex;
  Status cause ARGOSY_GUARDED_BY(mutex);
  bool gathering ARGOSY_GUARDED_BY(mutex) = true;  // false: the network has the calls
  std::size_t arrived ARGOSY_GUARDED_BY(mutex) = 0;
  std::vector<CollectiveCall> calls ARGOSY_GUARDED_BY(mutex);    // by local rank
  std::vector<GroupBackend*> backends ARGOSY_GUARDED_BY(mutex);  // by local rank
  std::vector<Communicator::Done> dones ARGOSY_GUARDED_BY(mutex);
};

SpanningGroup::SpanningGroup(std::shared_ptr<NetGroup> net, const SpanningOptions& options)
    : state_(std::make_shared<State>(std::move(net), options)),
      cancelled_(options.cancellation, [state = state_.get(), cancellation = options.cancellation] {
        // The other tasks wait for this one, which will not come.
        state->net->abort(cancellation->status());
        state->close(cancellation->status());
      }) {
  ARGOSY_CHECK(options.here >= 1 && options.first >= 0 && options.first + options.here <= options.size);
  if (cancelled_.too_late()) state_->close(options.cancellation->status());
}

SpanningGroup::~SpanningGroup() {
  cancelled_.end();
  if (state_->step_abort != nullptr) state_->step_abort->disarm();
  state_->close(cancelled("the step is over"));
}

int SpanningGroup::size() const { return state_->options.size; }

namespace {

// Calls whose tensors are in GPUs' memory, on copies in the host's.
struct Staged {
  std::vector<CollectiveCall> asked;
  std::vector<std::unique_ptr<StagedCall>> copies;

  Status bring(const std::vector<GroupBackend*>& backends, std::vector<CollectiveCall>& calls) {
    for (std::size_t r = 0; r < asked.size(); ++r) {
      if (backends[r] == nullptr) continue;
      ARGOSY_ASSIGN_OR_RETURN(auto copy, backends[r]->copy_to_host(asked[r]));
      calls[r] = copy->call();
      copies.push_back(std::move(copy));
    }
    return ok_status();
  }
  Status bring_back() const {
    for (const auto& copy : copies) ARGOSY_RETURN_IF_ERROR(copy->bring_back());
    return ok_status();
  }
};

}  // namespace

void SpanningGroup::start(int rank, const CollectiveCall& call, Communicator::Done done, GroupBackend* backend) {
  State& s = *state_;
  const int local = rank - s.options.first;
  ARGOSY_CHECK(local >= 0 && local < s.options.here);
  std::vector<CollectiveCall> all;
  std::vector<GroupBackend*> backends;
  Status refused;
  {
    MutexLock lock(s.mutex);
    const auto slot = static_cast<std::size_t>(local);
    if (!s.cause.ok()) {
      refused = copy_of(s.cause);
    } else if (!s.gathering || s.dones[slot] != nullptr) {
      refused = failed_precondition(call.describe(), ": rank ", rank, " has not ended its last collective")
                    .with_id("ARG-COMM-003");
    } else {
      s.calls[slot] = call;
      s.calls[slot].rank = rank;
      s.backends[slot] = backend;
      s.dones[slot] = std::move(done);
      if (++s.arrived < s.calls.size()) return;
      s.gathering = false;
      all = s.calls;
      backends = s.backends;
    }
  }
  if (!refused.ok()) return done(std::move(refused));
  // The ranks of one task agree; what the tasks do is one graph.
  const Status agreed = all.size() > 1 ? CollectiveJob::check(all) : ok_status();
  const auto over = [state = state_](const Result<std::vector<Event>>& ends) {
    std::vector<Communicator::Done> dones;
    {
      MutexLock lock(state->mutex);
      if (!ends.ok() && state->cause.ok()) state->cause = copy_of(ends.status());
      for (Communicator::Done& one : state->dones) dones.push_back(std::exchange(one, nullptr));
      state->arrived = 0;
      state->gathering = true;
    }
    for (std::size_t r = 0; r < dones.size(); ++r) {
      if (!ends.ok()) {
        dones[r](copy_of(ends.status()));
      } else {
        dones[r](r < ends->size() ? (*ends)[r] : Event());
      }
    }
  };
  if (!agreed.ok()) return over(agreed);
  NetGroup::Spanning spanning{.ranks = {s.options.size, s.options.first, s.options.here}, .step_abort = s.step_abort};
  if (std::ranges::any_of(backends, [](const GroupBackend* b) { return b != nullptr; })) {
    const auto staged = std::make_shared<Staged>();
    staged->asked = all;
    spanning.before = [staged, backends](std::vector<CollectiveCall>& calls) { return staged->bring(backends, calls); };
    spanning.after = [staged] { return staged->bring_back(); };
    const bool one_for_all = std::ranges::all_of(backends, [&](const GroupBackend* b) { return b == backends[0]; });
    if (one_for_all) spanning.backend = backends[0];
  }
  s.net->start_spanning(std::move(all), std::move(spanning), s.options.tag, over);
}

}  // namespace argosy
