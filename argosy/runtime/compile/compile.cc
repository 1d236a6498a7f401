#include "argosy/runtime/compile/compile.h"

#include <algorithm>
#include <map>
#include <optional>

#include "argosy/base/memory/huge_pages.h"
#include "argosy/ops/collective/async_launch_kernel.h"
#include "argosy/runtime/compile/capture_regions.h"
#include "argosy/runtime/compile/deadness.h"
#include "argosy/runtime/compile/frames.h"
#include "argosy/runtime/compile/instruction_graph.h"
#include "argosy/runtime/compile/plan_storage.h"
#include "argosy/runtime/compile/schedule.h"
#include "argosy/runtime/compile/static_schedule.h"

namespace argosy {

namespace {

class Compiler {
 public:
  Compiler(Step& step, InstructionGraph instructions, const Graph& graph)
      : step_(step), instructions_(std::move(instructions)), graph_(graph) {}

  Status run() {
    find_groups();
    if (!instructions_.unusual) {
      ARGOSY_RETURN_IF_ERROR(check_missing());
      ARGOSY_RETURN_IF_ERROR(order());
      finish();
      return ok_status();
    }
    link();
    ARGOSY_RETURN_IF_ERROR(find_frames(step_));
    if (order_flow()) {
      ARGOSY_RETURN_IF_ERROR(check_missing());
      finish();
      step_.successors = {};
      step_.pending = {};
      return ok_status();
    }
    step_.needs_dataflow = true;
    step_.loops = {};
    step_.arena_bytes.assign(static_cast<std::size_t>(step_.device_set->size()), 0);
    find_released_at_end();
    return ok_status();
  }

 private:
  void finish() {
    step_.order.resize(static_cast<std::size_t>(step_.device_set->size()));
    positions_.of_instruction.resize(step_.instructions.size());
    for (const std::int32_t i : order_) {
      auto& list = step_.order[step_.instructions[i].device];
      positions_.of_instruction[i] = static_cast<std::int32_t>(list.size());
      list.push_back(i);
    }
    place_ends();
    synchronize();
    plan_storage(step_, instructions_, positions_, flow_ ? &*flow_ : nullptr);
    find_released_at_end();
  }

  // What stands for a node that could not be imported fails the step before it begins, if every run gets there.
  Status check_missing() const {
    for (std::size_t i = 0; i < step_.instructions.size(); ++i) {
      const OpDef* op = instructions_.ops[i];
      if (op == nullptr || op->name != "_Missing" || step_.instructions[i].may_be_dead) continue;
      const std::string_view name = step_.nodes[step_.instructions[i].node].name;
      const auto id = graph_.find(name);
      if (!id) continue;
      const AttrMap& attrs = graph_.node(*id).attrs;
      return Status(static_cast<Code>(attrs.get_int("code")), attrs.get_string("message"))
          .with_where(str_cat("node '", name, "'"));
    }
    return ok_status();
  }

  void find_groups() {
    groups_.resize(step_.instructions.size(), 0);
    std::map<std::string, std::int32_t> numbers = {{"", 0}};
    for (std::size_t i = 0; i < step_.instructions.size(); ++i) {
      const OpDef* op = instructions_.ops[i];
      if (op == nullptr || !op->collective) continue;
      const auto id = graph_.find(step_.nodes[step_.instructions[i].node].name);
      std::string group = id ? graph_.node(*id).attrs.get_or<std::string>("group", "") : "";
      groups_[i] = numbers.try_emplace(std::move(group), static_cast<std::int32_t>(numbers.size())).first->second;
    }
  }

  // --- order ---------------------------------------------------------------------------------------------------------

  bool writes(std::size_t instruction) const {
    const OpDef* op = instructions_.ops[instruction];
    if (op == nullptr || op->forwards) return false;
    if (op->has_ref_input()) return true;
    return op->stateful && std::any_of(op->input_args.begin(), op->input_args.end(),
                                       [](const ArgDef& a) { return a.dtype == DType::kResource; });
  }

  // What it gives is read by nobody, or small.
  bool light(std::size_t i) const {
    constexpr std::size_t kSmall = 256;
    const Instruction& instruction = step_.instructions[i];
    for (int o = 0; o < instruction.num_outputs; ++o) {
      const SlotSpec& slot = step_.slots[instruction.first_output + o];
      const bool small = slot.shape.is_full() && slot.bytes <= kSmall;
      if (!small && !instructions_.readers[instruction.first_output + o].empty()) return false;
    }
    return instruction.num_inputs > 0;
  }

  // Everyone who sees the memory of a variable through this slot: readers of the slot and of every view made from it.
  // What a loop carries is met again.
  void collect_users(std::int32_t slot, std::vector<std::int32_t>& users) const {
    for (const std::int32_t reader : instructions_.readers[slot]) {
      if (instructions_.unusual && std::find(users.begin(), users.end(), reader) != users.end()) continue;
      users.push_back(reader);
      const Instruction& instruction = step_.instructions[reader];
      for (int o = 0; o < instruction.num_outputs; ++o) {
        if (instructions_.forwarded[instruction.first_output + o]) collect_users(instruction.first_output + o, users);
      }
    }
  }

  // A copy from the host's memory to a GPU, and what a GPU's own host work reads and writes there: in the midst of
  // what is captured as one it would part that in two.
  bool is_fed_copy(std::size_t i) const {
    const Instruction& instruction = step_.instructions[i];
    if (step_.device_set->device(instruction.device).launch_queue() == nullptr || instruction.num_inputs == 0)
      return false;
    const auto on_host = [&](std::int32_t slot) {
      return step_.slots[slot].space == 0 && step_.slots[slot].dtype != DType::kResource;
    };
    bool reads = true, writes = instruction.role == Role::kKernel && instruction.num_outputs > 0;
    for (int k = 0; k < instruction.num_inputs; ++k)
      reads = reads && on_host(step_.input_slots[instruction.first_input + k]);
    for (int o = 0; o < instruction.num_outputs; ++o) writes = writes && on_host(instruction.first_output + o);
    return reads && (instruction.role == Role::kCopy || writes);
  }

  // A copy from a GPU that nobody in the step waits for, and small: what it copies may stay until the end.
  bool is_fetched_copy(std::size_t i) const {
    constexpr std::size_t kSmall = 64 << 10;
    const Instruction& instruction = step_.instructions[i];
    if (instruction.role != Role::kCopy || step_.device_set->device(instruction.device).launch_queue() == nullptr)
      return false;
    const SlotSpec& slot = step_.slots[instruction.first_output];
    return slot.space == 0 && slot.shape.is_full() && slot.bytes <= kSmall &&
           instructions_.readers[instruction.first_output].empty();
  }

  Result<std::vector<std::int32_t>> find_order(bool late_writers) const {
    std::vector<char> late(step_.instructions.size(), 0);
    for (std::size_t i = 0; late_writers && i < late.size(); ++i) late[i] = writes(i) ? 1 : 0;
    if (flow_) return flow_->sequence(late);
    std::vector<ScheduledInstruction> list;
    reserve_large(list, step_.instructions.size());
    list.resize(step_.instructions.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      list[i] = {.device = step_.instructions[i].device,
                 .async = step_.instructions[i].async,
                 .light = light(i),
                 .late = late[i] != 0,
                 .first = is_fed_copy(i),
                 .last = is_fetched_copy(i),
                 .after = instructions_.after[i],
                 .group = groups_[i]};
    }
    return schedule(list, step_.device_set->size());
  }

  // Updates come after every reader of the variable that may come before: then they find its memory unshared and write
  // in place. Edges are taken from one valid order, so they close no cycle. Writers in loops are left where they are.
  Status readers_before_writers() {
    std::vector<std::pair<std::int32_t, std::int32_t>> told;  // (root of a handle, who writes its variable)
    for (std::size_t i = 0; i < step_.instructions.size(); ++i) {
      if (!writes(i) || (flow_ && flow_->home(static_cast<std::int32_t>(i)) != 0)) continue;
      const Instruction& instruction = step_.instructions[i];
      for (int k = 0; k < instruction.num_inputs; ++k) {
        const std::int32_t slot = step_.input_slots[instruction.first_input + k];
        if (step_.slots[slot].dtype != DType::kResource) continue;
        told.emplace_back(instructions_.root[slot], static_cast<std::int32_t>(i));
      }
    }
    if (told.empty()) return ok_status();
    const InstructionGraph::Readers writers(step_.slots.size(), told);
    ARGOSY_ASSIGN_OR_RETURN(const auto order, find_order(true));
    std::vector<std::int32_t> position(step_.instructions.size());
    for (std::size_t p = 0; p < order.size(); ++p) {
      if (order[p] >= 0) position[order[p]] = static_cast<std::int32_t>(p);
    }
    std::vector<std::pair<std::int32_t, std::int32_t>> waits;  // (writer, reader before it)
    std::vector<std::pair<std::int32_t, std::int32_t>> reads;  // (root, slot of the value)
    std::vector<std::int32_t> users;
    for (std::size_t i = 0; i < step_.instructions.size(); ++i) {
      // A read: a dereference, or an op that forwards the variable's memory.
      reads.clear();
      for (const auto& [handle, value] : step_.meta[i].derefs) reads.emplace_back(instructions_.root[handle], value);
      const Instruction& instruction = step_.instructions[i];
      if (instructions_.ops[i] != nullptr && instructions_.ops[i]->forwards && instruction.num_inputs > 0 &&
          instruction.num_outputs > 0) {
        const std::int32_t handle = step_.input_slots[instruction.first_input];
        if (step_.slots[handle].dtype == DType::kResource)
          reads.emplace_back(instructions_.root[handle], instruction.first_output);
      }
      for (const auto& [root, value] : reads) {
        if (writers[root].empty()) continue;
        users.assign(1, static_cast<std::int32_t>(i));
        for (int o = 0; o < instruction.num_outputs; ++o) {
          if (instructions_.forwarded[instruction.first_output + o]) collect_users(instruction.first_output + o, users);
        }
        for (const std::int32_t w : writers[root]) {
          for (const std::int32_t u : users) {
            if (u != w && position[u] < position[w]) waits.emplace_back(w, u);
          }
        }
      }
    }
    // Sorted, since a variable may have any number of readers: nobody waits twice.
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    for (auto first = waits.begin(); first != waits.end();) {
      InstructionGraph::Before& after = instructions_.after[first->first];
      std::vector<std::int32_t> known = after;
      std::sort(known.begin(), known.end());
      const auto last = std::find_if(first, waits.end(), [&](const auto& wait) { return wait.first != first->first; });
      for (; first != last; ++first) {
        if (!std::binary_search(known.begin(), known.end(), first->second)) after.push_back(first->second);
      }
    }
    return ok_status();
  }

  Status order() {
    ARGOSY_RETURN_IF_ERROR(readers_before_writers());
    ARGOSY_ASSIGN_OR_RETURN(order_, find_order(false));
    return ok_status();
  }

  // --- control flow and blocking instructions -------------------------------------------------------------------------------

  // False: no order is safe.
  bool order_flow() {
    flow_.emplace(step_, instructions_, groups_);
    const auto after = instructions_.after;
    if (!flow_->possible()) return give_up(after, flow_->why_not());
    if (!order().ok()) return give_up(after, "what leaves a loop is needed to enter it");
    step_.loops.resize(step_.frames.size());
    if (!analyze_deadness(step_, instructions_, after, order_))
      return give_up(after, "no single predicate ends a loop");
    if (!flow_->shared_blocking().empty()) find_phases();
    wait_for_loops(after.size());
    const auto may_be_dead = std::count_if(step_.instructions.begin(), step_.instructions.end(),
                                           [](const Instruction& i) { return i.may_be_dead; });
    step_.passes.push_back(str_cat("order: static; ", step_.frames.size() - 1, " loops, ", may_be_dead, " of ",
                                   after.size(), " instructions may be passed over"));
    return true;
  }
  bool give_up(const std::vector<InstructionGraph::Before>& after, std::string_view why) {
    step_.passes.push_back(str_cat("order: by dataflow rules, since ", why));
    instructions_.after = after;
    order_.clear();
    flow_.reset();
    for (Instruction& instruction : step_.instructions) instruction.may_be_dead = false;
    return false;
  }

  // Where in its order phase two of every device begins.
  void find_phases() {
    const auto devices = static_cast<std::size_t>(step_.device_set->size());
    step_.phase_two_dependencies = flow_->shared_blocking();
    std::vector<std::int32_t> length(devices, 0);
    step_.phase_one_size.assign(devices, -1);
    for (const std::int32_t e : order_) {
      const int frame = std::max(StaticSchedule::frame_begun(e), StaticSchedule::frame_ended(e));
      const int device = e >= 0 ? step_.instructions[e].device : flow_->loop_device(frame);
      if (flow_->in_phase_two(e) && step_.phase_one_size[device] < 0) step_.phase_one_size[device] = length[device];
      ++length[device];
    }
    for (std::size_t d = 0; d < devices; ++d) {
      if (step_.phase_one_size[d] < 0) step_.phase_one_size[d] = length[d];
    }
    step_.phase_two_position = step_.phase_one_size[0];
  }

  // Ends of loops become instructions. Who waits for something inside a loop from outside waits for its end; who starts one
  // waits for all that is needed inside.
  void wait_for_loops(std::size_t instructions) {
    std::vector<std::int32_t> begins(step_.frames.size(), -1), ends(step_.frames.size(), -1);
    for (std::int32_t& e : order_) {
      if (e >= 0) continue;
      const bool begin = StaticSchedule::frame_begun(e) >= 0;
      const int frame = begin ? StaticSchedule::frame_begun(e) : StaticSchedule::frame_ended(e);
      (begin ? begins : ends)[frame] = e = static_cast<std::int32_t>(step_.instructions.size());
      step_.instructions.push_back(
          {.node =
               step_.instructions[step_.frames[frame].instructions.empty() ? 0 : step_.frames[frame].instructions[0]]
                   .node,
           .device = static_cast<std::int16_t>(flow_->loop_device(frame)),
           .role = begin ? Role::kLoopBegin : Role::kLoopEnd});
      step_.meta.emplace_back().loop = frame;
      instructions_.after.emplace_back();
      instructions_.ops.push_back(nullptr);
    }
    for (std::size_t i = 0; i < instructions; ++i) {
      const int home = flow_->home(static_cast<std::int32_t>(i));
      for (std::int32_t& p : instructions_.after[i]) {
        if (step_.instructions[p].flow == Flow::kNextIteration && step_.instructions[i].flow == Flow::kMerge) continue;
        const int left = flow_->loop_between(flow_->home(p), home);
        const int entered = flow_->loop_between(home, flow_->home(p));
        const std::int32_t before = left != 0 ? ends[left] : p;
        if (entered != 0) instructions_.after[begins[entered]].push_back(before);
        p = before;
      }
    }
    ends_ = std::move(ends);
    begins_ = std::move(begins);
  }

  void place_ends() {
    for (std::size_t f = 1; f < begins_.size(); ++f) {
      if (begins_[f] < 0) continue;
      step_.loops[f].begin = positions_.of_instruction[begins_[f]];
      step_.loops[f].end = positions_.of_instruction[ends_[f]];
    }
  }

  // --- waiting -------------------------------------------------------------------------------------------------------

  void synchronize() {
    const auto devices = static_cast<std::size_t>(step_.device_set->size());
    // Having waited for an instruction of a device, one need not wait for those before it (asynchronous ones aside).
    std::vector<std::vector<std::int32_t>> seen(devices, std::vector<std::int32_t>(devices, -1));
    std::vector<std::vector<char>> waited(devices);
    auto& first_wait = positions_.first_wait;
    const auto& position = positions_.of_instruction;
    first_wait.assign(step_.instructions.size(), -1);
    for (const std::int32_t i : order_) {
      Instruction& instruction = step_.instructions[i];
      for (const std::int32_t p : instructions_.after[i]) {
        Instruction& before = step_.instructions[p];
        if (before.flow == Flow::kNextIteration) continue;  // of the iteration before
        // What a GPU copies is not in order with what it computes, and what it brings to the host's memory is there
        // only for who waits.
        const bool concurrent =
            before.role == Role::kCopy && step_.device_set->device(before.device).launch_queue() != nullptr;
        if (!before.async && !concurrent) {
          if (before.device == instruction.device) continue;
          auto& newest = seen[instruction.device][before.device];
          if (position[p] <= newest) continue;
          newest = position[p];
        } else {
          auto& done = waited[instruction.device];
          if (done.empty()) done.assign(step_.instructions.size(), 0);
          if (std::exchange(done[p], 1)) continue;
          if (before.device == instruction.device && first_wait[p] < 0) first_wait[p] = position[i];
        }
        step_.meta[i].waits.push_back(p);
        before.signals = true;
        auto& wakes = step_.meta[p].wakes;
        if (before.device != instruction.device &&
            std::find(wakes.begin(), wakes.end(), instruction.device) == wakes.end()) {
          wakes.push_back(instruction.device);
        }
      }
    }
  }

  // What a run must let go of at its end: everything that is neither planned nor the same in every run.
  void find_released_at_end() {
    std::vector<char> kept(step_.slots.size(), 0);
    for (const auto& [slot, value] : step_.constants) kept[slot] = 1;
    for (std::size_t s = 0; s < step_.slots.size(); ++s) {
      if (!kept[s] && step_.slots[s].offset < 0) step_.released_at_end.push_back(static_cast<std::int32_t>(s));
    }
  }

  // --- dataflow steps -------------------------------------------------------------------------------------------------

  void link() {
    step_.successors.resize(step_.instructions.size());
    step_.pending.assign(step_.instructions.size(), 0);
    for (std::size_t i = 0; i < step_.instructions.size(); ++i) {
      const Instruction& instruction = step_.instructions[i];
      std::vector<std::int32_t> data;
      const auto edge = [&](std::int32_t slot, std::int32_t input) {
        const std::int32_t p = instructions_.producer[slot];
        if (p < 0) return;
        step_.successors[p].push_back({static_cast<std::int32_t>(i), slot - step_.instructions[p].first_output, input});
        data.push_back(p);
        ++step_.pending[i];
      };
      for (int k = 0; k < instruction.num_inputs; ++k) edge(step_.input_slots[instruction.first_input + k], k);
      std::int32_t next = instruction.num_inputs;
      for (const auto& [handle, value] : step_.meta[i].derefs) edge(handle, next++);
      for (const std::int32_t p : instructions_.after[i]) {
        if (std::find(data.begin(), data.end(), p) != data.end()) continue;
        step_.successors[p].push_back({static_cast<std::int32_t>(i), -1, -1});
        ++step_.pending[i];
      }
    }
  }

  Step& step_;
  InstructionGraph instructions_;
  const Graph& graph_;
  std::vector<std::int32_t> groups_;  // by instruction: see ScheduledInstruction
  std::vector<std::int32_t> order_;   // all devices together
  Positions positions_;
  std::optional<StaticSchedule> flow_;       // with control flow or blocking instructions
  std::vector<std::int32_t> begins_, ends_;  // by frame: instructions
};

// Who does the collectives of asynchronous devices: a line for each kind of group.
std::vector<std::string> describe_collectives(const Step& step, const Graph& graph) {
  std::map<std::string, std::pair<const AsyncLaunchKernel*, std::vector<Device*>>> groups;
  if (!step.device_set->has_async_device()) return {};
  for (const Instruction& instruction : step.instructions) {
    if (!instruction.async || instruction.kernel == nullptr) continue;
    const auto id = graph.find(step.nodes[static_cast<std::size_t>(instruction.node)].name);
    if (!id) continue;
    const AttrMap& attrs = graph.node(*id).attrs;
    auto& [kernel, devices] = groups[attrs.get_or<std::string>("group", "")];
    const auto rank = static_cast<std::size_t>(attrs.get_or<std::int64_t>("rank", 0));
    if (devices.size() <= rank) devices.resize(rank + 1, nullptr);
    devices[rank] = &step.device_set->device(instruction.device);
    if (kernel == nullptr) kernel = dynamic_cast<const AsyncLaunchKernel*>(instruction.kernel);
  }
  std::map<std::string, int> lines;
  for (const auto& [group, of] : groups) {
    const auto& [kernel, devices] = of;
    if (kernel == nullptr || std::find(devices.begin(), devices.end(), nullptr) != devices.end()) continue;
    ++lines[kernel->describe(devices)];
  }
  std::vector<std::string> texts;
  for (const auto& [line, count] : lines) texts.push_back(str_cat(line, count > 1 ? str_cat(" (", count, ")") : ""));
  return texts;
}

// Before step 0: does every device have room for what the plan will take?
Status check_memory(const Step& step) {
  for (int d = 0; d < step.device_set->size(); ++d) {
    const MemoryStats stats = step.device_set->device(d).allocator().stats();
    if (stats.limit_bytes == 0) continue;
    const MemoryForecast& f = step.forecast[d];
    // Variables that have their values already are in use, and arenas of other steps will be shared: counting either
    // twice would refuse what fits.
    const std::uint64_t later = f.arena_bytes + f.dynamic_bytes;
    const std::uint64_t idle = step.device_set->arenas(d).idle_bytes();
    const std::uint64_t in_use = stats.in_use_bytes - std::min(stats.in_use_bytes, idle);
    const std::uint64_t need = std::max<std::uint64_t>(in_use, f.variable_bytes + f.constant_bytes) + later;
    if (need <= stats.limit_bytes) continue;
    std::string largest;
    for (const auto& t : f.largest) largest += str_cat(largest.empty() ? "" : ", ", t.node, " ", format_bytes(t.bytes));
    return resource_exhausted("cannot fit: ", step.device_set->device(d).spec().said_name(), " needs ",
                              format_bytes(need), ", its cap is ", format_bytes(stats.limit_bytes), ": variables ",
                              format_bytes(f.variable_bytes), ", activations and workspaces ",
                              format_bytes(f.arena_bytes), ", constants ", format_bytes(f.constant_bytes), ", other ",
                              format_bytes(f.dynamic_bytes), "; largest at the peak: ", largest)
        .with_id("ARG-MEM-001")
        .with_where(f.device.to_string())
        .with_hint("a smaller batch, more devices, or a higher --mem cap");
  }
  return ok_status();
}

}  // namespace

Result<std::shared_ptr<const Step>> compile_step(StepGraph graph, Placement placement,
                                                 std::shared_ptr<DeviceSet> device_set, const KernelRegistry& kernels,
                                                 bool must_fit, std::shared_ptr<ResourceManager> session) {
  auto step = std::make_shared<Step>();
  step->session = std::move(session);
  step->device_set = std::move(device_set);
  for (const DeviceSpec& spec : step->device_set->specs()) step->forecast.push_back({.device = spec.name});
  step->passes = std::move(graph.notes);
  step->placement = std::move(placement);
  step->graph = std::make_unique<const StepGraph>(std::move(graph));
  const Graph& nodes = step->graph->graph;
  ARGOSY_ASSIGN_OR_RETURN(InstructionGraph instructions,
                          build_instructions(*step->graph, step->placement, kernels, *step));
  ARGOSY_RETURN_IF_ERROR(Compiler(*step, std::move(instructions), nodes).run());
  for (std::string& line : describe_collectives(*step, nodes)) step->passes.push_back(std::move(line));
  for (std::string& line : find_capture_regions(*step)) step->passes.push_back(std::move(line));
  if (must_fit) ARGOSY_RETURN_IF_ERROR(check_memory(*step));
  return std::shared_ptr<const Step>(std::move(step));
}

}  // namespace argosy
