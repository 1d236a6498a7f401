// The executor for control flow and blocking instructions: every device serves a queue of entries that PropagatorState made ready.
// Everything but running kernels happens under one lock.
//
// On a GPU instructions are only started, in the order of its stream; what one of them gives is ready for the next of the
// same GPU as soon as it is started, and its memory is freed in that order too. The host waits for a GPU where
// something leaves it: before a value in its memory, or a control edge, goes to another device, and when a run ends.
#include <algorithm>
#include <array>
#include <atomic>
#include <deque>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/threads/cancel_link.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/base/threads/library_threads.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/device/event.h"
#include "argosy/runtime/execute/executor.h"
#include "argosy/runtime/execute/gate.h"
#include "argosy/runtime/execute/inject_bit_flip.h"
#include "argosy/runtime/execute/propagator_state.h"
#include "argosy/runtime/machine/once_callback.h"

namespace argosy {

namespace {

using Entry = PropagatorState::Entry;

// What a running entry alone holds may be overwritten: everybody who is to read a value holds it too.
constexpr auto kMayDonate = [] {
  std::array<bool, 64> all{};
  all.fill(true);
  return all;
}();

class DataflowExecutor {
 public:
  DataflowExecutor(const Step& step, RunState& state, RunContext& context)
      : step_(step),
        state_(state),
        context_(context),
        flow_(step, state),
        queues_(static_cast<std::size_t>(step.device_set->size())),
        async_devices_(queues_.size()),
        leaves_device_(step.instructions.size(), 0) {
    for (std::size_t i = 0; i < step.instructions.size(); ++i) {
      const Instruction& instruction = step.instructions[i];
      for (const Step::Edge& e : step.successors[i]) {
        const bool here = step.instructions[e.instruction].device == instruction.device;
        const bool told = e.output >= 0 && step.slots[instruction.first_output + e.output].space == 0;
        if (!here && !told) leaves_device_[i] = 1;
      }
    }
  }

  Status run(std::span<const Tensor> feeds, std::span<Tensor> fetches) {
    for (std::size_t i = 0; i < feeds.size(); ++i) state_.tensors[step_.feed_slots[i]] = feeds[i];
    CancelLink link(&context_.cancellation(), [this] { stop(context_.cancellation().status()); });
    if (link.too_late()) stop(context_.cancellation().status());
    StepStats* const stats = context_.stats();
    if (stats != nullptr) {
      stats->start_nanos = now_nanos();
      stats->devices.assign(static_cast<std::size_t>(step_.device_set->size()), {});
      for (int d = 0; d < step_.device_set->size(); ++d)
        stats->devices[static_cast<std::size_t>(d)].device = step_.device_set->device(d).spec().name;
      stats->ops.clear();
    }
    {
      MutexLock lock(mutex_);
      try {
        flow_.start();
        pass_on();
      } catch (...) {
        break_off(status_of_exception());
      }
    }
    end_if_broken();
    const int cores = step_.device_set->device(0).spec().cores;
    if (!context_.keeps_thread_budget() && thread_budget() != cores) set_thread_budget(cores);
    serve_host();
    finish_async_devices();
    link.end();
    if (stats != nullptr) stats->end_nanos = now_nanos();
    Status status;
    {
      MutexLock lock(mutex_);
      status = copy_of(error_);
      if (const std::int32_t instruction = status.ok() ? flow_.stuck() : -1; instruction >= 0)
        status = waits_for_itself(instruction);
    }
    for (std::size_t i = 0; i < fetches.size() && status.ok(); ++i) {
      const std::int32_t slot = step_.fetch_slots[i];
      fetches[i] = Tensor();
      if (slot < 0) continue;
      if (!state_.tensors[slot].valid()) {
        status = no_value(i);
        break;
      }
      auto taken = take_fetch(step_, i, state_.tensors[slot], context_);
      if (taken.ok()) {
        fetches[i] = *std::move(taken);
      } else {
        status = std::move(taken).status();
      }
    }
    for (const std::int32_t slot : step_.released_at_end) state_.tensors[slot] = Tensor();
    return status;
  }

 private:
  struct Queue {
    std::deque<Entry> entries;
    bool served = false;  // a task of the device's compute stream is at it
  };

  // An asynchronous device. Its compute thread's, while the run lasts.
  struct AsyncDevice {
    bool started = false;  // something, since the run began
    // Copies to it that may be under way, and what they read: memory of which its stream knows nothing.
    std::vector<std::pair<Event, Tensor>> arriving;
  };

  // What one running entry needs until it is done. Each thread keeps one and uses its memory again.
  struct Running {
    Entry entry;
    bool runs = false;  // neither dead nor in a run that has failed
    Status refused;     // its inputs could not be taken
    std::vector<Tensor> inputs, outputs;
    std::vector<const Tensor*> input_pointers;
    std::vector<OutputSlot> slots;
    std::int64_t start = 0;
  };

  Status waits_for_itself(std::int32_t instruction) const {
    return name_node(invalid_argument("it never ran: to enter a loop, what leaves the loop is needed")
                         .with_id("ARG-LOOP-004")
                         .with_hint("take it out of the way from there to the loop"),
                     step_, step_.instructions[instruction]);
  }

  // --- threads -------------------------------------------------------------------------------------------------------

  // An entry costs one lock: what the last one gave is passed on and the next one taken under the same.
  void serve_host() {
    const DeterministicScope deterministic(context_.deterministic());
    Running running;
    bool done = false;  // `running` is to be passed on
    while (true) {
      bool found = false, broken = false;
      const int seen = wakes_.load(std::memory_order_acquire);
      {
        MutexLock lock(mutex_);
        if (done) settle(running);
        found = take_next(0, running);
        if (!found && over() && servers_ == 0) return;
        broken = to_be_ended_;
      }
      if (broken) [[unlikely]]
        end_if_broken();
      if (found) {
        done = execute(running);
      } else {
        done = false;
        gate_.wait([&] { return wakes_.load(std::memory_order_acquire) != seen; });
      }
    }
  }

  void serve(int d) {
    const DeterministicScope deterministic(context_.deterministic());
    Running running;
    bool done = false, broken = false;
    while (true) {
      {
        MutexLock lock(mutex_);
        if (done) settle(running);
        broken = to_be_ended_;
        if (!broken && !take_next(d, running)) {
          queues_[d].served = false;
          --servers_;
          wake_host();
          return;
        }
      }
      if (broken) [[unlikely]] {
        end_if_broken();
        done = false;
        continue;
      }
      done = execute(running);
    }
  }

  bool take_next(int d, Running& running) ARGOSY_REQUIRES(mutex_) {
    auto& entries = queues_[d].entries;
    if (entries.empty()) return false;
    running.entry = entries.front();
    entries.pop_front();
    ++executing_;
    running.runs = !running.entry.dead && error_.ok();
    try {
      if (running.runs) flow_.take_inputs(running.entry, running.inputs);
    } catch (...) {
      running.refused = status_of_exception();
    }
    return true;
  }

  // The host's thread holds this object until servers_ is zero and the run is over(); both change under the lock, and
  // so does this.
  void wake_host() ARGOSY_REQUIRES(mutex_) {
    wakes_.fetch_add(1, std::memory_order_release);
    gate_.open();
  }

  // --- entries -------------------------------------------------------------------------------------------------------

  // Hands what became ready to the devices.
  void pass_on() ARGOSY_REQUIRES(mutex_) {
    flow_.take_ready(ready_);
    for (const Entry& entry : ready_) {
      const int d = step_.instructions[entry.instruction].device;
      queues_[d].entries.push_back(entry);
      if (d == 0) {
        wake_host();
      } else if (!queues_[d].served) {
        step_.device_set->device(d).compute().run([this, d] { serve(d); });
        queues_[d].served = true;
        ++servers_;
      }
    }
  }

  // True: it is done, and to be settled. False: it goes on by itself, and `running` has lost it.
  bool execute(Running& running) {
    const CheckScope checks;
    try {
      return execute_unguarded(running);
    } catch (...) {
      return complete(running, status_of_exception());
    }
  }

  bool execute_unguarded(Running& running) {
    const Instruction& instruction = step_.instructions[running.entry.instruction];
    if (!running.refused.ok()) return complete(running, std::exchange(running.refused, ok_status()));
    running.outputs.assign(static_cast<std::size_t>(instruction.num_outputs), Tensor());
    running.start = 0;
    if (!running.runs) return true;
    running.slots.resize(running.outputs.size());
    for (std::size_t o = 0; o < running.outputs.size(); ++o) {
      running.slots[o] = {.tensor = &running.outputs[o],
                          .on_host = step_.slots[static_cast<std::size_t>(instruction.first_output) + o].space == 0};
    }
    Device& device = step_.device_set->device(instruction.device);
    KernelObserver* const observer = device.observer();
    const std::string_view name = step_.nodes[instruction.node].name;
    if (observer != nullptr || context_.stats() != nullptr) running.start = now_nanos();
    Status status = dereference(running);
    if (status.ok() && instruction.kernel == nullptr) return complete(running, copy(running, device));
    if (status.ok() && observer != nullptr) status = observer->before(name, &context_.cancellation());
    if (!status.ok()) return complete(running, std::move(status));
    running.input_pointers.clear();
    for (int k = 0; k < instruction.num_inputs; ++k) running.input_pointers.push_back(&running.inputs[k]);
    KernelContext kernel_context(
        {.inputs = running.input_pointers.data(),
         .num_inputs = instruction.num_inputs,
         .outputs = running.slots.data(),
         .num_outputs = instruction.num_outputs,
         .output_dtypes = step_.output_dtypes.data() + instruction.first_dtype,
         .may_donate = instruction.num_inputs <= 64 ? kMayDonate.data() : nullptr,
         .node = name,
         .device = &device,
         .allocator = &device.allocator(),
         .host_allocator = device.launch_queue() != nullptr ? &step_.device_set->device(0).allocator() : nullptr,
         .resources = &step_.device_set->resources(instruction.device),
         .step = &context_});
    LaunchQueue* const queue = device.launch_queue();
    if (instruction.async) {
      // Whoever goes on with it looks at what it reads.
      if (queue != nullptr) status = queue->finish(&context_.cancellation());
      if (!status.ok()) return complete(running, std::move(status));
      auto kept = std::make_shared<KernelContext>(kernel_context);
      auto moved = std::make_shared<Running>(std::move(running));  // what the context points to stays where it is
      const auto told = std::make_shared<OnceCallback>([this, moved](Status done) {
        complete(*moved, std::move(done));
        settle_from_outside(*moved);
      });
      try {
        static_cast<AsyncKernel*>(instruction.kernel)->run_async(*kept, [told, kept](Status done) {
          told->tell(std::move(done));
        });
      } catch (...) {
        told->tell(status_of_exception());
      }
      return false;
    }
    status = run_kernel(instruction, running.entry.instruction, kernel_context);
    if (queue != nullptr) {
      async_devices_[instruction.device].started = true;
      if (status.ok() && leaves_device_[running.entry.instruction] != 0)
        status = queue->finish(&context_.cancellation());
    }
    if (observer != nullptr) observer->after(name, now_nanos() - running.start);
    if (observer != nullptr && status.ok()) {
      status = inject_bit_flip_if_due(*observer, device, running.input_pointers, running.slots);
    }
    return complete(running, std::move(status));
  }

  Status run_kernel(const Instruction& instruction, std::int32_t index, KernelContext& kernel_context) {
    // Also where the kernel throws.
    class Now {
     public:
      Now(std::atomic<std::int32_t>& running, std::int32_t index) : running_(running) {
        running_.store(index, std::memory_order_relaxed);
      }
      ~Now() { running_.store(-1, std::memory_order_relaxed); }
      Now(const Now&) = delete;
      Now& operator=(const Now&) = delete;

     private:
      std::atomic<std::int32_t>& running_;
    };
    const InterruptScope interrupts(&context_.cancellation(), !instruction.updates);
    const Now now(state_.running[static_cast<std::size_t>(instruction.device)].instruction, index);
    return instruction.kernel->run(kernel_context);
  }

  // Values of variables in place of references; their handles come after the inputs.
  Status dereference(Running& running) {
    const Instruction& instruction = step_.instructions[running.entry.instruction];
    const auto& derefs = step_.meta[running.entry.instruction].derefs;
    for (std::size_t d = 0; d < derefs.size(); ++d) {
      const Tensor& h = running.inputs[static_cast<std::size_t>(instruction.num_inputs) + d];
      // A Merge is run with its live input alone.
      if (instruction.flow == Flow::kMerge && !h.valid()) continue;
      if (!h.valid() || h.dtype() != DType::kResource) return invalid_argument("a reference is no handle");
      const auto variable = std::dynamic_pointer_cast<Variable>(h.data<ResourceHandle>()->resource());
      if (!variable) return invalid_argument("a reference does not name a variable");
      ARGOSY_ASSIGN_OR_RETURN(const Tensor value, variable->read(h.data<ResourceHandle>()->name()));
      if (const DType told = step_.slots[derefs[d].second].dtype; value.dtype() != told) {
        return invalid_argument("variable \"", h.data<ResourceHandle>()->name(), "\" holds ", dtype_name(value.dtype()),
                                ", the graph says ", dtype_name(told))
            .with_id("ARG-VAR-003");
      }
      for (int k = 0; k < instruction.num_inputs; ++k) {
        if (step_.input_slots[instruction.first_input + k] == derefs[d].second) running.inputs[k] = value;
      }
    }
    const auto live = running.inputs.begin() + instruction.num_inputs;
    if (instruction.flow == Flow::kMerge && !derefs.empty() &&
        std::none_of(running.inputs.begin(), live, [](const Tensor& t) { return t.valid(); })) {
      return internal_error("none of its inputs is live").with_id("ARG-VAR-003");
    }
    return ok_status();
  }

  Status copy(Running& running, Device& device) {
    const Tensor& from = running.inputs[0];
    const Instruction& instruction = step_.instructions[running.entry.instruction];
    Allocator& where =
        step_.slots[instruction.first_output].space == 0 ? step_.device_set->device(0).allocator() : device.allocator();
    ARGOSY_ASSIGN_OR_RETURN(running.outputs[0], Tensor::allocate(from.dtype(), from.shape(), where));
    if (device.launch_queue() != nullptr) return copy_async(running, device);
    device.copies().copy(running.outputs[0].buffer(), from.buffer().part(0, from.bytes()));
    return device.copies().synchronize();
  }

  // From a GPU to the host, which is to look at it: waits. To a GPU: what is started there next comes after it.
  Status copy_async(Running& running, Device& device) {
    const Instruction& instruction = step_.instructions[running.entry.instruction];
    const Tensor &from = running.inputs[0], &to = running.outputs[0];
    LaunchQueue& queue = *device.launch_queue();
    AsyncDevice& async = async_devices_[instruction.device];
    async.started = true;
    const Buffer source(from.buffer().owner(), from.raw(), from.bytes());
    if (step_.slots[instruction.first_output].space == 0) {
      ARGOSY_ASSIGN_OR_RETURN(const Event there, queue.copy_out(to.buffer(), source));
      ARGOSY_RETURN_IF_ERROR(queue.finish(&context_.cancellation()));
      if (there.state() != nullptr) there.state()->wait();
      return queue.failure();
    }
    ARGOSY_ASSIGN_OR_RETURN(const Event there, queue.copy_in(to.buffer(), source));
    ARGOSY_RETURN_IF_ERROR(queue.wait(there));
    std::erase_if(async.arriving,
                  [](const auto& a) { return a.first.state() == nullptr || a.first.state()->reached(); });
    async.arriving.emplace_back(there, from);
    return ok_status();
  }

  // What was started is over when the run is, also after an error.
  void finish_async_devices() {
    for (std::size_t d = 1; d < async_devices_.size(); ++d) {
      Device& device = step_.device_set->device(static_cast<int>(d));
      if (!async_devices_[d].started || device.launch_queue() == nullptr) continue;
      Status status;
      device.compute().run([&] {
        status = device.launch_queue()->finish(&context_.cancellation());
        async_devices_[d].arriving.clear();
      });
      if (Status done = device.compute().synchronize(); status.ok()) status = std::move(done);
      if (status.ok()) continue;
      stop(Status(status.code(), str_cat("step ", context_.step_id(), ": ", status.message()))
               .with_id(std::string(status.id()))
               .with_where(device.spec().name.to_string())
               .with_hint(status.hint()));
    }
  }

  // --- propagation ---------------------------------------------------------------------------------------------------

  // The kernel has ended. Always true.
  bool complete(Running& running, Status status) {
    running.inputs.clear();
    if (status.ok()) return true;
    const Status named = name_node(std::move(status), step_, step_.instructions[running.entry.instruction]);
    stop(named);
    end_run(named);
    return true;
  }
  // Kernels that wait inside the run end with `why`.
  void end_run(const Status& why) { context_.cancellation().cancel(copy_of(why)); }

  // Delivers the outputs of the entry.
  void settle(Running& running) ARGOSY_REQUIRES(mutex_) {
    deliver_outputs(running);
    --executing_;
    if (over()) wake_host();
  }

  // The same from a thread that is none of this run's: once it has been counted down, this object may be gone.
  void settle_from_outside(Running& running) {
    {
      MutexLock lock(mutex_);
      deliver_outputs(running);
      if (!to_be_ended_) {
        --executing_;
        if (over()) wake_host();
        return;
      }
    }
    end_if_broken();
    MutexLock lock(mutex_);
    --executing_;
    wake_host();
  }

  bool over() const ARGOSY_REQUIRES(mutex_) { return executing_ == 0 && (broken_ || flow_.outstanding() == 0); }

  // There was no memory for the run's own books: they cannot be relied on any more. Nothing else is started; what runs
  // is waited for.
  void break_off(Status why) ARGOSY_REQUIRES(mutex_) {
    if (error_.ok()) error_ = std::move(why);
    flow_.fail();
    broken_ = to_be_ended_ = true;
    for (Queue& queue : queues_) queue.entries.clear();
    wake_host();
  }
  // Not under the lock, which those who are told may take.
  void end_if_broken() {
    Status why;
    {
      MutexLock lock(mutex_);
      if (!to_be_ended_) return;
      to_be_ended_ = false;
      why = copy_of(error_);
    }
    end_run(why);
  }

  void deliver_outputs(Running& running) ARGOSY_REQUIRES(mutex_) {
    try {
      if (!broken_) {
        note_op(running);
        flow_.finish(running.entry, running.outputs);
        pass_on();
      }
    } catch (...) {
      break_off(status_of_exception());
    }
    running.outputs.clear();
  }

  void note_op(const Running& running) ARGOSY_REQUIRES(mutex_) {
    if (StepStats* const stats = context_.stats(); stats != nullptr && running.start > 0) {
      const Instruction& instruction = step_.instructions[running.entry.instruction];
      auto& device = stats->devices[instruction.device];
      const std::int64_t end = now_nanos();
      (instruction.kernel == nullptr ? device.copy_nanos : device.compute_nanos) += end - running.start;
      ++device.ops;
      if (stats->keep_ops) {
        const Step::NodeInfo& node = step_.nodes[instruction.node];
        stats->ops.push_back({std::string(node.name), std::string(node.op), instruction.device, running.start, end});
      }
    }
  }

  void stop(const Status& reason) {
    MutexLock lock(mutex_);
    if (error_.ok()) error_ = copy_of(reason);
    flow_.fail();
    wake_host();
  }

  const Step& step_;
  RunState& state_;
  RunContext& context_;
  Mutex mutex_;
  Gate gate_;
  std::atomic<int> wakes_{0};
  PropagatorState flow_ ARGOSY_GUARDED_BY(mutex_);
  Status error_ ARGOSY_GUARDED_BY(mutex_);
  int servers_ ARGOSY_GUARDED_BY(mutex_) = 0;
  int executing_ ARGOSY_GUARDED_BY(mutex_) = 0;  // entries taken from a queue and not settled
  bool broken_ ARGOSY_GUARDED_BY(mutex_) = false;
  bool to_be_ended_ ARGOSY_GUARDED_BY(mutex_) = false;  // broken, and nobody told yet
  std::vector<Queue> queues_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<AsyncDevice> async_devices_;  // by device
  std::vector<char> leaves_device_;  // by instruction: it must have ended before somebody on another device may go on
  std::vector<Entry> ready_ ARGOSY_GUARDED_BY(mutex_);  // of pass_on(): its memory is used again
};

}  // namespace

Status run_dataflow(const Step& step, RunState& state, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                    RunContext& context) {
  return DataflowExecutor(step, state, context).run(feeds, fetches);
}

}  // namespace argosy
