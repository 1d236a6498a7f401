// EntryQueues: the books of one dataflow run, under one lock. They hold the entries that PropagatorState made ready, by
// device; how many run; the first error; and whether the run is over. A device whose queue gets its first entry is
// served by a task of its compute stream. The host's queue is served by the caller's thread, which holds this object
// until the run is over. Thread-safe.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/runtime/execute/dataflow/propagator_state.h"
#include "argosy/runtime/execute/gate.h"
#include "argosy/runtime/execute/run_context.h"

namespace argosy {

// What one running entry needs until it is done. Each thread keeps one and uses its memory again.
struct RunningEntry {
  PropagatorState::Entry entry;
  bool runs = false;                  // neither dead, unless it sends, nor in a run that has failed
  FrameIteration place;               // of what sends or receives
  std::unique_ptr<StepContext> step;  // of an entry in a loop of a step over several tasks; null: the run's
  Status refused;                     // its inputs could not be taken
  std::vector<Tensor> inputs, outputs;
  std::vector<const Tensor*> input_pointers;
  std::vector<OutputSlot> slots;
  std::int64_t start = 0;              // nanoseconds; 0: nobody measures
  std::vector<OutputRecord> recorded;  // of `outputs`, where StepStats::keep_outputs
};

class EntryQueues {
 public:
  // `serve(d)`: takes entries of device d until there are none; called on its compute stream. All outlive this.
  EntryQueues(const Step& step, RunState& state, RunContext& context, std::function<void(int d)> serve);

  // Makes ready what waits for nothing.
  void start();

  // The next entry of the host. `done`: what `running` holds has ended, and is settled first. kNone: there is none now;
  // wait() returns when that may have changed. kOver: nothing runs, and nothing will.
  enum class Next { kEntry, kNone, kOver };
  Next next_of_host(RunningEntry& running, bool done);
  void wait();
  // The same of another device. False: its queue is empty. This object may be gone then.
  bool next_of_device(int d, RunningEntry& running, bool done);
  // Settles an entry that ended on a thread which is none of the run's. This object may be gone afterwards.
  void settle_from_outside(RunningEntry& running);

  // Nothing else becomes ready; kernels under way are not told.
  void stop(const Status& reason);
  // stop(), and whoever waits inside the run is told.
  void fail(const Status& reason);
  // Of a run that is over: the first error, or "ARG-LOOP-004" where a node waits for itself.
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
  Gate gate_;                  // the host's
  std::atomic<int> wakes_{0};  // changes of which the host is to know
  int seen_ = 0;               // the host's thread alone: `wakes_` before it looked last
  PropagatorState flow_ ARGOSY_GUARDED_BY(mutex_);
  Status error_ ARGOSY_GUARDED_BY(mutex_);
  int servers_ ARGOSY_GUARDED_BY(mutex_) = 0;                            // devices whose queue is served
  int executing_ ARGOSY_GUARDED_BY(mutex_) = 0;                          // entries taken from a queue and not settled
  bool broken_ ARGOSY_GUARDED_BY(mutex_) = false;                        // there was no memory for these books
  bool must_tell_ ARGOSY_GUARDED_BY(mutex_) = false;                     // broken, and no waiter knows yet
  std::vector<Queue> queues_ ARGOSY_GUARDED_BY(mutex_);                  // by device
  std::vector<PropagatorState::Entry> ready_ ARGOSY_GUARDED_BY(mutex_);  // of distribute_ready(): reused memory
};

}  // namespace argosy
