// EntryQueues: the shared state of one dataflow run, under one lock. It holds the entries that PropagatorState made
// ready, by device; how many run; the first error; and whether the run is over. A task of a device's compute stream
// serves the device's queue from its first entry on. The caller's thread serves the host's queue, and keeps this object
// until the run is over. Thread-safe.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/runtime/execute/dataflow/propagator_state.h"
#include "argosy/runtime/execute/event_count.h"
#include "argosy/runtime/execute/run_context.h"

namespace argosy {

// What one running entry needs until it has ended. Each thread keeps one and reuses its memory.
struct RunningEntry {
  PropagatorState::Entry entry;
  bool runs = false;                  // its kernel is run: it is live or sends, and the run has not failed
  FrameIteration place;               // if it sends, receives or is asynchronous
  std::unique_ptr<StepContext> step;  // if it needs `place` and is in a loop; null: the run's
  Status refused;                     // the error of taking its inputs
  std::vector<Tensor> inputs, outputs;
  std::vector<const Tensor*> input_pointers;
  std::vector<OutputSlot> slots;
  std::int64_t start = 0;              // nanoseconds; 0: not measured
  std::vector<OutputRecord> recorded;  // of `outputs`, where StepStats::keep_outputs
};

class EntryQueues {
 public:
  // `serve(d)`: takes entries of device d until there are none; called on its compute stream. All outlive this.
  EntryQueues(const Step& step, RunState& state, RunContext& context, std::function<void(int d)> serve);

  // Makes the entries without predecessors ready.
  void start();

  // Takes the next entry of the host into `running`. `done`: the entry in `running` has ended, and is settled first
  // (its outputs are delivered). kNone: there is none now; wait() returns when that may have changed. kOver: nothing
  // runs, and nothing will.
  enum class Next { kEntry, kNone, kOver };
  Next next_of_host(RunningEntry& running, bool done);
  void wait();
  // The same for another device. False: its queue is empty. This object may be destroyed then.
  bool next_of_device(int d, RunningEntry& running, bool done);
  // Settles an entry that ended on a thread outside of the run. This object may be destroyed afterwards.
  void settle_from_outside(RunningEntry& running);

  // No other entry becomes ready. Kernels under way are not cancelled.
  void stop(const Status& reason);
  // stop(), and cancels the run's context, so that whatever waits in the run ends.
  void fail(const Status& reason);
  // REQUIRES: the run is over. Returns the first error; "ARG-LOOP-004" where a node waits for itself; else OK.
  Status result();

 private:
  struct Queue {
    std::deque<PropagatorState::Entry> entries;
    bool served = false;  // a task of the device's compute stream serves it
  };

  bool over() const ARGOSY_REQUIRES(mutex_) { return executing_ == 0 && (broken_ || flow_.outstanding() == 0); }
  void wake_host() ARGOSY_REQUIRES(mutex_);
  bool take_next(int d, RunningEntry& running) ARGOSY_REQUIRES(mutex_);
  void distribute_ready() ARGOSY_REQUIRES(mutex_);
  void settle(RunningEntry& running) ARGOSY_REQUIRES(mutex_);
  void deliver_outputs(RunningEntry& running) ARGOSY_REQUIRES(mutex_);
  void break_off(Status why) ARGOSY_REQUIRES(mutex_);
  void tell_if_broken();

  const Step& step_;
  RunContext& context_;
  const std::function<void(int)> serve_;
  Mutex mutex_;
  EventCount event_count_;     // the host's
  std::atomic<int> wakes_{0};  // changes that the host must look at
  int seen_ = 0;               // the host's thread alone: `wakes_` before it looked last
  PropagatorState flow_ ARGOSY_GUARDED_BY(mutex_);
  Status error_ ARGOSY_GUARDED_BY(mutex_);
  int servers_ ARGOSY_GUARDED_BY(mutex_) = 0;                            // devices whose queue is served
  int executing_ ARGOSY_GUARDED_BY(mutex_) = 0;                          // entries taken from a queue and not settled
  bool broken_ ARGOSY_GUARDED_BY(mutex_) = false;                        // an exception left this state incomplete
  bool must_tell_ ARGOSY_GUARDED_BY(mutex_) = false;                     // broken_, but not cancelled yet
  std::vector<Queue> queues_ ARGOSY_GUARDED_BY(mutex_);                  // by device
  std::vector<PropagatorState::Entry> ready_ ARGOSY_GUARDED_BY(mutex_);  // of distribute_ready(): reused memory
};

}  // namespace argosy
