#include <algorithm>
#include <cstring>

#include "argosy/base/clock.h"
#include "argosy/base/parallel.h"
#include "argosy/runtime/executor.h"

namespace argosy {

Status name_node(Status status, const Step& step, const Item& item) {
  const Step::NodeInfo& node = step.nodes[item.node];
  return std::move(status).with_where(
      str_cat("node '", node.name, "' (", node.op, ") on ", step.machine->device(item.device).spec().name.to_string()));
}

Result<Tensor> take_fetch(const Step& step, std::size_t fetch, const Tensor& slot, const RunContext& context) {
  const std::string& ref = step.fetched_refs[fetch];
  const bool read = !ref.empty() || !context.fetch_handles();
  if (read && slot.dtype() == DType::kResource && slot.elements() == 1) {
    const ResourceHandle& handle = *slot.data<ResourceHandle>();
    if (const auto variable = std::dynamic_pointer_cast<Variable>(handle.resource())) {
      auto value = variable->read(handle.name());
      if (value.ok()) return value->clone();
      return std::move(value).status().with_where(str_cat("node '", ref.empty() ? handle.name() : ref, "', fetched"));
    }
  }
  return slot.owned();
}

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
    int others = 0;
    for (std::size_t d = 1; d < step_.order.size(); ++d) others += step_.order[d].empty() ? 0 : 1;
    state_.gates->running.store(others, std::memory_order_relaxed);
    if (others > 0) launch();
    if (!step_.order[0].empty()) {
      const int cores = step_.machine->device(0).spec().cores;
      if (thread_budget() != cores) set_thread_budget(cores);
      drive(0);
    }
    if (others > 0) {
      RunGates& gates = *state_.gates;
      gates.end.wait([&gates] { return gates.running.load(std::memory_order_acquire) == 0; });
    }
    if (stats != nullptr) stats->end_nanos = now_nanos();
    Status status = finish(fetches);
    for (const std::int32_t slot : step_.leftovers) state_.tensors[slot] = Tensor();
    return status;
  }

 private:
  void launch() {
    MutexLock lock(step_.machine->launch());
    for (std::size_t d = 1; d < step_.order.size(); ++d) {
      if (step_.order[d].empty()) continue;
      const int device = static_cast<int>(d);
      step_.machine->device(device).compute().run([this, device, gates = state_.gates] {
        drive(device);
        // From here on the run may be over, and only the gates are sure to be there.
        if (gates->running.fetch_sub(1, std::memory_order_acq_rel) == 1) gates->end.open();
      });
    }
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
      ARGOSY_ASSIGN_OR_RETURN(fetches[i], take_fetch(step_, i, state_.tensors[slot], context_));
    }
    return ok_status();
  }

  void drive(int d) {
    Device& device = step_.machine->device(d);
    KernelContext::Fields fields{.device = &device,
                                 .allocator = &device.allocator(),
                                 .resources = &step_.machine->resources(d),
                                 .step = &context_};
    KernelObserver* const observer = device.observer();
    StepStats* const stats = context_.stats();
    const bool plain = observer == nullptr && stats == nullptr;
    Cancellation& cancellation = context_.cancellation();
    std::atomic<int> asyncs{0};
    for (const std::int32_t index : step_.order[d]) {
      const Item& item = step_.items[index];
      if (cancellation.cancelled() || failed_.load(std::memory_order_relaxed)) [[unlikely]]
        break;
      Status status;
      if (plain && !item.special) [[likely]] {
        point_at(item, fields);
        KernelContext kernel_context(fields);
        status = item.kernel->run(kernel_context);
      } else {
        status = run_special(index, item, fields, observer, stats, asyncs);
      }
      if (!status.ok()) [[unlikely]] {
        fail(name_node(std::move(status), step_, item));
        break;
      }
    }
    if (cancellation.cancelled()) fail(cancellation.status());
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

  Status run_special(std::int32_t index, const Item& item, KernelContext::Fields& fields, KernelObserver* observer,
                     StepStats* stats, std::atomic<int>& asyncs) {
    const ItemExtras& extras = step_.extras[index];
    const int d = item.device;
    if (!extras.waits.empty()) {
      const std::int64_t before = stats != nullptr ? now_nanos() : 0;
      for (const std::int32_t p : extras.waits) {
        gates_[d].wait([&] {
          return state_.done[p].load(std::memory_order_acquire) == state_.epoch ||
                 failed_.load(std::memory_order_acquire);
        });
        if (failed_.load(std::memory_order_acquire)) return ok_status();  // told already
        if (stats != nullptr) note_wait(stats->devices[d], step_.items[p], before);
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
    if (item.kernel == nullptr) {
      status = copy(index, item, fields, asyncs);
    } else {
      point_at(item, fields);
      if (observer != nullptr) status = observer->before(fields.node, &context_.cancellation());
      if (status.ok() && item.async) {
        start_async(index, item, fields, asyncs);
      } else if (status.ok()) {
        KernelContext kernel_context(fields);
        status = item.kernel->run(kernel_context);
      }
      if (observer != nullptr) observer->after(fields.node, now_nanos() - start);
    }
    if (!status.ok()) return status;
    if (stats != nullptr) note_op(*stats, item, start);
    for (const std::int32_t slot : extras.releases) {
      if (step_.slots[slot].offset < 0) state_.tensors[slot] = Tensor();
    }
    if (item.signals && !item.async && !copying(item)) signal(index);
    return ok_status();
  }

  bool copying(const Item& item) const { return item.kernel == nullptr; }

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
    if (from.bytes() <= kInlineCopyBytes && device.spec().link_bytes_per_second == 0) {
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
