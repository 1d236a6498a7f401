// Runs a step in its static schedule: a DeviceWalk for each device, the host's on the caller's thread.
#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/runtime/execute/device_walk.h"
#include "argosy/runtime/execute/static_run.h"

namespace argosy {

namespace {

class StaticExecutor {
 public:
  StaticExecutor(const Step& step, RunState& state, RunContext& context)
      : step_(step), state_(state), context_(context), run_(step, state, context) {}

  Status run(std::span<const Tensor> feeds, std::span<Tensor> fetches) {
    ++state_.epoch;
    for (std::size_t i = 0; i < feeds.size(); ++i) state_.tensors[step_.feed_slots[i]] = feeds[i];
    StepStats* const stats = context_.stats();
    if (stats != nullptr) start_stats(*stats, step_);
    // Other devices run on their own threads; the caller's is the host's.
    RunEventCounts& event_counts = *state_.event_counts;
    event_counts.running.store(0, std::memory_order_relaxed);
    const bool launched = run_devices();
    if (launched)
      event_counts.end.wait([&event_counts] { return event_counts.running.load(std::memory_order_acquire) == 0; });
    if (stats != nullptr) stats->end_nanos = now_nanos();
    Status status = finish(fetches);
    for (const std::int32_t slot : step_.released_at_end) state_.tensors[slot] = Tensor();
    for (Event& event : state_.events) event = Event();
    return status;
  }

 private:
  // True: other devices were started.
  bool run_devices() {
    const bool two_phases = !step_.plan.phase_one_size.empty();
    bool launched = launch(0, two_phases ? 1 : 2);
    const std::size_t end = step_.plan.order[0].size();
    if (end == 0 && !two_phases) return launched;
    const int cores = step_.device_set->device(0).spec().cores;
    if (!context_.keeps_thread_budget() && thread_budget() != cores) set_thread_budget(cores);
    DeviceWalk host(run_, 0);
    if (two_phases) {
      const auto middle = static_cast<std::size_t>(step_.plan.phase_two_position);
      host.drive(0, middle);
      if (wait_for_phase_two_dependencies()) launched = launch(1, 2) || launched;
      host.drive(middle, end);
    } else {
      host.drive(0, end);
    }
    host.settle();
    return launched;
  }

  // Phase two of the other devices is started only when all that it waits for is there. False: the run has failed.
  bool wait_for_phase_two_dependencies() {
    for (const std::int32_t p : step_.plan.phase_two_dependencies) run_.wait_for(0, p);
    return !run_.failed();
  }

  // Phases [from, to) of the orders of all devices but the host's. False: there are none.
  bool launch(int from, int to) {
    const auto& order = step_.plan.order;
    const auto begin_of = [&](std::size_t d, int phase) {
      if (phase == 0) return std::size_t{0};
      return phase == 1 ? static_cast<std::size_t>(step_.plan.phase_one_size[d]) : order[d].size();
    };
    int count = 0;
    for (std::size_t d = 1; d < order.size(); ++d) count += begin_of(d, from) < begin_of(d, to) ? 1 : 0;
    if (count == 0) return false;
    state_.event_counts->running.fetch_add(count, std::memory_order_relaxed);
    MutexLock lock(step_.device_set->launch_mutex());
    for (std::size_t d = 1; d < order.size(); ++d) {
      const std::size_t begin = begin_of(d, from), end = begin_of(d, to);
      if (begin != end) launch_device(static_cast<int>(d), begin, end);
    }
    return true;
  }

  void launch_device(int d, std::size_t begin, std::size_t end) {
    const auto device_finished = [event_counts = state_.event_counts] {
      if (event_counts->running.fetch_sub(1, std::memory_order_acq_rel) == 1) event_counts->end.notify();
    };
    try {
      step_.device_set->device(d).compute().run([this, d, begin, end, device_finished] {
        {
          DeviceWalk walk(run_, d);
          walk.drive(begin, end);
          walk.settle();
        }
        // After this call run() may return: only the event counts, which are shared, may be used.
        device_finished();
      });
    } catch (...) {  // This device did not start. Those that did see the failure, and run() waits for them.
      run_.fail(status_of_exception());
      device_finished();
    }
  }

  Status finish(std::span<Tensor> fetches) {
    if (context_.cancellation().cancelled()) run_.fail(context_.cancellation().status());
    if (run_.failed()) return run_.error();
    for (std::size_t i = 0; i < fetches.size(); ++i) {
      const std::int32_t slot = step_.fetch_slots[i];
      if (slot < 0) {
        fetches[i] = Tensor();
        continue;
      }
      const auto& flags = step_.plan.fetch_dead_flags;
      if (!flags.empty() && flags[i] >= 0 && state_.dead[static_cast<std::size_t>(flags[i])] != 0) return no_value(i);
      ARGOSY_ASSIGN_OR_RETURN(fetches[i], take_fetch(step_, i, state_.tensors[slot], context_));
    }
    return ok_status();
  }

  const Step& step_;
  RunState& state_;
  RunContext& context_;
  StaticRun run_;
};

}  // namespace

Status run_static(const Step& step, RunState& state, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                  RunContext& context) {
  return StaticExecutor(step, state, context).run(feeds, fetches);
}

}  // namespace argosy
