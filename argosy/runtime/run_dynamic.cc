// The executor for control flow and blocking items: every device serves a queue of entries that DynamicFlow made ready.
// Everything but running kernels happens under one lock.
#include <array>
#include <atomic>
#include <deque>

#include "argosy/base/clock.h"
#include "argosy/base/parallel.h"
#include "argosy/runtime/dynamic_flow.h"
#include "argosy/runtime/executor.h"
#include "argosy/runtime/gate.h"

namespace argosy {

namespace {

using Entry = DynamicFlow::Entry;

// What a running entry alone holds may be overwritten: everybody who is to read a value holds it too.
constexpr auto kMayDonate = [] {
  std::array<bool, 64> all{};
  all.fill(true);
  return all;
}();

class Dynamic {
 public:
  Dynamic(const Step& step, RunState& state, RunContext& context)
      : step_(step),
        state_(state),
        context_(context),
        flow_(step, state),
        queues_(static_cast<std::size_t>(step.machine->size())) {}

  Status run(std::span<const Tensor> feeds, std::span<Tensor> fetches) {
    for (std::size_t i = 0; i < feeds.size(); ++i) state_.tensors[step_.feed_slots[i]] = feeds[i];
    Cancellation::Token token = 0;
    const bool watched = context_.cancellation().add([this] { stop(context_.cancellation().status()); }, &token);
    if (!watched) stop(context_.cancellation().status());
    StepStats* const stats = context_.stats();
    if (stats != nullptr) {
      stats->start_nanos = now_nanos();
      stats->devices.assign(static_cast<std::size_t>(step_.machine->size()), {});
      for (int d = 0; d < step_.machine->size(); ++d)
        stats->devices[static_cast<std::size_t>(d)].device = step_.machine->device(d).spec().name;
      stats->ops.clear();
    }
    {
      MutexLock lock(mutex_);
      flow_.start();
      pass_on();
    }
    const int cores = step_.machine->device(0).spec().cores;
    if (!context_.keeps_thread_budget() && thread_budget() != cores) set_thread_budget(cores);
    serve_host();
    if (watched) context_.cancellation().remove(token);
    if (stats != nullptr) stats->end_nanos = now_nanos();
    Status status;
    {
      MutexLock lock(mutex_);
      status = error_;
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
    for (const std::int32_t slot : step_.leftovers) state_.tensors[slot] = Tensor();
    return status;
  }

 private:
  struct Queue {
    std::deque<Entry> entries;
    bool served = false;  // a task of the device's compute stream is at it
  };

  // --- threads -------------------------------------------------------------------------------------------------------

  void serve_host() {
    while (true) {
      Entry entry{};
      bool found = false;
      {
        MutexLock lock(mutex_);
        auto& ready = queues_[0].entries;
        if (!ready.empty()) {
          entry = ready.front();
          ready.pop_front();
          found = true;
        } else if (flow_.outstanding() == 0 && servers_ == 0) {
          return;
        }
      }
      if (found) {
        process(entry);
      } else {
        const int seen = wakes_.load(std::memory_order_acquire);
        {
          MutexLock lock(mutex_);
          if (!queues_[0].entries.empty() || (flow_.outstanding() == 0 && servers_ == 0)) continue;
        }
        gate_.wait([&] { return wakes_.load(std::memory_order_acquire) != seen; });
      }
    }
  }

  void serve(int d) {
    while (true) {
      Entry entry{};
      {
        MutexLock lock(mutex_);
        auto& queue = queues_[d];
        if (queue.entries.empty()) {
          queue.served = false;
          --servers_;
          wake_host();
          return;
        }
        entry = queue.entries.front();
        queue.entries.pop_front();
      }
      process(entry);
    }
  }

  // The host's thread holds this object until servers_ and flow_.outstanding() are zero; both change under the lock,
  // and so does this.
  void wake_host() ARGOSY_REQUIRES(mutex_) {
    wakes_.fetch_add(1, std::memory_order_release);
    gate_.open();
  }

  // --- entries -------------------------------------------------------------------------------------------------------

  // Hands what became ready to the devices.
  void pass_on() ARGOSY_REQUIRES(mutex_) {
    for (const Entry& entry : flow_.take_ready()) {
      const int d = step_.items[entry.item].device;
      queues_[d].entries.push_back(entry);
      if (d == 0) {
        wake_host();
      } else if (!queues_[d].served) {
        queues_[d].served = true;
        ++servers_;
        step_.machine->device(d).compute().run([this, d] { serve(d); });
      }
    }
  }

  // What one running entry needs until it is done.
  struct Running {
    Entry entry;
    std::vector<Tensor> inputs, outputs;
    std::vector<const Tensor*> input_pointers;
    std::vector<OutputSlot> slots;
    std::int64_t start = 0;
  };

  void process(const Entry& entry) {
    auto running = std::make_shared<Running>();
    running->entry = entry;
    const Item& item = step_.items[entry.item];
    running->outputs.resize(static_cast<std::size_t>(item.num_outputs));
    bool runs = !entry.dead;
    {
      MutexLock lock(mutex_);
      runs = runs && error_.ok();
      if (runs) running->inputs = flow_.take_inputs(entry);
    }
    if (!runs) return finish(*running, ok_status());
    running->slots.resize(running->outputs.size());
    for (std::size_t o = 0; o < running->outputs.size(); ++o) running->slots[o].tensor = &running->outputs[o];
    Device& device = step_.machine->device(item.device);
    KernelObserver* const observer = device.observer();
    const std::string& name = step_.nodes[item.node].name;
    if (observer != nullptr || context_.stats() != nullptr) running->start = now_nanos();
    Status status = dereference(*running);
    if (status.ok() && item.kernel == nullptr) {
      return finish(*running, copy(*running, device));
    }
    if (status.ok() && observer != nullptr) status = observer->before(name, &context_.cancellation());
    if (!status.ok()) return finish(*running, std::move(status));
    for (int k = 0; k < item.num_inputs; ++k) running->input_pointers.push_back(&running->inputs[k]);
    KernelContext kernel_context({.inputs = running->input_pointers.data(),
                                  .num_inputs = item.num_inputs,
                                  .outputs = running->slots.data(),
                                  .num_outputs = item.num_outputs,
                                  .output_dtypes = step_.output_dtypes.data() + item.first_dtype,
                                  .may_donate = item.num_inputs <= 64 ? kMayDonate.data() : nullptr,
                                  .node = name,
                                  .device = &device,
                                  .allocator = &device.allocator(),
                                  .resources = &step_.machine->resources(item.device),
                                  .step = &context_});
    if (item.async) {
      auto kept = std::make_shared<KernelContext>(kernel_context);
      static_cast<AsyncKernel*>(item.kernel)->run_async(*kept, [this, running, kept](Status done) {
        finish(*running, std::move(done));
      });
      return;
    }
    status = item.kernel->run(kernel_context);
    if (observer != nullptr) observer->after(name, now_nanos() - running->start);
    finish(*running, std::move(status));
  }

  // Values of variables in place of references; their handles come after the inputs.
  Status dereference(Running& running) {
    const Item& item = step_.items[running.entry.item];
    const auto& derefs = step_.extras[running.entry.item].derefs;
    for (std::size_t d = 0; d < derefs.size(); ++d) {
      const Tensor& h = running.inputs[static_cast<std::size_t>(item.num_inputs) + d];
      if (!h.valid() || h.dtype() != DType::kResource) return invalid_argument("a reference is no handle");
      const auto variable = std::dynamic_pointer_cast<Variable>(h.data<ResourceHandle>()->resource());
      if (!variable) return invalid_argument("a reference does not name a variable");
      ARGOSY_ASSIGN_OR_RETURN(const Tensor value, variable->read(h.data<ResourceHandle>()->name()));
      for (int k = 0; k < item.num_inputs; ++k) {
        if (step_.input_slots[item.first_input + k] == derefs[d].second) running.inputs[k] = value;
      }
    }
    return ok_status();
  }

  Status copy(Running& running, Device& device) {
    const Tensor& from = running.inputs[0];
    const Item& item = step_.items[running.entry.item];
    Allocator& where =
        step_.slots[item.first_output].space == 0 ? step_.machine->device(0).allocator() : device.allocator();
    ARGOSY_ASSIGN_OR_RETURN(running.outputs[0], Tensor::allocate(from.dtype(), from.shape(), where));
    device.copies().copy(running.outputs[0].buffer(), from.buffer().part(0, from.bytes()));
    return device.copies().synchronize();
  }

  // --- propagation ---------------------------------------------------------------------------------------------------

  void finish(Running& running, Status status) {
    const Entry entry = running.entry;
    const Item& item = step_.items[entry.item];
    if (StepStats* const stats = context_.stats(); stats != nullptr && running.start > 0) {
      MutexLock lock(mutex_);
      auto& device = stats->devices[item.device];
      const std::int64_t end = now_nanos();
      (item.kernel == nullptr ? device.copy_nanos : device.compute_nanos) += end - running.start;
      ++device.ops;
      if (stats->keep_ops)
        stats->ops.push_back({step_.nodes[item.node].name, step_.nodes[item.node].op, item.device, running.start, end});
    }
    running.inputs.clear();
    if (!status.ok()) {
      const Status named = name_node(std::move(status), step_, item);
      stop(named);
      context_.cancellation().cancel(named);
      context_.abort(named);
    }
    MutexLock lock(mutex_);
    flow_.finish(entry, running.outputs);
    pass_on();
    if (flow_.outstanding() == 0) wake_host();
  }

  void stop(const Status& reason) {
    MutexLock lock(mutex_);
    if (error_.ok()) error_ = reason;
    flow_.fail();
    wake_host();
  }

  const Step& step_;
  RunState& state_;
  RunContext& context_;
  Mutex mutex_;
  Gate gate_;
  std::atomic<int> wakes_{0};
  DynamicFlow flow_ ARGOSY_GUARDED_BY(mutex_);
  Status error_ ARGOSY_GUARDED_BY(mutex_);
  int servers_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::vector<Queue> queues_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace

Status run_dynamic(const Step& step, RunState& state, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                   RunContext& context) {
  return Dynamic(step, state, context).run(feeds, fetches);
}

}  // namespace argosy
