#include "argosy/runtime/execute/dataflow/entry_queues.h"

#include <utility>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/runtime/execute/executor.h"

namespace argosy {

namespace {

Status waits_for_itself(const Step& step, std::int32_t instruction) {
  return name_node(invalid_argument("it never ran: to enter a loop, what leaves the loop is needed")
                       .with_id("ARG-LOOP-004")
                       .with_hint("take it out of the way from there to the loop"),
                   step, step.instructions[instruction]);
}

void tell_waiters(RunContext& context, const Status& why) { context.cancellation().cancel(copy_of(why)); }

}  // namespace

EntryQueues::EntryQueues(const Step& step, RunState& state, RunContext& context, std::function<void(int)> serve)
    : step_(step),
      context_(context),
      serve_(std::move(serve)),
      flow_(step, state),
      queues_(static_cast<std::size_t>(step.device_set->size())) {}

void EntryQueues::start() {
  {
    MutexLock lock(mutex_);
    try {
      flow_.start();
      distribute_ready();
    } catch (...) {
      break_off(status_of_exception());
    }
  }
  tell_if_broken();
}

// --- who serves a queue ----------------------------------------------------------------------------------------------

// One lock per entry: it settles the last one and takes the next one.
EntryQueues::Next EntryQueues::next_of_host(RunningEntry& running, bool done) {
  bool found = false, broken = false;
  seen_ = wakes_.load(std::memory_order_acquire);
  {
    MutexLock lock(mutex_);
    if (done) settle(running);
    found = take_next(0, running);
    if (!found && over() && servers_ == 0) return Next::kOver;
    broken = must_tell_;
  }
  if (broken) [[unlikely]]
    tell_if_broken();
  return found ? Next::kEntry : Next::kNone;
}

void EntryQueues::wait() {
  event_count_.wait([&] { return wakes_.load(std::memory_order_acquire) != seen_; });
}

bool EntryQueues::next_of_device(int d, RunningEntry& running, bool done) {
  while (true) {
    {
      MutexLock lock(mutex_);
      if (done) settle(running);
      if (!must_tell_) {
        if (take_next(d, running)) return true;
        queues_[d].served = false;
        --servers_;
        wake_host();
        return false;
      }
    }
    tell_if_broken();
    done = false;
  }
}

bool EntryQueues::take_next(int d, RunningEntry& running) {
  auto& entries = queues_[d].entries;
  if (entries.empty()) return false;
  running.entry = entries.front();
  entries.pop_front();
  ++executing_;
  const Instruction& instruction = step_.instructions[running.entry.instruction];
  const bool dead = running.entry.dead;
  const bool meets = instruction.sends || instruction.receives || instruction.async;  // other tasks, or other steps
  running.runs = error_.ok() && (!dead || instruction.sends);
  if (meets) running.place = PropagatorState::place_of(running.entry);
  try {
    if (running.runs && dead) running.inputs.assign(static_cast<std::size_t>(instruction.num_inputs), Tensor());
    if (running.runs && !dead) flow_.take_inputs(running.entry, running.inputs);
  } catch (...) {
    running.refused = status_of_exception();
  }
  return true;
}

// Called under the lock. The host's thread keeps this object until servers_ is zero and the run is over(). Both change
// under the lock, so this object exists throughout the call.
void EntryQueues::wake_host() {
  wakes_.fetch_add(1, std::memory_order_release);
  event_count_.notify();
}

// --- entries ---------------------------------------------------------------------------------------------------------

void EntryQueues::distribute_ready() {
  flow_.take_ready(ready_);
  for (const PropagatorState::Entry& entry : ready_) {
    const int d = step_.instructions[entry.instruction].device;
    queues_[d].entries.push_back(entry);
    if (d == 0) {
      wake_host();
    } else if (!queues_[d].served) {
      step_.device_set->device(d).compute().run([this, d] { serve_(d); });
      queues_[d].served = true;
      ++servers_;
    }
  }
}

void EntryQueues::settle(RunningEntry& running) {
  deliver_outputs(running);
  --executing_;
  if (over()) wake_host();
}

// Once the entry has been counted down, this object may be gone.
void EntryQueues::settle_from_outside(RunningEntry& running) {
  {
    MutexLock lock(mutex_);
    deliver_outputs(running);
    if (!must_tell_) {
      --executing_;
      if (over()) wake_host();
      return;
    }
  }
  tell_if_broken();
  MutexLock lock(mutex_);
  --executing_;
  wake_host();
}

void EntryQueues::deliver_outputs(RunningEntry& running) {
  try {
    if (!broken_) {
      if (StepStats* const stats = context_.stats(); stats != nullptr && running.start > 0) {
        const Instruction& instruction = step_.instructions[running.entry.instruction];
        const std::int64_t end = now_nanos();
        if (instruction.async) {  // several wait at once, so their times do not add up
          ++stats->devices[instruction.device].ops;
        } else {
          note_time(*stats, instruction, running.start, end);
        }
        note_op(*stats, step_, instruction, running.start, end, std::exchange(running.recorded, {}));
      }
      flow_.finish(running.entry, running.outputs);
      distribute_ready();
    }
  } catch (...) {
    break_off(status_of_exception());
  }
  running.outputs.clear();
}

// --- the end ---------------------------------------------------------------------------------------------------------

void EntryQueues::stop(const Status& reason) {
  MutexLock lock(mutex_);
  if (error_.ok()) error_ = copy_of(reason);
  flow_.fail();
  wake_host();
}

void EntryQueues::fail(const Status& reason) {
  stop(reason);
  tell_waiters(context_, reason);
}

// Ends the run after an exception (no memory) that left this state incomplete. Nothing else is started; what runs is
// waited for.
void EntryQueues::break_off(Status why) {
  if (error_.ok()) error_ = std::move(why);
  flow_.fail();
  broken_ = must_tell_ = true;
  for (Queue& queue : queues_) queue.entries.clear();
  wake_host();
}

// Cancels the context if the run is broken. Not under the lock, which whatever waits may take.
void EntryQueues::tell_if_broken() {
  Status why;
  {
    MutexLock lock(mutex_);
    if (!must_tell_) return;
    must_tell_ = false;
    why = copy_of(error_);
  }
  tell_waiters(context_, why);
}

Status EntryQueues::result() {
  MutexLock lock(mutex_);
  if (!error_.ok()) return copy_of(error_);
  const std::int32_t instruction = flow_.stuck();
  if (instruction < 0) return ok_status();
  return waits_for_itself(step_, instruction);
}

}  // namespace argosy
