#include "argosy/runtime/compile/instruction_graph.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "argosy/base/memory/huge_pages.h"
#include "argosy/graph/signature.h"
#include "argosy/op/kernel/device_inputs.h"
#include "argosy/op/kernel/scratch.h"
#include "argosy/runtime/machine/counted_strings.h"
#include "argosy/runtime/session/function_calls.h"

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

// Longer lists of what an instruction waits for are not searched for what they hold already: waiting twice does no harm.
constexpr std::size_t kMostCompared = 32;

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

class InstructionBuilder {
 public:
  InstructionBuilder(const StepGraph& step_graph, const Placement& placement, const KernelRegistry& kernels, Step& step)
      : graph_(step_graph.graph), feeds_(step_graph), placement_(placement), kernels_(kernels), step_(step) {}

  Result<InstructionGraph> run() {
    const auto n = static_cast<std::size_t>(graph_.size());
    assign_large(instruction_of_, n, -1);
    assign_large(first_slot_, n, -1);
    // One instruction and one slot a node, or about.
    reserve_large(step_.instructions, n);
    reserve_large(step_.meta, n);
    reserve_large(step_.nodes, n);
    reserve_large(step_.kernels, n);
    reserve_large(step_.slots, n);
    reserve_large(instructions_.after, n);
    reserve_large(instructions_.ops, n);
    reserve_large(instructions_.producer, n);
    reserve_large(instructions_.root, n);
    reserve_large(instructions_.forwarded, n);
    reserve_large(reads_, 2 * n);
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph_.topological_order());
    for (const NodeId id : order) ARGOSY_RETURN_IF_ERROR(add(id));
    ARGOSY_RETURN_IF_ERROR(close_loops());
    for (const NodeId arg : feeds_.feeds) step_.feed_slots.push_back(first_slot_[arg.index]);
    for (const Endpoint e : feeds_.fetches) {
      if (e.index == Value::kControl) {
        step_.fetch_slots.push_back(-1);
        step_.fetched_refs.emplace_back();
        continue;
      }
      ARGOSY_ASSIGN_OR_RETURN(const std::int32_t slot, fetch(e));
      step_.fetch_slots.push_back(slot);
      const Node& node = graph_.node(e.node);
      step_.fetched_refs.emplace_back(node.output_is_ref(e.index) ? std::string_view(node.name) : "");
    }
    instructions_.readers = InstructionGraph::Readers(step_.slots.size(), reads_);
    return std::move(instructions_);
  }

 private:
  int device(NodeId id) const { return placement_.device[id.index]; }
  bool is_gpu(int d) const { return step_.device_set->device(d).spec().is_gpu(); }
  int space_of(int d) const { return is_gpu(d) ? d : 0; }

  std::int32_t new_slot(DType dtype, PartialShape shape, int space, std::int32_t producer) {
    const auto slot = static_cast<std::int32_t>(step_.slots.size());
    SlotSpec spec{.dtype = dtype, .shape = std::move(shape), .space = space};
    const std::int64_t elements = spec.shape.elements();
    if (elements >= 0) spec.bytes = static_cast<std::size_t>(elements) * element_bytes(dtype);
    step_.slots.push_back(std::move(spec));
    instructions_.producer.push_back(producer);
    instructions_.root.push_back(slot);
    instructions_.forwarded.push_back(0);
    return slot;
  }

  std::int32_t new_instruction(Instruction instruction, const OpDef* op) {
    const auto index = static_cast<std::int32_t>(step_.instructions.size());
    step_.instructions.push_back(instruction);
    step_.meta.emplace_back();
    instructions_.after.emplace_back();
    instructions_.ops.push_back(op);
    return index;
  }

  void depend(std::int32_t instruction, std::int32_t on) {
    if (on < 0 || on == instruction) return;
    // Once each, as far as that is quickly told: a group may wait for any number of nodes.
    InstructionGraph::Before& after = instructions_.after[instruction];
    if (last_waiter_.size() < step_.instructions.size()) last_waiter_.resize(step_.instructions.capacity(), -1);
    if (std::exchange(last_waiter_[on], instruction) == instruction) return;
    if (after.size() > kMostCompared || std::find(after.begin(), after.end(), on) == after.end()) after.push_back(on);
  }

  void reads(std::int32_t instruction, std::int32_t slot) {
    reads_.emplace_back(slot, instruction);
    depend(instruction, instructions_.producer[slot]);
  }

  Status add(NodeId id) {
    const Node& n = graph_.node(id);
    ARGOSY_RETURN_IF_ERROR(check_signature(graph_, n));
    if (n.op->name == "_Arg") {
      first_slot_[id.index] = new_slot(n.output_dtypes[0], n.output_shapes[0], 0, -1);
      return ok_status();
    }
    if (const Tensor* value = graph_.constant({id, 0}); value != nullptr && n.controls.empty()) {
      return add_constant(id, *value, 0);
    }
    const bool handle = n.op->stateful && n.inputs.empty() && n.output_dtypes.size() == 1 &&
                        (n.output_is_ref(0) || n.output_dtypes[0] == DType::kResource);
    auto made = handle ? resolve_handle(id) : add_instruction(id);
    if (!made.ok()) {
      return std::move(made).with_where(
          str_cat("node '", n.name, "' (", n.op->name, ") on ", placement_.device_of(id)));
    }
    return ok_status();
  }

  Status add_constant(NodeId id, Tensor value, int space) {
    first_slot_[id.index] = new_slot(value.dtype(), value.shape(), space, -1);
    step_.constants.emplace_back(first_slot_[id.index], std::move(value));
    return ok_status();
  }

  const std::shared_ptr<FunctionCalls>& functions() {
    if (functions_ == nullptr && !graph_.functions().empty()) {
      functions_ = make_function_calls(graph_, *step_.device_set, kernels_, step_.session);
    }
    return functions_;
  }

  Result<Kernel*> make_kernel(NodeId id) {
    const Node& n = graph_.node(id);
    SmallVector<DType, 8> input_dtypes;
    SmallVector<PartialShape, 4> input_shapes;
    SmallVector<const Tensor*, 8> constants;
    for (const Endpoint e : n.inputs) {
      input_dtypes.push_back(graph_.dtype(e));
      input_shapes.push_back(graph_.shape(e));
      constants.push_back(graph_.constant(e));
    }
    Device& d = step_.device_set->device(device(id));
    const KernelInit init{.op = *n.op,
                          .attrs = n.attrs,
                          .node = n.name,
                          .input_dtypes = input_dtypes,
                          .output_dtypes = n.output_dtypes,
                          .input_shapes = input_shapes,
                          .output_shapes = n.output_shapes,
                          .constants = constants,
                          .device = &d,
                          .resources = &step_.device_set->resources(device(id)),
                          .session = step_.session,
                          .functions = functions()};
    ARGOSY_ASSIGN_OR_RETURN(auto kernel, kernels_.make(init, d.kernel_kind()));
    step_.kernels.push_back(count_strings(std::move(kernel), init));
    return step_.kernels.back().get();
  }

  // A variable's handle does not change while the device set lives: it is made now, not in every run.
  Status resolve_handle(NodeId id) {
    const Node& n = graph_.node(id);
    ARGOSY_ASSIGN_OR_RETURN(Kernel* const kernel, make_kernel(id));
    Tensor tensor;
    OutputSlot slot{.tensor = &tensor};
    const DType dtype = DType::kResource;
    Device& d = step_.device_set->device(device(id));
    KernelContext context({.outputs = &slot,
                           .num_outputs = 1,
                           .output_dtypes = &dtype,
                           .node = n.name,
                           .device = &d,
                           .allocator = &d.allocator(),
                           .resources = &step_.device_set->resources(device(id))});
    ARGOSY_RETURN_IF_ERROR(kernel->run(context));
    const auto* shape = n.attrs.find_as<PartialShape>("shape");
    const auto* type = n.attrs.find_as<DType>("dtype");
    if (shape != nullptr && type != nullptr && shape->elements() > 0 && is_plain(*type)) {
      step_.forecast[device(id)].variable_bytes += static_cast<std::uint64_t>(shape->elements()) * element_bytes(*type);
    }
    return add_constant(id, std::move(tensor), 0);
  }

  // A device's kernels run one after the other: the largest counts.
  void take_scratch(NodeId id, const std::vector<std::int64_t>& scratch) {
    const auto d = static_cast<std::size_t>(device(id));
    scratch_.resize(static_cast<std::size_t>(step_.device_set->size()));
    const std::int64_t cores = step_.device_set->device(static_cast<int>(d)).spec().cores;
    const auto bytes = static_cast<std::uint64_t>(scratch.at(0) + scratch.at(1) * cores);
    if (bytes <= scratch_[d]) return;
    step_.forecast[d].dynamic_bytes += bytes - scratch_[d];
    scratch_[d] = bytes;
  }

  Status add_instruction(NodeId id) {
    const Node& n = graph_.node(id);
    ARGOSY_ASSIGN_OR_RETURN(Kernel* const kernel, make_kernel(id));
    Instruction instruction{.kernel = kernel,
                            .node = static_cast<std::int32_t>(step_.nodes.size()),
                            .num_inputs = static_cast<std::int32_t>(n.inputs.size()),
                            .num_outputs = static_cast<std::int32_t>(n.output_dtypes.size()),
                            .device = static_cast<std::int16_t>(device(id)),
                            .flow = n.op->flow,
                            .async = n.op->async,
                            .updates = n.op->has_ref_input() ||
                                       std::any_of(n.inputs.begin(), n.inputs.end(),
                                                   [&](Endpoint e) { return graph_.dtype(e) == DType::kResource; })};
    Step::NodeInfo info{.name = n.name, .op = n.op->name, .flow_attrs = {}};
    instruction.role = role_of(n.op->flow);
    if (n.op->flow != Flow::kNone || (n.op->async && !n.op->collective)) instructions_.unusual = true;
    if (n.op->flow == Flow::kEnter) info.flow_attrs = n.attrs;
    step_.nodes.push_back(std::move(info));
    const std::int32_t index = new_instruction(instruction, n.op);
    instruction_of_[id.index] = index;
    if (const auto* scratch = n.attrs.find_as<std::vector<std::int64_t>>(kScratchAttr)) take_scratch(id, *scratch);

    // Inputs first: copies they need come before this instruction in the arrays, though order is decided later.
    std::vector<bool> refs;
    if (n.op->has_ref_input()) {
      ARGOSY_ASSIGN_OR_RETURN(const auto dtypes, arg_dtypes(n.op->input_args, n.attrs, &refs));
    }
    std::vector<int> args;  // asked for where some of them belong in the host's memory
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

    // Only now: the inputs' copies have outputs of their own.
    step_.instructions[index].first_dtype = static_cast<std::int32_t>(step_.output_dtypes.size());
    std::vector<int> out_args;
    if (!n.op->host_outputs.empty()) out_args = flat_args(n.op->output_args, n.attrs);
    const int home = space_of(device(id));
    for (std::size_t i = 0; i < n.output_dtypes.size(); ++i) {
      const bool ref = n.output_is_ref(static_cast<int>(i));
      const DType dtype = ref ? DType::kResource : n.output_dtypes[i];
      const bool on_host = !is_plain(dtype) || dtype == DType::kInt32 ||
                           (!out_args.empty() && contains(n.op->host_outputs, out_args[i]));
      const std::int32_t slot =
          new_slot(dtype, ref ? PartialShape::scalar() : n.output_shapes[i], on_host ? 0 : home, index);
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
    for (const NodeId c : n.controls) depend(index, instruction_of_[c.index]);
    return ok_status();
  }

  // Does argument `arg` of instruction `index`, its input k, belong in the host's memory?
  bool wants_on_host(std::int32_t index, const OpDef& op, DType dtype, int k, int arg) const {
    if (!is_plain(dtype)) return true;
    if (dtype != DType::kInt32 && !contains(op.host_inputs, arg)) return false;
    const auto* const there = dynamic_cast<const DeviceInputs*>(step_.instructions[index].kernel);
    return there == nullptr || !there->on_device(k);
  }

  // The slot instruction `index` reads for its input k, `from`, in the memory it wants it in.
  Result<std::int32_t> input(std::int32_t index, NodeId id, Endpoint from, bool wants_ref, int k, int arg) {
    const Node& n = graph_.node(id);
    std::int32_t slot = first_slot_[from.node.index] + from.index;
    const int home = space_of(device(id));
    const bool ref = graph_.node(from.node).output_is_ref(from.index);
    if (ref && !wants_ref) {
      const DType dtype = graph_.dtype(from);
      const int space = is_plain(dtype) ? space_of(device(from.node)) : 0;
      const int want = wants_on_host(index, *n.op, dtype, k, arg) ? 0 : home;
      const std::int32_t value = new_slot(dtype, graph_.shape(from), space, -1);
      instructions_.forwarded[value] = 1;
      std::int32_t reader = index;
      if (space != want) {
        ARGOSY_ASSIGN_OR_RETURN(const std::int32_t copy, add_copy(value, want, device(from.node), device(id)));
        reader = instructions_.producer[copy];
        reads(index, copy);
        step_.meta[reader].derefs.emplace_back(slot, value);
        reads(reader, slot);
        // The variable is read when its reader might run, not before.
        for (const NodeId c : n.controls) depend(reader, instruction_of_[c.index]);
        for (const Endpoint e : n.inputs) {
          if (e != from) depend(reader, instruction_of_[e.node.index]);
        }
        return copy;
      }
      step_.meta[reader].derefs.emplace_back(slot, value);
      reads(reader, slot);
      return value;
    }
    const DType dtype = step_.slots[slot].dtype;
    const int want = wants_on_host(index, *n.op, dtype, k, arg) ? 0 : home;
    if (step_.slots[slot].space != want) {
      ARGOSY_ASSIGN_OR_RETURN(slot, copied(slot, want, device(from.node), device(id)));
    }
    reads(index, slot);
    return slot;
  }

  // `slot`'s tensor in another space: made once, shared by all who want it there.
  Result<std::int32_t> copied(std::int32_t slot, int want, int from_device, int to_device) {
    const std::uint64_t key = (static_cast<std::uint64_t>(slot) << 16) | static_cast<std::uint64_t>(want);
    if (const auto found = copies_.find(key); found != copies_.end()) return found->second;
    for (const auto& [constant_slot, value] : step_.constants) {
      if (constant_slot == slot) {
        ARGOSY_ASSIGN_OR_RETURN(const std::int32_t constant, copied_constant(value, want));
        copies_[key] = constant;
        return constant;
      }
    }
    ARGOSY_ASSIGN_OR_RETURN(const std::int32_t copy, add_copy(slot, want, from_device, to_device));
    copies_[key] = copy;
    return copy;
  }

  Result<std::int32_t> copied_constant(const Tensor value, int want) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor there, step_.device_set->constant_on(want, value));
    step_.forecast[want].constant_bytes += value.bytes();
    const std::int32_t slot = new_slot(value.dtype(), value.shape(), want, -1);
    step_.constants.emplace_back(slot, std::move(there));
    return slot;
  }

  // On the receiving GPU's time line; towards the host, on the sending GPU's.
  Result<std::int32_t> add_copy(std::int32_t slot, int want, int from_device, int to_device) {
    const int where = want > 0 ? to_device : from_device;
    const SlotSpec from = step_.slots[slot];
    Instruction instruction{.first_input = static_cast<std::int32_t>(step_.input_slots.size()),
                            .first_dtype = static_cast<std::int32_t>(step_.output_dtypes.size()),
                            .node = static_cast<std::int32_t>(step_.nodes.size()),
                            .num_inputs = 1,
                            .num_outputs = 1,
                            .device = static_cast<std::int16_t>(where),
                            .role = Role::kCopy};
    const std::int32_t by = instructions_.producer[slot];
    step_.nodes.push_back(
        {.name = by >= 0 ? step_.nodes[step_.instructions[by].node].name : "feed", .op = "_Copy", .flow_attrs = {}});
    step_.input_slots.push_back(slot);
    step_.output_dtypes.push_back(from.dtype);
    const std::int32_t index = new_instruction(instruction, nullptr);
    const std::int32_t copy = new_slot(from.dtype, from.shape, want, index);
    step_.instructions[index].first_output = copy;
    reads(index, slot);
    return copy;
  }

  Result<std::int32_t> fetch(Endpoint e) {
    std::int32_t slot = first_slot_[e.node.index] + e.index;
    if (graph_.node(e.node).output_is_ref(e.index)) return slot;  // read when the run is over
    if (step_.slots[slot].space != 0) {
      ARGOSY_ASSIGN_OR_RETURN(slot, copied(slot, 0, device(e.node), 0));
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

  struct BackEdge {
    std::int32_t instruction;
    int input;
    Endpoint from;
    NodeId node;
    bool wants_ref;
  };

  const Graph& graph_;
  const StepGraph& feeds_;
  const Placement& placement_;
  const KernelRegistry& kernels_;
  Step& step_;
  InstructionGraph instructions_;
  std::vector<std::pair<std::int32_t, std::int32_t>> reads_;  // slot and instruction, as they are told of
  std::vector<std::int32_t> last_waiter_;                     // by instruction: the last that came to depend on it
  std::vector<std::int32_t> instruction_of_, first_slot_;
  std::unordered_map<std::uint64_t, std::int32_t> copies_;
  std::vector<BackEdge> back_edges_;
  std::vector<std::uint64_t> scratch_;  // by device
  std::shared_ptr<FunctionCalls> functions_;
};

}  // namespace

Result<InstructionGraph> build_instructions(const StepGraph& graph, const Placement& placement,
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
