// Step: the compiled form of one signature and one set of feed shapes. Flat arrays hold kernels, slots, orders and
// memory offsets. A step never changes. Concurrent runs share it, and each has a RunState of its own.
//
// Terms.
//   instruction  one thing that a device does: a node's kernel, or a copy between memories.
//   slot         the place of one tensor.
//   space        a memory. 0 is the host's (all CPU devices); d > 0 is that of device d, a GPU.
//   order        a device's instructions, one after the other: a projection of one global order. So a device never
//                waits for work that is queued behind what it waits for, memory is planned along the order, and a run
//                needs no queue of ready instructions.
//
// A step has parts by who reads them. Both executors read Step itself. run_static() reads StaticPlan as well,
// run_dataflow() reads DataflowGraph. StepInfo is for people. What the compiler alone needs is an InstructionGraph
// (argosy/runtime/compile/instruction_graph.h), which goes when compilation ends.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/op/kernel/kernel.h"
#include "argosy/passes/place/place.h"
#include "argosy/passes/simplify/prune.h"
#include "argosy/runtime/device_set/device_set.h"
#include "argosy/runtime/device_set/stats.h"

namespace argosy {

// What the executor does for an instruction. For kKernel it runs the kernel; it does the others itself.
enum class Role : std::uint8_t { kKernel, kCopy, kSwitch, kMerge, kForward, kLoopBegin, kLoopEnd };

// --- what both executors read ----------------------------------------------------------------------------------------

struct Instruction {
  Kernel* kernel = nullptr;       // null: a copy, or an end of a loop
  std::int32_t first_input = 0;   // into Step::input_slots
  std::int32_t first_output = 0;  // a slot; an instruction's outputs are consecutive slots
  std::int32_t first_dtype = 0;   // into Step::output_dtypes
  std::int32_t node = 0;          // into StepInfo::nodes
  std::int32_t num_inputs = 0;
  std::int32_t num_outputs = 0;
  std::int16_t device = 0;  // the device whose thread runs it
  Flow flow = Flow::kNone;
  Role role = Role::kKernel;
  bool async = false;            // RunState::done tells when it has ended
  bool signals = false;          // another device, or a later instruction of this one, waits for RunState::done
  bool special = false;          // needs more than its kernel (waits, derefs, releases, a role …): off the fast path
  bool may_be_dead : 1 = false;  // InstructionMeta::dead_flags tell whether it is
  bool updates : 1 = false;      // takes a reference or a handle: what it may write outlives the run
  bool sends : 1 = false;        // sends a value to another task, or that it is dead: so it runs when dead, too
  bool receives : 1 = false;     // receives a value of another task, or that it is dead
};

struct SlotSpec {
  DType dtype = DType::kInvalid;
  PartialShape shape;
  int space = 0;
  std::int64_t offset = -1;  // in the arena of its space; -1: allocated when written
  std::size_t bytes = 0;     // 0 unless the shape is known
};

// What a special instruction needs done around its kernel.
struct InstructionMeta {
  std::vector<std::int32_t> waits;                            // instructions: async ones, or of other devices
  std::vector<std::int32_t> wakes;                            // devices that wait for this instruction
  std::vector<std::pair<std::int32_t, std::int32_t>> derefs;  // (slot of a variable's handle, slot for its value)
  std::vector<std::int32_t> releases;                         // unplanned slots whose last use this is
  // Flags of RunState::dead; -1: never dead. The instruction is dead when one is set. A Merge has a flag per input, and
  // is dead when all are set.
  std::vector<std::int32_t> dead_flags;
  std::int32_t loop = -1;              // the frame of a LoopBegin, a LoopEnd, or a Merge that takes a NextIteration
  std::uint64_t back_edge_inputs = 0;  // of such a Merge: inputs of the previous iteration, as bits
  std::uint64_t moved_inputs = 0;      // of kSwitch, kMerge, kForward: inputs that it is the last to read, as bits
  bool donates = false;                // some of StaticPlan::donates is set
  bool wants_index = false;            // of a Merge: its second output is read or fetched
};

// --- what run_static() reads -----------------------------------------------------------------------------------------

// A loop in the order of its device: from `begin` to `end`, again while a NextIteration is live.
struct Loop {
  std::int32_t begin = -1, end = -1;        // positions in the order of its device
  std::vector<std::int32_t> enters, nexts;  // of Enters and NextIterations: flags of RunState::dead
  std::vector<std::int32_t> leaving;        // flags that are set when the loop is not entered
};

// Instructions of a device's order that are captured together (argosy/runtime/compile/capture_regions.h).
struct CaptureRegion {
  std::int32_t begin = 0, end = 0;    // positions in the order
  std::vector<std::int32_t> inputs;   // slots that it reads and does not write
  std::vector<std::int32_t> handles;  // slots of the handles of variables
};

// A loop is a contiguous range of one device's order. Instructions of branches not taken are passed over
// (argosy/runtime/compile/order/control_flow_schedule.h).
struct StaticPlan {
  std::vector<std::vector<std::int32_t>> order;  // by device: instructions
  std::vector<Loop> loops;                       // by frame; empty without control flow
  std::unique_ptr<bool[]> donates;  // by position in input_slots: the instruction is the last reader; null: none is
  std::vector<std::int32_t> fetch_dead_flags;  // by fetch: a flag of RunState::dead, or -1; empty without control flow
  // Blocking instructions. Devices other than the host's run their order up to `phase_one_size` at once. They run the
  // rest when the host, at `phase_two_position` of its order, has seen all of `phase_two_dependencies` done. All are
  // empty without such instructions.
  std::vector<std::int32_t> phase_one_size;  // by device
  std::vector<std::int32_t> phase_two_dependencies;
  std::int32_t phase_two_position = -1;
  std::vector<std::vector<CaptureRegion>> capture_regions;  // by device, in order; empty where nothing can be captured
};

// --- what run_dataflow() reads ---------------------------------------------------------------------------------------

// The edges between instructions, and the frames of loops. The compiler makes it for steps with control flow or
// blocking instructions, to look for an order, and drops it where it finds one.
struct DataflowGraph {
  struct Edge {
    std::int32_t instruction;
    std::int32_t output;  // of the producer; -1: control
    std::int32_t input;   // of the consumer, the handles of its derefs after its own inputs; -1: control
  };
  std::vector<std::vector<Edge>> successors;  // by instruction
  std::vector<std::int32_t> pending;          // by instruction: number of edges into it

  // A loop's frame; 0 is the root. An instruction belongs to the frame whose iterations it runs in: an Enter to the
  // outer one, an Exit to the inner one.
  struct Frame {
    int parent = 0;
    std::uint64_t name_key = 0;  // of its name (frame_keys.h): the same on every task
    int enters = 0;              // Enter instructions that feed it: each fires once per iteration of the parent
    int parallel = 10;           // iterations that may be under way at once
    std::vector<std::int32_t> instructions;
    std::vector<std::int32_t> exits;
    std::int32_t inputs = 0;  // of all its instructions together, handles to dereference included
  };
  std::vector<Frame> frames;
  std::vector<std::int32_t> frame_of;  // by instruction
  std::vector<std::int32_t> local_of;  // by instruction: position in its frame's instructions
  std::vector<std::int32_t> base_of;   // by instruction: its first input among its frame's inputs

  struct Enter {
    std::int32_t frame = -1;   // the frame that it enters; -1: no Enter
    bool is_constant = false;  // every iteration gets its value
  };
  std::vector<Enter> enters;  // by instruction
};

// Returns the report of a placed graph.
PlacementReport report_of(const Graph& graph, const DevicePlacement& placement);

// --- for people ------------------------------------------------------------------------------------------------------

// What messages, traces and reports need. The texts of `nodes` are views into `graph`.
struct StepInfo {
  struct NodeInfo {
    std::string_view name;
    std::string_view op;
  };
  std::vector<NodeInfo> nodes;
  std::vector<MemoryForecast> forecast;    // by device
  std::unique_ptr<const StepGraph> graph;  // what was compiled
  DevicePlacement placement;               // of its nodes
  std::vector<std::string> passes;         // what each pass did
  // For a partition: where all nodes of the step run, on all tasks. Null: `graph` is the whole step.
  std::shared_ptr<const PlacementReport> whole = nullptr;
  PlacementReport report() const;
};

// ---------------------------------------------------------------------------------------------------------------------

// A handle that was found by name when the step was compiled. Once a resource has been destroyed, the next run finds it
// again (find_handles()).
struct NamedHandle {
  std::int32_t slot = -1;
  Kernel* kernel = nullptr;  // finds it, or makes it
  std::int32_t device = 0;
  std::string_view node;
};

struct Step {
  std::shared_ptr<DeviceSet> device_set;
  std::vector<Instruction> instructions;  // in the order of the graph
  std::vector<InstructionMeta> meta;      // by instruction
  std::vector<std::int32_t> input_slots;
  std::vector<DType> output_dtypes;
  std::vector<SlotSpec> slots;
  std::vector<std::pair<std::int32_t, Tensor>>
      constants;                              // (slot, value): constants and handles, the same in every run
  std::vector<std::int32_t> feed_slots;       // in the signature's order
  std::vector<std::int32_t> fetch_slots;      // likewise; -1: a control value
  std::vector<std::string> fetched_refs;      // likewise: the node's name if it gives a reference, else ""
  std::vector<std::int32_t> released_at_end;  // slots that a run empties at its end
  std::vector<std::size_t> arena_bytes;       // by device
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::shared_ptr<ResourceManager> op_state;  // state that ops of its session keep between runs; may be null
  std::vector<NamedHandle> handles;          // among `constants`
  std::uint64_t generation = 0;              // resource_generation() before `handles` were found
  bool needs_dataflow = false;               // no order is safe: run_dataflow() runs it

  StaticPlan plan;         // empty where needs_dataflow
  DataflowGraph dataflow;  // empty unless needs_dataflow
  StepInfo info;
};

// Returns a number that changes when a resource is destroyed in a place where the step looks for resources.
inline std::uint64_t resource_generation(const Step& step) {
  std::uint64_t sum = step.op_state != nullptr ? step.op_state->generation() : 0;
  for (int d = 0; d < step.device_set->size(); ++d) sum += step.device_set->resources(d).generation();
  return sum;
}

}  // namespace argosy
