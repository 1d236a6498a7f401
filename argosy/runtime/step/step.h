// Step: the compiled form of one signature: flat arrays, kernels made, inputs resolved to slots, order and memory
// fixed. Immutable; shared by concurrent runs, each of which has a RunState of its own.
//
// Words. An *instruction* is one thing a device does: a node's kernel, or a copy between memories. A *slot* holds one tensor.
// A *space* is a memory: 0 is the host's (all CPU devices), d > 0 that of device d when it is a GPU.
//
// Every device has a fixed *order* of its instructions, a projection of one global order. So a device never waits for work
// that is queued behind what it waits for, memory is planned along the order, and a run needs no ready-queue. A loop is
// a contiguous range of one device's order, done over and over; instructions of branches not taken are passed over
// (argosy/runtime/compile/static_schedule.h). Steps for which no order is safe are run by run_dataflow().
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/op/kernel/kernel.h"
#include "argosy/passes/place/place.h"
#include "argosy/passes/prune/prune.h"
#include "argosy/runtime/machine/device_set.h"
#include "argosy/runtime/machine/stats.h"

namespace argosy {

// What the executor does for an instruction. All but the first it does itself, without a kernel.
enum class Role : std::uint8_t { kKernel, kCopy, kSwitch, kMerge, kForward, kLoopBegin, kLoopEnd };

struct Instruction {
  Kernel* kernel = nullptr;       // null: a copy, or an end of a loop
  std::int32_t first_input = 0;   // into Step::input_slots
  std::int32_t first_output = 0;  // a slot; an instruction's outputs are consecutive slots
  std::int32_t first_dtype = 0;   // into Step::output_dtypes
  std::int32_t node = 0;          // into Step::nodes
  std::int32_t num_inputs = 0;
  std::int32_t num_outputs = 0;
  std::int16_t device = 0;  // on whose time line it runs
  Flow flow = Flow::kNone;
  Role role = Role::kKernel;
  bool async = false;            // its end is told by done[]
  bool signals = false;          // another device, or a later instruction of this one, waits for done[]
  bool special = false;          // has waits, derefs, releases or a role: off the fast path
  bool may_be_dead : 1 = false;  // may be dead: InstructionMeta::dead_flags tell
  bool updates : 1 = false;      // takes a reference or a handle: what it may write outlives the run
};

struct SlotSpec {
  DType dtype = DType::kInvalid;
  PartialShape shape;
  int space = 0;
  std::int64_t offset = -1;  // in the arena of its space; -1: allocated when written
  std::size_t bytes = 0;     // when the shape is full
};

// What an off-the-fast-path instruction needs done around its kernel.
struct InstructionMeta {
  std::vector<std::int32_t> waits;                            // instructions: async ones, or of other devices
  std::vector<std::int32_t> wakes;                            // devices that wait for this instruction
  std::vector<std::pair<std::int32_t, std::int32_t>> derefs;  // (slot of a variable's handle, slot for its value)
  std::vector<std::int32_t> releases;                         // slots not planned whose last use this is
  // Flags of RunState::dead, -1: never. The instruction is dead when one is set. Of a Merge: by input, dead when all are.
  std::vector<std::int32_t> dead_flags;
  std::int32_t loop = -1;              // of a loop's ends, and of a Merge that takes a NextIteration: its frame
  std::uint64_t back_edge_inputs = 0;  // of such a Merge: its inputs that come from the iteration before, as bits
  std::uint64_t moved_inputs = 0;      // of what forwards: inputs whose slots nobody reads after, as bits
  bool donates = false;                // some of Step::donates is set
  bool wants_index = false;            // of a Merge: somebody reads which input came
};

// A loop in the order of its device: from its begin to its end, again while a NextIteration is live.
struct Loop {
  std::int32_t begin = -1, end = -1;        // positions in Step::order of its device
  std::vector<std::int32_t> enters, nexts;  // flags of RunState::dead
  std::vector<std::int32_t> leaving;        // those that are set when the loop is not entered
};

// Instructions of a device's order that are captured together (argosy/runtime/compile/capture_regions.h): positions in the order, the slots
// read that are not written inside, and the handles of variables.
struct CaptureRegion {
  std::int32_t begin = 0, end = 0;
  std::vector<std::int32_t> inputs, handles;
};

struct Step {
  std::shared_ptr<DeviceSet> device_set;
  std::vector<Instruction> instructions;         // in global order
  std::vector<InstructionMeta> meta;             // by instruction
  std::vector<std::vector<std::int32_t>> order;  // by device: instructions
  std::vector<Loop> loops;                       // by frame; empty without control flow
  std::unique_ptr<bool[]> donates;  // by position in input_slots: the instruction is the last to read it; null: none is
  std::vector<std::int32_t> fetch_dead_flags;  // by fetch: a flag of RunState::dead, or -1; empty without control flow
  // Blocking instructions (argosy/runtime/compile/static_schedule.h): devices other than the host's do their order up to `phase_one_size` at once,
  // the rest when the host, at `phase_two_position` of its order, has seen all of `phase_two_dependencies` done. Empty without such instructions.
  std::vector<std::int32_t> phase_one_size;  // by device
  std::vector<std::int32_t> phase_two_dependencies;
  std::int32_t phase_two_position = -1;
  std::vector<std::int32_t> input_slots;
  std::vector<DType> output_dtypes;
  std::vector<SlotSpec> slots;
  std::vector<std::pair<std::int32_t, Tensor>> constants;   // constants and handles: the same in every run
  std::vector<std::int32_t> feed_slots;                     // in the signature's order
  std::vector<std::int32_t> fetch_slots;                    // likewise; -1: a control value
  std::vector<std::string> fetched_refs;                    // likewise: the node, where it gives a reference, else ""
  std::vector<std::int32_t> released_at_end;                // slots to let go of when a run ends
  std::vector<std::size_t> arena_bytes;                     // by device
  std::vector<std::vector<CaptureRegion>> capture_regions;  // by device, in order; empty where nothing can be captured
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::shared_ptr<ResourceManager> session;  // what the session of the step keeps for itself; may be null
  bool needs_dataflow = false;               // no order is safe

  // For the dataflow executor, and to find an order: who follows whom.
  struct Edge {
    std::int32_t instruction;
    std::int32_t output;  // of the producer; -1: control
    std::int32_t input;   // of the consumer, its derefs' handles after its own; -1: control
  };
  std::vector<std::vector<Edge>> successors;
  std::vector<std::int32_t> pending;  // by instruction: distinct edges in

  // A loop's frame; 0 is the root. Instructions belong to the frame whose iterations they run in (an Enter to the outer one,
  // an Exit to the inner one).
  struct Frame {
    int parent = 0;
    int enters = 0;     // Enter instructions that feed it: each fires once per iteration of the parent
    int parallel = 10;  // iterations that may be under way at once
    std::vector<std::int32_t> instructions;
    std::vector<std::int32_t> exits;
    std::int32_t inputs = 0;  // of all its instructions together, handles to dereference included
  };
  std::vector<Frame> frames;
  std::vector<std::int32_t> frame_of;  // by instruction
  std::vector<std::int32_t> local_of;  // by instruction: position in its frame's instructions
  std::vector<std::int32_t> base_of;   // by instruction: its first input among its frame's inputs

  // For people: names, messages, traces. The texts are the graph's.
  struct NodeInfo {
    std::string_view name;
    std::string_view op;
    AttrMap flow_attrs;  // frame_name, is_constant, parallel_iterations
  };
  std::vector<NodeInfo> nodes;
  std::vector<MemoryForecast> forecast;
  std::unique_ptr<const StepGraph> graph;  // what was compiled
  Placement placement;                     // of its nodes
  std::vector<std::string> passes;         // what each pass did
  PlacementReport report() const;
};

}  // namespace argosy
