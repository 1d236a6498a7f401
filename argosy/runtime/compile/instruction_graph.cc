#include "argosy/runtime/compile/instruction_graph.h"

#include <algorithm>
#include <utility>

#include "argosy/base/memory/huge_pages.h"
#include "argosy/graph/makes_handle.h"
#include "argosy/graph/signature.h"
#include "argosy/op/kernel/device_inputs.h"
#include "argosy/ops/send_recv/send_recv.h"
#include "argosy/passes/place/resolve_collective_groups.h"
#include "argosy/runtime/compile/instruction_table.h"
#include "argosy/runtime/compile/node_kernels.h"

namespace argosy {

std::vector<int> flat_args(const std::vector<ArgDef>& args, const AttrMap& attrs) {
  std::vector<int> flat;
  for (std::size_t a = 0; a < args.size(); ++a) {
    std::size_t n = 1;
    if (!args[a].type_list_attr.empty()) {
      n = attrs.get<std::vector<DType>>(args[a].type_list_attr).size();
    } else if (!args[a].number_attr.empty()) {
      n = static_cast<std::size_t>(attrs.get_int(args[a].number_attr));
    }
    flat.insert(flat.end(), n, static_cast<int>(a));
  }
  return flat;
}

namespace {

bool contains(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

Role role_of(Flow flow) {
  switch (flow) {
    case Flow::kSwitch: return Role::kSwitch;
    case Flow::kMerge: return Role::kMerge;
    case Flow::kEnter:
    case Flow::kExit:
    case Flow::kNextIteration: return Role::kForward;
    default: return Role::kKernel;  // LoopCond checks its input, and ControlTrigger does nothing
  }
}

Instruction instruction_of(const Graph& graph, const Node& n, Kernel& kernel, int device) {
  return {
      .kernel = &kernel,
      .num_inputs = static_cast<std::int32_t>(n.inputs.size()),
      .num_outputs = static_cast<std::int32_t>(n.output_dtypes.size()),
      .device = static_cast<std::int16_t>(device),
      .flow = n.op->flow,
      .role = role_of(n.op->flow),
      .async = n.op->async,
      .updates = n.op->has_ref_input() || std::any_of(n.inputs.begin(), n.inputs.end(),
                                                      [&](Endpoint e) { return graph.dtype(e) == DType::kResource; }),
      .sends = transfer_of(*n.op) == Transfer::kSend,
      .receives = transfer_of(*n.op) == Transfer::kReceive};
}

// True if input k of the kernel, which belongs to argument `arg` of the op, must be in the host's memory.
bool wants_on_host(const Kernel* kernel, const OpDef& op, DType dtype, int k, int arg) {
  if (!is_plain(dtype)) return true;
  if (dtype != DType::kInt32 && !contains(op.host_inputs, arg)) return false;
  const auto* const there = dynamic_cast<const DeviceInputs*>(kernel);
  return there == nullptr || !there->on_device(k);
}

// An input whose producer comes later: it is linked when all instructions are there.
struct BackEdge {
  std::int32_t instruction;
  int input;
  Endpoint from;
  NodeId node;
  bool wants_ref;
};

// Goes through the graph in topological order and gives every node its slots, and its instruction if it needs one.
class InstructionBuilder {
 public:
  InstructionBuilder(const StepGraph& step_graph, const DevicePlacement& placement, const KernelRegistry& kernels,
                     Step& step)
      : graph_(step_graph.graph),
        step_graph_(step_graph),
        placement_(placement),
        step_(step),
        table_(step, static_cast<std::size_t>(graph_.size())),
        instructions_(table_.graph()),
        kernels_(graph_, placement, kernels, step) {}

  Result<InstructionGraph> run() {
    const auto n = static_cast<std::size_t>(graph_.size());
    assign_large(instruction_of_, n, -1);
    assign_large(first_slot_, n, -1);
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph_.topological_order());
    for (const NodeId id : order) ARGOSY_RETURN_IF_ERROR(add(id));
    ARGOSY_RETURN_IF_ERROR(close_loops());
    for (const NodeId arg : step_graph_.feeds) step_.feed_slots.push_back(first_slot_[arg.index]);
    for (const Endpoint e : step_graph_.fetches) {
      ARGOSY_ASSIGN_OR_RETURN(const std::int32_t slot, fetch(e));
      step_.fetch_slots.push_back(slot);
      const bool is_ref = e.index != Value::kControl && graph_.node(e.node).output_is_ref(e.index);
      step_.fetched_refs.emplace_back(is_ref ? std::string_view(graph_.node(e.node).name) : "");
    }
    return table_.finish();
  }

 private:
  int device(NodeId id) const { return placement_.device[id.index]; }
  Status add(NodeId id) {
    const Node& n = graph_.node(id);
    ARGOSY_RETURN_IF_ERROR(check_signature(graph_, n));
    if (n.op->name == "_Arg") {
      first_slot_[id.index] = table_.new_slot(n.output_dtypes[0], n.output_shapes[0], 0, -1);
      return ok_status();
    }
    if (const Tensor* value = graph_.constant({id, 0}); value != nullptr && n.controls.empty()) {
      first_slot_[id.index] = table_.new_constant(*value, 0);
      return ok_status();
    }
    auto made = makes_handle(n) ? resolve_handle(id) : add_instruction(id);
    if (!made.ok()) {
      return std::move(made).with_where(
          str_cat("node '", n.name, "' (", n.op->name, ") on ", placement_.device_of(id)));
    }
    return ok_status();
  }

  // Finds the handle when the step is compiled, so that runs need not. It waits for nothing (handle_waits.h).
  Status resolve_handle(NodeId id) {
    if (!graph_.node(id).controls.empty()) return internal_error("a handle waits for another node");
    ARGOSY_ASSIGN_OR_RETURN(Tensor handle, kernels_.handle(id, static_cast<std::int32_t>(step_.slots.size())));
    first_slot_[id.index] = table_.new_constant(std::move(handle), 0);
    return ok_status();
  }

  Status add_instruction(NodeId id) {
    const Node& n = graph_.node(id);
    ARGOSY_ASSIGN_OR_RETURN(Kernel* const kernel, kernels_.make(id));
    Instruction instruction = instruction_of(graph_, n, *kernel, device(id));
    instruction.node = static_cast<std::int32_t>(step_.info.nodes.size());
    const bool blocks = n.op->async && (!n.op->collective || meets_by_key(n));
    if (n.op->flow != Flow::kNone || blocks) instructions_.has_control_flow_or_blocking = true;
    step_.info.nodes.push_back({.name = n.name, .op = n.op->name});
    const std::int32_t index = table_.new_instruction(instruction, &n);
    instruction_of_[id.index] = index;

    // Inputs first: copies they need come before this instruction in the arrays, though order is decided later.
    std::vector<bool> refs;
    if (n.op->has_ref_input()) {
      ARGOSY_ASSIGN_OR_RETURN(const auto dtypes, arg_dtypes(n.op->input_args, n.attrs, &refs));
    }
    std::vector<int> args;  // empty where no input must be in the host's memory
    if (!n.op->host_inputs.empty()) args = flat_args(n.op->input_args, n.attrs);
    SmallVector<std::int32_t, 8> inputs;
    inputs.reserve(n.inputs.size());
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      const Endpoint from = n.inputs[k];
      const bool wants_ref = k < refs.size() && refs[k];
      if (first_slot_[from.node.index] < 0) {  // a back edge: its producer is yet to come
        back_edges_.push_back({index, static_cast<int>(k), from, id, wants_ref});
        inputs.push_back(-1);
        continue;
      }
      ARGOSY_ASSIGN_OR_RETURN(const std::int32_t slot,
                              input(index, id, from, wants_ref, static_cast<int>(k), k < args.size() ? args[k] : 0));
      inputs.push_back(slot);
    }
    step_.instructions[index].first_input = static_cast<std::int32_t>(step_.input_slots.size());
    step_.input_slots.insert(step_.input_slots.end(), inputs.begin(), inputs.end());

    // Set only now: copies for the inputs have appended output dtypes of their own.
    step_.instructions[index].first_dtype = static_cast<std::int32_t>(step_.output_dtypes.size());
    std::vector<int> out_args;
    if (!n.op->host_outputs.empty()) out_args = flat_args(n.op->output_args, n.attrs);
    const int home = table_.space_of(device(id));
    for (std::size_t i = 0; i < n.output_dtypes.size(); ++i) {
      const bool ref = n.output_is_ref(static_cast<int>(i));
      const DType dtype = ref ? DType::kResource : n.output_dtypes[i];
      const bool on_host = !is_plain(dtype) || dtype == DType::kInt32 ||
                           (!out_args.empty() && contains(n.op->host_outputs, out_args[i]));
      const std::int32_t slot =
          table_.new_slot(dtype, ref ? PartialShape::scalar() : n.output_shapes[i], on_host ? 0 : home, index);
      if (i == 0) {
        first_slot_[id.index] = slot;
        step_.instructions[index].first_output = slot;
      }
      step_.output_dtypes.push_back(dtype);
      // A forwarded reference is the same variable.
      if (ref || dtype == DType::kResource) {
        for (const std::int32_t s : inputs) {
          if (s >= 0 && step_.slots[s].dtype == DType::kResource) {
            instructions_.root[slot] = instructions_.root[s];
            break;
          }
        }
      }
    }
    if (n.output_dtypes.empty()) {
      first_slot_[id.index] = 0;
    } else if (n.op->forwards || n.op->flow != Flow::kNone) {
      for (int i = 0; i < step_.instructions[index].num_outputs; ++i)
        instructions_.forwarded[first_slot_[id.index] + i] = 1;
    }
    for (const NodeId c : n.controls) table_.depend(index, instruction_of_[c.index]);
    return ok_status();
  }

  // Returns the slot of input k, `from`, in the memory that the kernel wants; adds a dereference and a copy if needed.
  Result<std::int32_t> input(std::int32_t index, NodeId id, Endpoint from, bool wants_ref, int k, int arg) {
    const Node& n = graph_.node(id);
    std::int32_t slot = first_slot_[from.node.index] + from.index;
    const int home = table_.space_of(device(id));
    const bool ref = graph_.node(from.node).output_is_ref(from.index);
    if (ref && !wants_ref) {
      const DType dtype = graph_.dtype(from);
      const int space = is_plain(dtype) ? table_.space_of(device(from.node)) : 0;
      const int want = wants_on_host(step_.instructions[index].kernel, *n.op, dtype, k, arg) ? 0 : home;
      const std::int32_t value = table_.new_slot(dtype, graph_.shape(from), space, -1);
      instructions_.forwarded[value] = 1;
      std::int32_t reader = index;
      if (space != want) {
        ARGOSY_ASSIGN_OR_RETURN(const std::int32_t copy, table_.add_copy(value, want, device(from.node), device(id)));
        reader = instructions_.producer[copy];
        table_.reads(index, copy);
        step_.meta[reader].derefs.emplace_back(slot, value);
        table_.reads(reader, slot);
        // The copy reads the variable, so it waits for whatever its reader waits for.
        for (const NodeId c : n.controls) table_.depend(reader, instruction_of_[c.index]);
        for (const Endpoint e : n.inputs) {
          if (e != from) table_.depend(reader, instruction_of_[e.node.index]);
        }
        return copy;
      }
      step_.meta[reader].derefs.emplace_back(slot, value);
      table_.reads(reader, slot);
      return value;
    }
    const DType dtype = step_.slots[slot].dtype;
    const int want = wants_on_host(step_.instructions[index].kernel, *n.op, dtype, k, arg) ? 0 : home;
    if (step_.slots[slot].space != want) {
      ARGOSY_ASSIGN_OR_RETURN(slot, table_.copied(slot, want, device(from.node), device(id)));
    }
    table_.reads(index, slot);
    return slot;
  }

  // Returns the slot to take a fetch from, in the host's memory; -1: a control value.
  Result<std::int32_t> fetch(Endpoint e) {
    if (e.index == Value::kControl) return -1;
    std::int32_t slot = first_slot_[e.node.index] + e.index;
    if (graph_.node(e.node).output_is_ref(e.index)) return slot;  // read when the run is over
    if (step_.slots[slot].space != 0) {
      ARGOSY_ASSIGN_OR_RETURN(slot, table_.copied(slot, 0, device(e.node), 0));
    }
    return slot;
  }

  Status close_loops() {
    for (const auto& edge : back_edges_) {
      ARGOSY_ASSIGN_OR_RETURN(const std::int32_t slot,
                              input(edge.instruction, edge.node, edge.from, edge.wants_ref, edge.input, 0));
      step_.input_slots[step_.instructions[edge.instruction].first_input + edge.input] = slot;
    }
    return ok_status();
  }

  const Graph& graph_;
  const StepGraph& step_graph_;
  const DevicePlacement& placement_;
  Step& step_;
  InstructionTable table_;
  InstructionGraph& instructions_;  // the table's
  NodeKernels kernels_;
  std::vector<std::int32_t> instruction_of_, first_slot_;  // by node; -1: none, or not added yet
  std::vector<BackEdge> back_edges_;
};

}  // namespace

Result<InstructionGraph> build_instructions(const StepGraph& graph, const DevicePlacement& placement,
                                            const KernelRegistry& kernels, Step& step) {
  return InstructionBuilder(graph, placement, kernels, step).run();
}

InstructionGraph::Readers::Readers(std::size_t slots,
                                   std::span<const std::pair<std::int32_t, std::int32_t>> slots_and_instructions)
    : first_(slots + 1, 0), instructions_(slots_and_instructions.size()) {
  for (const auto& [slot, instruction] : slots_and_instructions) ++first_[static_cast<std::size_t>(slot) + 1];
  for (std::size_t s = 1; s <= slots; ++s) first_[s] += first_[s - 1];
  std::vector<std::uint32_t> at(first_.begin(), first_.end() - 1);
  for (const auto& [slot, instruction] : slots_and_instructions)
    instructions_[at[static_cast<std::size_t>(slot)]++] = instruction;
}

}  // namespace argosy
