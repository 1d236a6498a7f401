#include "argosy/runtime/compile/compile.h"

#include <algorithm>
#include <optional>

#include "argosy/ops/collective/turns.h"
#include "argosy/runtime/compile/capture_regions.h"
#include "argosy/runtime/compile/deadness.h"
#include "argosy/runtime/compile/frames.h"
#include "argosy/runtime/compile/instruction_graph.h"
#include "argosy/runtime/compile/loop_ends.h"
#include "argosy/runtime/compile/order/control_flow_schedule.h"
#include "argosy/runtime/compile/order/instruction_order.h"
#include "argosy/runtime/compile/order/turn_marks.h"
#include "argosy/runtime/compile/order/waits.h"
#include "argosy/runtime/compile/storage/plan_storage.h"
#include "argosy/runtime/compile/storage/step_checks.h"

namespace argosy {

namespace {

// Makes instructions into a step that can run. If a safe order exists, it adds waits and a memory plan. Otherwise the
// step is marked for the dataflow executor.
class Compiler {
 public:
  Compiler(Step& step, InstructionGraph instructions)
      : step_(step), instructions_(std::move(instructions)), groups_(collective_groups(instructions_)) {}

  Status run() {
    if (!instructions_.has_control_flow_or_blocking) {
      ARGOSY_RETURN_IF_ERROR(check_missing(step_, instructions_));
      ARGOSY_ASSIGN_OR_RETURN(order_, find_order(step_, instructions_, groups_, nullptr));
      make_plan();
      return ok_status();
    }
    link_instructions(step_, instructions_);
    ARGOSY_RETURN_IF_ERROR(find_frames(step_, instructions_));
    if (order_flow()) {
      ARGOSY_RETURN_IF_ERROR(check_missing(step_, instructions_));
      make_plan();
      step_.dataflow = {};
      return ok_status();
    }
    step_.needs_dataflow = true;
    step_.plan = {};
    step_.arena_bytes.assign(static_cast<std::size_t>(step_.device_set->size()), 0);
    find_released_at_end();
    return ok_status();
  }

 private:
  void make_plan() {
    step_.plan.order.resize(static_cast<std::size_t>(step_.device_set->size()));
    positions_.of_instruction.resize(step_.instructions.size());
    for (const std::int32_t i : order_) {
      auto& list = step_.plan.order[step_.instructions[i].device];
      positions_.of_instruction[i] = static_cast<std::int32_t>(list.size());
      list.push_back(i);
    }
    if (std::string mixed = describe_mixed_turns(step_, instructions_, order_); !mixed.empty()) {
      step_.info.passes.push_back(std::move(mixed));
    }
    loop_ends_.place(step_, positions_);
    add_waits(step_, instructions_, order_, positions_);
    plan_storage(step_, instructions_, positions_, flow_ ? &*flow_ : nullptr);
    find_released_at_end();
  }

  // --- control flow and blocking instructions ------------------------------------------------------------------------

  // Finds a static schedule. False: no order is safe; then the constraints on order are again what they were.
  bool order_flow() {
    flow_.emplace(step_, instructions_, groups_);
    const auto after = instructions_.after;
    if (!flow_->possible()) return no_static_order(after, flow_->why_not());
    auto order = find_order(step_, instructions_, groups_, &*flow_);
    if (!order.ok()) return no_static_order(after, "what leaves a loop is needed to enter it");
    order_ = *std::move(order);
    step_.plan.loops.resize(step_.dataflow.frames.size());
    if (!analyze_deadness(step_, instructions_, after, order_))
      return no_static_order(after, "no single predicate ends a loop");
    if (!flow_->shared_blocking().empty()) find_phases();
    loop_ends_.add(step_, instructions_, *flow_, order_);
    const auto may_be_dead = std::count_if(step_.instructions.begin(), step_.instructions.end(),
                                           [](const Instruction& i) { return i.may_be_dead; });
    step_.info.passes.push_back(str_cat("order: static; ", step_.dataflow.frames.size() - 1, " loops, ", may_be_dead,
                                        " of ", after.size(), " instructions may be passed over"));
    return true;
  }
  bool no_static_order(const std::vector<InstructionGraph::Before>& after, std::string_view why) {
    const bool turns = std::any_of(instructions_.nodes.begin(), instructions_.nodes.end(),
                                   [](const Node* n) { return n != nullptr && Turn::of(n->attrs).number > 0; });
    step_.info.passes.push_back(str_cat("order: by dataflow rules, since ", why,
                                        turns ? "; turns run side by side, in the memory of all" : ""));
    instructions_.after = after;
    order_.clear();
    flow_.reset();
    for (Instruction& instruction : step_.instructions) instruction.may_be_dead = false;
    return false;
  }

  // Finds where phase two of every device begins in its order.
  void find_phases() {
    const auto devices = static_cast<std::size_t>(step_.device_set->size());
    StaticPlan& plan = step_.plan;
    plan.phase_two_dependencies = flow_->shared_blocking();
    std::vector<std::int32_t> length(devices, 0);
    plan.phase_one_size.assign(devices, -1);
    for (const std::int32_t e : order_) {
      const int frame = std::max(ControlFlowSchedule::frame_begun(e), ControlFlowSchedule::frame_ended(e));
      const int device = e >= 0 ? step_.instructions[e].device : flow_->loop_device(frame);
      if (flow_->in_phase_two(e) && plan.phase_one_size[device] < 0) plan.phase_one_size[device] = length[device];
      ++length[device];
    }
    for (std::size_t d = 0; d < devices; ++d) {
      if (plan.phase_one_size[d] < 0) plan.phase_one_size[d] = length[d];
    }
    plan.phase_two_position = plan.phase_one_size[0];
  }

  // Lists the slots that a run releases at its end: all that are neither planned nor the same in every run.
  void find_released_at_end() {
    std::vector<char> kept(step_.slots.size(), 0);
    for (const auto& [slot, value] : step_.constants) kept[slot] = 1;
    for (std::size_t s = 0; s < step_.slots.size(); ++s) {
      if (!kept[s] && step_.slots[s].offset < 0) step_.released_at_end.push_back(static_cast<std::int32_t>(s));
    }
  }

  Step& step_;
  InstructionGraph instructions_;
  const std::vector<std::int32_t> groups_;  // by instruction: see collective_groups()
  std::vector<std::int32_t> order_;         // the global order
  Positions positions_;
  std::optional<ControlFlowSchedule> flow_;  // with control flow or blocking instructions
  LoopEnds loop_ends_;
};

}  // namespace

Result<std::shared_ptr<const Step>> compile_step(StepGraph graph, DevicePlacement placement,
                                                 std::shared_ptr<DeviceSet> device_set, const KernelRegistry& kernels,
                                                 bool must_fit, std::shared_ptr<ResourceManager> session,
                                                 std::shared_ptr<const PlacementReport> whole) {
  auto step = std::make_shared<Step>();
  StepInfo& info = step->info;
  step->op_state = std::move(session);
  step->device_set = std::move(device_set);
  for (const DeviceSpec& spec : step->device_set->specs()) info.forecast.push_back({.device = spec.name});
  info.passes = std::move(graph.notes);
  info.placement = std::move(placement);
  info.whole = std::move(whole);
  info.graph = std::make_unique<const StepGraph>(std::move(graph));
  ARGOSY_ASSIGN_OR_RETURN(InstructionGraph instructions,
                          build_instructions(*info.graph, info.placement, kernels, *step));
  ARGOSY_RETURN_IF_ERROR(Compiler(*step, std::move(instructions)).run());
  for (std::string& line : describe_collectives(*step)) info.passes.push_back(std::move(line));
  for (std::string& line : find_capture_regions(*step)) info.passes.push_back(std::move(line));
  if (must_fit) ARGOSY_RETURN_IF_ERROR(check_memory(*step));
  return std::shared_ptr<const Step>(std::move(step));
}

}  // namespace argosy
