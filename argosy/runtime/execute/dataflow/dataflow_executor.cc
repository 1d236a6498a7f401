// Runs a step by TensorFlow's dataflow rules: every device serves a queue of entries that PropagatorState made ready.
// Everything but running kernels happens under one lock (argosy/runtime/execute/dataflow/entry_queues.h).
#include "argosy/base/clock.h"
#include "argosy/base/threads/cancel_link.h"
#include "argosy/base/threads/library_threads.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/runtime/execute/dataflow/entry_queues.h"
#include "argosy/runtime/execute/dataflow/entry_runner.h"
#include "argosy/runtime/execute/executor.h"

namespace argosy {

namespace {

class DataflowExecutor {
 public:
  DataflowExecutor(const Step& step, RunState& state, RunContext& context)
      : step_(step),
        state_(state),
        context_(context),
        queues_(step, state, context, [this](int d) { serve_device(d); }),
        runner_(step, state, context, queues_) {}

  Status run(std::span<const Tensor> feeds, std::span<Tensor> fetches) {
    for (std::size_t i = 0; i < feeds.size(); ++i) state_.tensors[step_.feed_slots[i]] = feeds[i];
    Cancellation& cancellation = context_.cancellation();
    CancelLink link(&cancellation, [this, &cancellation] { queues_.stop(cancellation.status()); });
    if (link.too_late()) queues_.stop(cancellation.status());
    StepStats* const stats = context_.stats();
    if (stats != nullptr) start_stats(*stats, step_);
    queues_.start();
    const int cores = step_.device_set->device(0).spec().cores;
    if (!context_.keeps_thread_budget() && thread_budget() != cores) set_thread_budget(cores);
    serve_host();
    runner_.finish_devices();
    link.end();
    if (stats != nullptr) stats->end_nanos = now_nanos();
    Status status = queues_.result();
    if (status.ok()) status = take_fetches(fetches);
    for (const std::int32_t slot : step_.released_at_end) state_.tensors[slot] = Tensor();
    return status;
  }

 private:
  void serve_host() {
    const DeterministicScope deterministic(context_.deterministic());
    RunningEntry running;
    bool done = false;  // `running` is to be settled
    while (true) {
      const EntryQueues::Next next = queues_.next_of_host(running, done);
      if (next == EntryQueues::Next::kOver) return;
      done = next == EntryQueues::Next::kEntry && runner_.execute(running);
      if (next == EntryQueues::Next::kNone) queues_.wait();
    }
  }

  // This object may be gone when the loop ends.
  void serve_device(int d) {
    const DeterministicScope deterministic(context_.deterministic());
    RunningEntry running;
    bool done = false;
    while (queues_.next_of_device(d, running, done)) done = runner_.execute(running);
  }

  Status take_fetches(std::span<Tensor> fetches) {
    for (std::size_t i = 0; i < fetches.size(); ++i) {
      const std::int32_t slot = step_.fetch_slots[i];
      fetches[i] = Tensor();
      if (slot < 0) continue;
      if (!state_.tensors[slot].valid()) return no_value(i);
      ARGOSY_ASSIGN_OR_RETURN(fetches[i], take_fetch(step_, i, state_.tensors[slot], context_));
    }
    return ok_status();
  }

  const Step& step_;
  RunState& state_;
  RunContext& context_;
  EntryQueues queues_;
  EntryRunner runner_;
};

}  // namespace

Status run_dataflow(const Step& step, RunState& state, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                    RunContext& context) {
  return DataflowExecutor(step, state, context).run(feeds, fetches);
}

}  // namespace argosy
