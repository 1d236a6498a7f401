// The executor for control flow and blocking items: TensorFlow's dataflow rules. Words:
//
//   dead       a value on a branch not taken. An item with a dead input does not run; its outputs are dead. A Merge
//   runs
//              with its first live input and is dead when all are.
//   frame      one entry into a loop; it has iterations, each with its own inputs and counts. Enter carries values in,
//              NextIteration to the next iteration, Exit out to the parent's iteration.
//
// Invariants: (1) a frame is over when all its Enters have fired and nothing of it is outstanding; exits that never
// fired live are dead then. (2) Everything but running kernels happens under one lock. (3) `outstanding` counts entries
// that are ready or running; the run is over at zero.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "argosy/base/clock.h"
#include "argosy/base/parallel.h"
#include "argosy/runtime/executor.h"
#include "argosy/runtime/gate.h"

namespace argosy {

namespace {

struct FrameState;

struct Iteration {
  std::vector<std::int32_t> pending;  // by local item: inputs and controls still to come
  std::vector<std::int32_t> dead;     // by local item: dead inputs so far (data and control)
  std::vector<char> live;             // by local item: a Merge that has its live input
  std::vector<char> started;          // by local item: ready once, never again
  std::vector<Tensor> inputs;         // by frame input
  int outstanding = 0;                // entries and child frames
};

struct FrameState {
  int id = 0;
  FrameState* parent = nullptr;
  std::int64_t parent_iteration = 0;
  int entered = 0;
  std::map<std::int64_t, Iteration> iterations;
  std::int64_t newest = -1;
  std::vector<std::pair<std::int32_t, Tensor>> invariants;  // (Enter item, value; invalid = dead)
  std::vector<std::pair<std::int32_t, Tensor>> held_back;   // NextIterations waiting for room
  std::vector<char> exited;                                 // by position in Frame::exits: fired live
};

struct Entry {
  std::int32_t item;
  FrameState* frame;
  std::int64_t iteration;
  bool dead;
};

class Dynamic {
 public:
  Dynamic(const Step& step, RunState& state, RunContext& context)
      : step_(step), state_(state), context_(context), queues_(static_cast<std::size_t>(step.machine->size())) {}

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
      root_.exited.clear();
      start_iteration(root_, 0);
      for (std::size_t i = 0; i < step_.items.size(); ++i) {
        if (step_.pending[i] == 0) make_ready({static_cast<std::int32_t>(i), &root_, 0, false});
      }
    }
    const int cores = step_.machine->device(0).spec().cores;
    if (thread_budget() != cores) set_thread_budget(cores);
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
        status = invalid_argument("fetch ", i, " does not have a value: it is on a branch that was not taken")
                     .with_id("ARG-RUN-003");
        break;
      }
      auto taken = take_fetch(step_, state_.tensors[slot], "fetch");
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
        } else if (outstanding_ == 0 && servers_ == 0) {
          return;
        }
      }
      if (found) {
        process(entry);
      } else {
        const int seen = wakes_.load(std::memory_order_acquire);
        {
          MutexLock lock(mutex_);
          if (!queues_[0].entries.empty() || (outstanding_ == 0 && servers_ == 0)) continue;
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

  // The host's thread holds this object until servers_ and outstanding_ are zero; both change under the lock, and so
  // does this.
  void wake_host() ARGOSY_REQUIRES(mutex_) {
    wakes_.fetch_add(1, std::memory_order_release);
    gate_.open();
  }

  // --- entries -------------------------------------------------------------------------------------------------------

  void make_ready(Entry entry) ARGOSY_REQUIRES(mutex_) {
    Iteration& it = entry.frame->iterations.at(entry.iteration);
    char& started = it.started[step_.local_of[entry.item]];
    if (started) return;
    started = 1;
    ++it.outstanding;
    ++outstanding_;
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
      if (runs) gather(*running);
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
    for (const Tensor& t : running->inputs) running->input_pointers.push_back(&t);
    KernelContext kernel_context({.inputs = running->input_pointers.data(),
                                  .num_inputs = item.num_inputs,
                                  .outputs = running->slots.data(),
                                  .num_outputs = item.num_outputs,
                                  .output_dtypes = step_.output_dtypes.data() + item.first_dtype,
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

  void gather(Running& running) ARGOSY_REQUIRES(mutex_) {
    const Item& item = step_.items[running.entry.item];
    Iteration& it = running.entry.frame->iterations.at(running.entry.iteration);
    const std::int32_t base = step_.base_of[running.entry.item];
    for (int k = 0; k < item.num_inputs; ++k) {
      Tensor& delivered = it.inputs[base + k];
      const std::int32_t slot = step_.input_slots[item.first_input + k];
      // Constants, handles and feeds are there for every iteration of every frame.
      running.inputs.push_back(delivered.valid() || item.flow == Flow::kMerge ? std::move(delivered)
                                                                              : state_.tensors[slot]);
      delivered = Tensor();
    }
    // A Merge may take a constant or a feed too.
    if (item.flow == Flow::kMerge &&
        std::none_of(running.inputs.begin(), running.inputs.end(), [](const Tensor& t) { return t.valid(); })) {
      for (int k = 0; k < item.num_inputs; ++k)
        running.inputs[k] = state_.tensors[step_.input_slots[item.first_input + k]];
    }
  }

  Status dereference(Running& running) {
    const Item& item = step_.items[running.entry.item];
    for (const auto& [handle_slot, value_slot] : step_.extras[running.entry.item].derefs) {
      for (int k = 0; k < item.num_inputs; ++k) {
        if (step_.input_slots[item.first_input + k] != value_slot) continue;
        const Tensor& h = state_.tensors[handle_slot];
        if (h.dtype() != DType::kResource) return unimplemented("reading a reference made inside a loop or branch");
        const auto variable = std::dynamic_pointer_cast<Variable>(h.data<ResourceHandle>()->resource());
        if (!variable) return invalid_argument("a reference does not name a variable");
        ARGOSY_ASSIGN_OR_RETURN(running.inputs[k], variable->read(h.data<ResourceHandle>()->name()));
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
    if (error_.ok()) propagate(entry, running.outputs);
    leave(*entry.frame, entry.iteration);
    if (--outstanding_ == 0) wake_host();
  }

  void stop(const Status& reason) {
    MutexLock lock(mutex_);
    if (error_.ok()) error_ = reason;
    wake_host();
  }

  void propagate(const Entry& entry, const std::vector<Tensor>& outputs) ARGOSY_REQUIRES(mutex_) {
    const Item& item = step_.items[entry.item];
    FrameState* frame = entry.frame;
    std::int64_t iteration = entry.iteration;
    switch (item.flow) {
      case Flow::kEnter: return enter(entry, entry.dead ? Tensor() : outputs[0]);
      case Flow::kNextIteration:
        if (!entry.dead) next_iteration(*frame, entry.iteration, entry.item, outputs[0]);
        return;
      case Flow::kExit: {
        if (entry.dead) return;  // told when the frame is over
        const auto& exits = step_.frames[frame->id].exits;
        frame->exited[std::find(exits.begin(), exits.end(), entry.item) - exits.begin()] = 1;
        iteration = frame->parent_iteration;
        frame = frame->parent;
        break;
      }
      default: break;
    }
    if (frame == &root_ || item.flow == Flow::kExit) keep(item, outputs, frame);
    const bool all_dead = entry.dead;
    for (const Step::Edge& e : step_.successors[entry.item]) {
      deliver(*frame, iteration, e, all_dead || e.output < 0 ? Tensor() : outputs[e.output], all_dead);
    }
  }

  // Root values go to their slots: fetches and dereferences find them there.
  void keep(const Item& item, const std::vector<Tensor>& outputs, const FrameState* frame) ARGOSY_REQUIRES(mutex_) {
    if (frame != &root_) return;
    for (int o = 0; o < item.num_outputs; ++o) {
      const std::int32_t slot = item.first_output + o;
      if (outputs[o].valid()) state_.tensors[slot] = outputs[o];
    }
  }

  void deliver(FrameState& frame, std::int64_t iteration, const Step::Edge& e, const Tensor& value, bool dead_control)
      ARGOSY_REQUIRES(mutex_) {
    Iteration& it = frame.iterations.at(iteration);
    const std::int32_t local = step_.local_of[e.item];
    const Item& to = step_.items[e.item];
    const bool control = e.output < 0;
    const bool dead = control ? dead_control : !value.valid();
    if (!dead && e.input >= 0) it.inputs[step_.base_of[e.item] + e.input] = value;
    --it.pending[local];
    if (to.flow == Flow::kMerge) {
      if (!control && !dead) it.live[local] = 1;
      if (!control && dead) ++it.dead[local];
      // Loops feed a Merge once per iteration, so "all inputs came" is not to be waited for: one live input is enough.
      const bool constants = merge_has_constant(to);
      if (controls_pending(it, e.item) == 0 && (it.live[local] || constants))
        return make_ready({e.item, &frame, iteration, false});
      if (it.pending[local] == 0) make_ready({e.item, &frame, iteration, true});
      return;
    }
    if (dead) ++it.dead[local];
    if (it.pending[local] > 0) return;
    const bool runs_dead = it.dead[local] > 0 && to.flow != Flow::kControlTrigger;
    make_ready({e.item, &frame, iteration, runs_dead});
  }

  bool merge_has_constant(const Item& merge) const {
    for (int k = 0; k < merge.num_inputs; ++k) {
      if (state_.tensors[step_.input_slots[merge.first_input + k]].valid() &&
          is_constant_[step_.input_slots[merge.first_input + k]])
        return true;
    }
    return false;
  }

  // Control edges into a Merge still to come. Few: counted when asked.
  int controls_pending(const Iteration& it, std::int32_t item) const {
    const std::int32_t local = step_.local_of[item];
    const int data = data_inputs_[item];
    const int arrived = step_.pending[item] - it.pending[local];
    const int data_arrived = std::min(data, it.dead[local] + (it.live[local] ? 1 : 0));
    const int controls = step_.pending[item] - data;
    return controls - std::max(0, arrived - data_arrived);
  }

  void enter(const Entry& entry, Tensor value) ARGOSY_REQUIRES(mutex_) {
    const Item& item = step_.items[entry.item];
    const AttrMap& attrs = step_.nodes[item.node].flow_attrs;
    FrameState& frame = child_frame(entry, attrs);
    ++frame.entered;
    Iteration& first = frame.iterations.at(0);
    ++first.outstanding;  // held while values arrive
    const bool dead = !value.valid();
    if (attrs.get_bool("is_constant")) {
      frame.invariants.emplace_back(entry.item, value);
      for (auto& [number, it] : frame.iterations) {
        for (const Step::Edge& e : step_.successors[entry.item]) deliver(frame, number, e, value, dead);
      }
    } else {
      for (const Step::Edge& e : step_.successors[entry.item]) deliver(frame, 0, e, value, dead);
    }
    leave(frame, 0);
  }

  FrameState& child_frame(const Entry& entry, const AttrMap& attrs) ARGOSY_REQUIRES(mutex_) {
    auto& slot = frames_[{entry.frame, entry.iteration, attrs.get_string("frame_name")}];
    if (slot == nullptr) {
      slot = std::make_unique<FrameState>();
      // Its items' frame is that of whatever follows the Enter.
      slot->id = step_.successors[entry.item].empty() ? 0 : step_.frame_of[step_.successors[entry.item][0].item];
      slot->parent = entry.frame;
      slot->parent_iteration = entry.iteration;
      slot->exited.assign(step_.frames[slot->id].exits.size(), 0);
      ++entry.frame->iterations.at(entry.iteration).outstanding;
      start_iteration(*slot, 0);
    }
    return *slot;
  }

  void start_iteration(FrameState& frame, std::int64_t number) ARGOSY_REQUIRES(mutex_) {
    const Step::Frame& info = step_.frames[frame.id];
    Iteration& it = frame.iterations[number];
    it.pending.resize(info.items.size());
    for (std::size_t i = 0; i < info.items.size(); ++i) it.pending[i] = step_.pending[info.items[i]];
    it.dead.assign(info.items.size(), 0);
    it.live.assign(info.items.size(), 0);
    it.started.assign(info.items.size(), 0);
    it.inputs.resize(static_cast<std::size_t>(info.inputs));
    frame.newest = number;
    for (const auto& [item, value] : frame.invariants) {
      for (const Step::Edge& e : step_.successors[item]) deliver(frame, number, e, value, !value.valid());
    }
  }

  void next_iteration(FrameState& frame, std::int64_t iteration, std::int32_t item, const Tensor& value)
      ARGOSY_REQUIRES(mutex_) {
    const std::int64_t number = iteration + 1;
    if (number > frame.newest) {
      if (static_cast<int>(frame.iterations.size()) >= step_.frames[frame.id].parallel) {
        frame.held_back.emplace_back(item, value);
        return;
      }
      start_iteration(frame, number);
    }
    for (const Step::Edge& e : step_.successors[item]) deliver(frame, number, e, value, false);
  }

  // Something of an iteration is done. Iterations end in order; an ended last one ends its frame.
  void leave(FrameState& frame, std::int64_t iteration) ARGOSY_REQUIRES(mutex_) {
    --frame.iterations.at(iteration).outstanding;
    if (&frame == &root_ || !error_.ok()) return;
    if (frame.entered < step_.frames[frame.id].enters) return;
    while (!frame.iterations.empty() && frame.iterations.begin()->second.outstanding == 0) {
      const bool last = frame.iterations.size() == 1 && frame.held_back.empty();
      if (last) return end_frame(frame);
      const std::int64_t oldest = frame.iterations.begin()->first;
      if (!frame.held_back.empty()) {
        const auto held = std::exchange(frame.held_back, {});
        const std::int64_t number = frame.newest + 1;
        start_iteration(frame, number);
        Iteration& fresh = frame.iterations.at(number);
        ++fresh.outstanding;
        for (const auto& [item, value] : held) {
          for (const Step::Edge& e : step_.successors[item]) deliver(frame, number, e, value, false);
        }
        --fresh.outstanding;
      }
      frame.iterations.erase(oldest);
    }
  }

  void end_frame(FrameState& frame) ARGOSY_REQUIRES(mutex_) {
    FrameState& parent = *frame.parent;
    const std::int64_t iteration = frame.parent_iteration;
    const Step::Frame& info = step_.frames[frame.id];
    ++parent.iterations.at(iteration).outstanding;
    for (std::size_t x = 0; x < info.exits.size(); ++x) {
      if (frame.exited[x]) continue;
      for (const Step::Edge& e : step_.successors[info.exits[x]]) deliver(parent, iteration, e, Tensor(), true);
    }
    std::erase_if(frames_, [&](const auto& entry) { return entry.second.get() == &frame; });
    --parent.iterations.at(iteration).outstanding;
    leave(parent, iteration);  // the count the frame held
  }

  const Step& step_;
  RunState& state_;
  RunContext& context_;
  std::vector<char> is_constant_ = constants(step_);
  std::vector<int> data_inputs_ = data_inputs(step_);

  static std::vector<char> constants(const Step& step) {
    std::vector<char> constant(step.slots.size(), 0);
    for (const auto& [slot, value] : step.presets) constant[slot] = 1;
    for (const std::int32_t slot : step.feed_slots) constant[slot] = 1;
    return constant;
  }
  // Data edges into each item.
  static std::vector<int> data_inputs(const Step& step) {
    std::vector<int> count(step.items.size(), 0);
    for (const auto& edges : step.successors) {
      for (const Step::Edge& e : edges) count[e.item] += e.output >= 0 ? 1 : 0;
    }
    return count;
  }

  Mutex mutex_;
  Gate gate_;
  std::atomic<int> wakes_{0};
  Status error_ ARGOSY_GUARDED_BY(mutex_);
  int outstanding_ ARGOSY_GUARDED_BY(mutex_) = 0;
  int servers_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::vector<Queue> queues_ ARGOSY_GUARDED_BY(mutex_);
  FrameState root_;
  std::map<std::tuple<FrameState*, std::int64_t, std::string>, std::unique_ptr<FrameState>> frames_
      ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace

Status run_dynamic(const Step& step, RunState& state, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                   RunContext& context) {
  return Dynamic(step, state, context).run(feeds, fetches);
}

}  // namespace argosy
