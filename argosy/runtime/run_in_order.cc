#include <algorithm>
#include <cstring>

#include "argosy/base/clock.h"
#include "argosy/base/parallel.h"
#include "argosy/device/event.h"
#include "argosy/runtime/executor.h"

namespace argosy {

namespace {

constexpr std::size_t kInlineCopyBytes = 256 << 10;  // smaller copies are done at once, larger ones by the copy stream

class InOrder {
 public:
  InOrder(const Step& step, RunState& state, RunContext& context)
      : step_(step), state_(state), context_(context), gates_(state.gates->of_device) {}

  Status run(std::span<const Tensor> feeds, std::span<Tensor> fetches) {
    ++state_.epoch;
    for (std::size_t i = 0; i < feeds.size(); ++i) state_.tensors[step_.feed_slots[i]] = feeds[i];
    StepStats* stats = context_.stats();
    if (stats != nullptr) {
      stats->start_nanos = now_nanos();
      stats->devices.assign(gates_.size(), {});
      for (std::size_t d = 0; d < gates_.size(); ++d)
        stats->devices[d].device = step_.machine->device(static_cast<int>(d)).spec().name;
      stats->ops.clear();
    }
    // Other devices run on their own threads; the caller's is the host's.
    RunGates& gates = *state_.gates;
    gates.running.store(0, std::memory_order_relaxed);
    const bool parts = !step_.parts.empty();
    bool launched = launch(0, parts ? 1 : 2);
    if (!step_.order[0].empty() || parts) {
      const int cores = step_.machine->device(0).spec().cores;
      if (!context_.keeps_thread_budget() && thread_budget() != cores) set_thread_budget(cores);
      std::atomic<int> asyncs{0};
      if (parts) {
        drive(0, 0, static_cast<std::size_t>(step_.rest_at), asyncs);
        if (wait_for_rest()) launched = launch(1, 2) || launched;
      }
      drive(0, parts ? static_cast<std::size_t>(step_.rest_at) : 0, step_.order[0].size(), asyncs);
      settle(0, asyncs);
    }
    if (launched) gates.end.wait([&gates] { return gates.running.load(std::memory_order_acquire) == 0; });
    if (stats != nullptr) stats->end_nanos = now_nanos();
    Status status = finish(fetches);
    for (const std::int32_t slot : step_.leftovers) state_.tensors[slot] = Tensor();
    for (Event& event : state_.events) event = Event();
    return status;
  }

 private:
  // Parts [from, to) of the orders of all devices but the host's. False: there are none.
  bool launch(int from, int to) {
    const auto part = [&](std::size_t d, int k) {
      if (k == 0) return std::size_t{0};
      return k == 1 ? static_cast<std::size_t>(step_.parts[d]) : step_.order[d].size();
    };
    int count = 0;
    for (std::size_t d = 1; d < step_.order.size(); ++d) count += part(d, from) < part(d, to) ? 1 : 0;
    if (count == 0) return false;
    state_.gates->running.fetch_add(count, std::memory_order_relaxed);
    MutexLock lock(step_.machine->launch());
    for (std::size_t d = 1; d < step_.order.size(); ++d) {
      const std::size_t begin = part(d, from), end = part(d, to);
      if (begin == end) continue;
      const int device = static_cast<int>(d);
      step_.machine->device(device).compute().run([this, device, begin, end, gates = state_.gates] {
        std::atomic<int> asyncs{0};
        drive(device, begin, end, asyncs);
        settle(device, asyncs);
        // From here on the run may be over, and only the gates are sure to be there.
        if (gates->running.fetch_sub(1, std::memory_order_acq_rel) == 1) gates->end.open();
      });
    }
    return true;
  }

  // All that the second parts of other devices wait for: they are not started before. False: the run has failed.
  bool wait_for_rest() {
    for (const std::int32_t p : step_.rest_after) wait_for(0, p);
    return !failed_.load(std::memory_order_acquire);
  }

  // A wait ends with the run too.
  void wait_for(int d, std::int32_t p) {
    gates_[d].wait([&] {
      return state_.done[p].load(std::memory_order_acquire) == state_.epoch || failed_.load(std::memory_order_acquire);
    });
  }

  Status finish(std::span<Tensor> fetches) {
    if (context_.cancellation().cancelled()) fail(context_.cancellation().status());
    if (failed_.load(std::memory_order_acquire)) {
      MutexLock lock(mutex_);
      return error_;
    }
    for (std::size_t i = 0; i < fetches.size(); ++i) {
      const std::int32_t slot = step_.fetch_slots[i];
      if (slot < 0) {
        fetches[i] = Tensor();
        continue;
      }
      if (!step_.fetch_checks.empty() && is_dead(step_.fetch_checks[i])) return no_value(i);
      ARGOSY_ASSIGN_OR_RETURN(fetches[i], take_fetch(step_, i, state_.tensors[slot], context_));
    }
    return ok_status();
  }

  // Positions [from, to) of the device's order.
  void drive(int d, std::size_t from, std::size_t to, std::atomic<int>& asyncs) {
    Device& device = step_.machine->device(d);
    LaunchQueue* const queue = device.launches();
    KernelContext::Fields fields{.device = &device,
                                 .allocator = &device.allocator(),
                                 .host_allocator = queue != nullptr ? &step_.machine->device(0).allocator() : nullptr,
                                 .resources = &step_.machine->resources(d),
                                 .step = &context_};
    KernelObserver* const observer = device.observer();
    StepStats* const stats = context_.stats();
    const bool plain = observer == nullptr && stats == nullptr;
    Cancellation& cancellation = context_.cancellation();
    const std::int32_t* const order = step_.order[d].data();
    for (std::size_t at = from; at < to; ++at) {
      const std::int32_t index = order[at];
      const Item& item = step_.items[index];
      if (cancellation.cancelled() || failed_.load(std::memory_order_relaxed)) [[unlikely]]
        break;
      Status status;
      if (plain && !item.special) [[likely]] {
        point_at(item, fields);
        KernelContext kernel_context(fields);
        status = item.kernel->run(kernel_context);
      } else {
        status = run_special(index, item, fields, observer, stats, asyncs, at);
      }
      if (!status.ok()) [[unlikely]] {
        fail(name_node(std::move(status), step_, item));
        break;
      }
    }
    // What was started is over when this is, also after an error: its memory is lent to the next step.
    if (queue != nullptr) {
      Status status = queue->finish(&cancellation);
      if (!status.ok())
        fail(
            std::move(status).with_where(str_cat("step ", context_.step_id(), " on ", device.spec().name.to_string())));
    }
    if (cancellation.cancelled()) fail(cancellation.status());
  }
  void settle(int d, const std::atomic<int>& asyncs) {
    gates_[d].wait([&] { return asyncs.load(std::memory_order_acquire) == 0; });
  }

  void point_at(const Item& item, KernelContext::Fields& fields) const {
    fields.inputs = state_.inputs.data() + item.first_input;
    fields.num_inputs = item.num_inputs;
    fields.outputs = state_.outputs.data() + item.first_output;
    fields.num_outputs = item.num_outputs;
    fields.output_dtypes = step_.output_dtypes.data() + item.first_dtype;
    fields.node = step_.nodes[item.node].name;
  }

  // `at`: where in the order this is; the ends of a loop change it.
  Status run_special(std::int32_t index, const Item& item, KernelContext::Fields& fields, KernelObserver* observer,
                     StepStats* stats, std::atomic<int>& asyncs, std::size_t& at) {
    const ItemExtras& extras = step_.extras[index];
    if (!extras.waits.empty()) {
      const std::int64_t before = stats != nullptr ? now_nanos() : 0;
      for (const std::int32_t p : extras.waits) {
        wait_for(item.device, p);
        if (failed_.load(std::memory_order_acquire)) return ok_status();  // told already
        if (!state_.events.empty()) ARGOSY_RETURN_IF_ERROR(wait_for_event(p, fields.device->launches()));
        if (stats != nullptr) note_wait(stats->devices[item.device], step_.items[p], before);
      }
    }
    if (item.conditional && item.role != Role::kMerge) {
      const bool dead = any_dead(extras.checks);
      state_.dead[step_.slots.size() + static_cast<std::size_t>(index)] = dead ? 1 : 0;
      if (dead) {
        pass_over(index, item, extras);
        return ok_status();
      }
    }
    for (const auto& [handle, value] : extras.derefs) {
      const Tensor& h = state_.tensors[handle];
      const auto variable = std::dynamic_pointer_cast<Variable>(h.data<ResourceHandle>()->resource());
      if (!variable) return invalid_argument("a reference does not name a variable");
      ARGOSY_ASSIGN_OR_RETURN(state_.tensors[value], variable->read(h.data<ResourceHandle>()->name()));
    }
    const std::int64_t start = observer != nullptr || stats != nullptr ? now_nanos() : 0;
    Status status;
    switch (item.role) {
      case Role::kLoopBegin: begin_loop(step_.loops[extras.loop], extras.loop, at); return ok_status();
      case Role::kLoopEnd:
        if (goes_on(step_.loops[extras.loop], extras.loop, at)) return ok_status();
        break;
      case Role::kHandOn: hand_on(item, extras, 0, item.first_output); break;
      case Role::kSwitch: status = run_switch(item, extras, fields); break;
      case Role::kMerge: status = run_merge(index, item, extras); break;
      case Role::kCopy: status = copy(index, item, fields, asyncs); break;
      case Role::kKernel: status = run_kernel(index, item, extras, fields, observer, start, asyncs); break;
    }
    if (!status.ok()) return status;
    if (stats != nullptr && item.role != Role::kLoopEnd) note_op(*stats, item, start);
    for (const std::int32_t slot : extras.releases) state_.tensors[slot] = Tensor();
    if (item.signals && !item.async && item.role != Role::kCopy) {
      if (LaunchQueue* const queue = fields.device->launches(); queue != nullptr) {
        ARGOSY_ASSIGN_OR_RETURN(state_.events[index], queue->record());
      }
      signal(index);
    }
    return ok_status();
  }

  // Item p has been started. Who starts work as well comes after it in the order of its own; the host, and whoever
  // reads what p brought into the host's memory, waits here.
  Status wait_for_event(std::int32_t p, LaunchQueue* queue) {
    const Event& event = state_.events[p];
    if (event.state() == nullptr) return ok_status();
    const Item& item = step_.items[p];
    const bool to_host = item.role == Role::kCopy && step_.slots[item.first_output].space == 0;
    if (queue != nullptr && !to_host) return queue->wait(event);
    event.state()->wait();
    return step_.machine->device(item.device).launches()->failure();
  }

  Status run_kernel(std::int32_t index, const Item& item, const ItemExtras& extras, KernelContext::Fields& fields,
                    KernelObserver* observer, std::int64_t start, std::atomic<int>& asyncs) {
    point_at(item, fields);
    if (observer != nullptr) ARGOSY_RETURN_IF_ERROR(observer->before(fields.node, &context_.cancellation()));
    Status status;
    if (item.async) {
      start_async(index, item, fields, asyncs);
    } else {
      if (extras.donates) fields.may_donate = step_.donates.get() + item.first_input;
      KernelContext kernel_context(fields);
      status = item.kernel->run(kernel_context);
      fields.may_donate = nullptr;
    }
    if (observer != nullptr) observer->after(fields.node, now_nanos() - start);
    return status;
  }

  // --- control flow --------------------------------------------------------------------------------------------------

  bool is_dead(std::int32_t flag) const { return flag >= 0 && state_.dead[static_cast<std::size_t>(flag)] != 0; }
  bool any_dead(const std::vector<std::int32_t>& flags) const {
    return std::any_of(flags.begin(), flags.end(), [&](std::int32_t flag) { return is_dead(flag); });
  }

  void pass_over(std::int32_t index, const Item& item, const ItemExtras& extras) {
    if (item.role == Role::kSwitch) std::fill_n(state_.dead.begin() + item.first_output, item.num_outputs, 1);
    for (const std::int32_t slot : extras.releases) state_.tensors[slot] = Tensor();
    if (item.signals || item.async) signal(index);
  }

  void hand_on(const Item& item, const ItemExtras& extras, int input, std::int32_t to) {
    Tensor& from = state_.tensors[step_.input_slots[item.first_input + input]];
    if ((extras.moves >> input & 1) != 0) {
      state_.tensors[to] = std::move(from);
    } else {
      state_.tensors[to] = from;
    }
  }

  Status run_switch(const Item& item, const ItemExtras& extras, KernelContext::Fields& fields) {
    const Tensor& truth = *state_.inputs[item.first_input + 1];
    if (truth.dtype() != DType::kBool || truth.shape().rank() != 0) {
      point_at(item, fields);  // the kernel says what is wrong
      KernelContext kernel_context(fields);
      return item.kernel->run(kernel_context);
    }
    const int taken = *truth.raw_as<bool>() ? 1 : 0;
    state_.dead[item.first_output + taken] = 0;
    state_.dead[item.first_output + 1 - taken] = 1;
    hand_on(item, extras, 0, item.first_output + taken);
    return ok_status();
  }

  // The first live input; at the head of a loop, of those that come from outside or from the iteration before.
  Status run_merge(std::int32_t index, const Item& item, const ItemExtras& extras) {
    std::uint64_t candidates = ~std::uint64_t{0};
    if (extras.turns != 0) candidates = state_.first_turn[extras.loop] != 0 ? ~extras.turns : extras.turns;
    int chosen = 0;
    while (chosen < item.num_inputs &&
           ((chosen < 64 && (candidates >> chosen & 1) == 0) || is_dead(extras.checks[chosen]))) {
      ++chosen;
    }
    const bool dead = chosen == item.num_inputs;
    if (item.conditional) state_.dead[step_.slots.size() + static_cast<std::size_t>(index)] = dead ? 1 : 0;
    if (dead) return item.conditional ? ok_status() : internal_error("a Merge that cannot be dead is");
    if (chosen < 64) {
      hand_on(item, extras, chosen, item.first_output);
    } else {
      state_.tensors[item.first_output] = *state_.inputs[item.first_input + chosen];
    }
    if (extras.wants_index) state_.tensors[item.first_output + 1] = Tensor::scalar(std::int32_t{chosen});
    return ok_status();
  }

  // Not entered at all when every Enter is dead.
  void begin_loop(const Loop& loop, std::int32_t frame, std::size_t& at) {
    state_.first_turn[frame] = 1;
    const bool skipped = !loop.enters.empty() && std::all_of(loop.enters.begin(), loop.enters.end(),
                                                             [&](std::int32_t flag) { return is_dead(flag); });
    if (!skipped) return;
    for (const std::int32_t flag : loop.nexts) state_.dead[flag] = 1;
    for (const std::int32_t flag : loop.leaving) state_.dead[flag] = 1;
    at = static_cast<std::size_t>(loop.end) - 1;
  }
  bool goes_on(const Loop& loop, std::int32_t frame, std::size_t& at) {
    if (std::all_of(loop.nexts.begin(), loop.nexts.end(), [&](std::int32_t flag) { return is_dead(flag); }))
      return false;
    state_.first_turn[frame] = 0;
    at = static_cast<std::size_t>(loop.begin);
    return true;
  }

  // --- between devices -----------------------------------------------------------------------------------------------

  void signal(std::int32_t index) {
    state_.done[index].store(state_.epoch, std::memory_order_release);
    gates_[step_.items[index].device].open();
    for (const std::int32_t d : step_.extras[index].wakes) gates_[d].open();
  }

  // Copies are always done when this returns or, when large, are waited for by whoever reads them through done[].
  Status copy(std::int32_t index, const Item& item, KernelContext::Fields& fields, std::atomic<int>&) {
    const Tensor& from = *state_.inputs[item.first_input];
    Tensor& to = state_.tensors[item.first_output];
    OutputSlot& slot = state_.outputs[item.first_output];
    if (!from.valid()) return internal_error("a copy has nothing to copy");
    if (!(slot.planned && to.shape() == from.shape())) {
      Allocator& where =
          step_.slots[item.first_output].space == 0 ? step_.machine->device(0).allocator() : *fields.allocator;
      ARGOSY_ASSIGN_OR_RETURN(to, Tensor::allocate(from.dtype(), from.shape(), where));
      slot.planned = false;
    }
    Device& device = *fields.device;
    if (LaunchQueue* const queue = device.launches(); queue != nullptr) {
      const Buffer source(from.buffer().owner(), from.raw(), from.bytes());
      const bool out = step_.slots[item.first_output].space == 0;
      ARGOSY_ASSIGN_OR_RETURN(state_.events[index],
                              out ? queue->copy_out(to.buffer(), source) : queue->copy_in(to.buffer(), source));
    } else if (from.bytes() <= kInlineCopyBytes && device.spec().link_bytes_per_second == 0) {
      if (from.bytes() > 0) std::memcpy(to.raw(), from.raw(), from.bytes());
    } else {
      device.copies().copy(to.buffer(), Buffer::borrow(from.raw(), from.bytes()));
      ARGOSY_RETURN_IF_ERROR(device.copies().synchronize());
    }
    signal(index);
    return ok_status();
  }

  void start_async(std::int32_t index, const Item& item, const KernelContext::Fields& fields,
                   std::atomic<int>& asyncs) {
    asyncs.fetch_add(1, std::memory_order_relaxed);
    auto kernel_context = std::make_shared<KernelContext>(fields);
    const int d = item.device;
    static_cast<AsyncKernel*>(item.kernel)
        ->run_async(*kernel_context, [this, index, d, kernel_context, gates = state_.gates, &asyncs](Status status) {
          if (!status.ok()) fail(name_node(std::move(status), step_, step_.items[index]));
          state_.done[index].store(state_.epoch, std::memory_order_release);
          for (const std::int32_t other : step_.extras[index].wakes) gates_[other].open();
          // The run may end with this: after it only the gates are sure to be there.
          asyncs.fetch_sub(1, std::memory_order_acq_rel);
          gates->of_device[static_cast<std::size_t>(d)].open();
        });
  }

  void fail(Status status) {
    {
      MutexLock lock(mutex_);
      if (error_.ok()) error_ = status;
      failed_.store(true, std::memory_order_release);
    }
    context_.cancellation().cancel(status);
    context_.abort(status);
    for (Gate& gate : gates_) gate.open();
  }

  static void note_wait(StepStats::PerDevice& device, const Item& waited_for, std::int64_t since) {
    const std::int64_t nanos = now_nanos() - since;
    (waited_for.async && waited_for.kernel != nullptr ? device.collective_nanos : device.copy_nanos) += nanos;
  }
  void note_op(StepStats& stats, const Item& item, std::int64_t start) {
    StepStats::PerDevice& device = stats.devices[item.device];
    const std::int64_t end = now_nanos();
    (item.kernel == nullptr ? device.copy_nanos : device.compute_nanos) += end - start;
    ++device.ops;
    if (!stats.keep_ops) return;
    const Step::NodeInfo& node = step_.nodes[item.node];
    MutexLock lock(mutex_);
    stats.ops.push_back({node.name, node.op, item.device, start, end});
  }

 private:
  const Step& step_;
  RunState& state_;
  RunContext& context_;
  std::vector<Gate>& gates_;  // by device
  std::atomic<bool> failed_{false};
  Mutex mutex_;
  Status error_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace

Status run_in_order(const Step& step, RunState& state, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                    RunContext& context) {
  return InOrder(step, state, context).run(feeds, fetches);
}

}  // namespace argosy
