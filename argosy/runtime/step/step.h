// Step: the compiled form of one signature: flat arrays, kernels made, inputs resolved to slots, order and memory
// fixed. Immutable; shared by concurrent runs, each of which has a RunState of its own.
//
// Words. An *item* is one thing a device does: a node's kernel, or a copy between memories. A *slot* holds one tensor.
// A *space* is a memory: 0 is the host's (all CPU devices), d > 0 that of device d when it is a GPU.
//
// Every device has a fixed *order* of its items, a projection of one global order. So a device never waits for work
// that is queued behind what it waits for, memory is planned along the order, and a run needs no ready-queue. A loop is
// a stretch of one device's order, done over and over; items of branches not taken are passed over
// (argosy/runtime/compile/static_schedule.h). Steps for which no order is safe are run by run_dynamic().
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

// What the executor does for an item. All but the first it does itself, without a kernel.
enum class Role : std::uint8_t { kKernel, kCopy, kSwitch, kMerge, kHandOn, kLoopBegin, kLoopEnd };

struct Item {
  Kernel* kernel = nullptr;       // null: a copy, or an end of a loop
  std::int32_t first_input = 0;   // into Step::input_slots
  std::int32_t first_output = 0;  // a slot; an item's outputs are consecutive slots
  std::int32_t first_dtype = 0;   // into Step::output_dtypes
  std::int32_t node = 0;          // into Step::nodes
  std::int32_t num_inputs = 0;
  std::int32_t num_outputs = 0;
  std::int16_t device = 0;  // on whose time line it runs
  Flow flow = Flow::kNone;
  Role role = Role::kKernel;
  bool async = false;            // its end is told by done[]
  bool signals = false;          // another device, or a later item of this one, waits for done[]
  bool special = false;          // has waits, derefs, releases or a role: off the fast path
  bool conditional : 1 = false;  // may be dead: ItemExtras::checks tell
  bool updates : 1 = false;      // takes a reference or a handle: what it may write outlives the run
};

struct SlotSpec {
  DType dtype = DType::kInvalid;
  PartialShape shape;
  int space = 0;
  std::int64_t offset = -1;  // in the arena of its space; -1: allocated when written
  std::size_t bytes = 0;     // when the shape is full
};

// What an off-the-fast-path item needs done around its kernel.
struct ItemExtras {
  std::vector<std::int32_t> waits;                            // items: async ones, or of other devices
  std::vector<std::int32_t> wakes;                            // devices that wait for this item
  std::vector<std::pair<std::int32_t, std::int32_t>> derefs;  // (slot of a variable's handle, slot for its value)
  std::vector<std::int32_t> releases;                         // slots not planned whose last use this is
  // Flags of RunState::dead, -1: never. The item is dead when one is set. Of a Merge: by input, dead when all are.
  std::vector<std::int32_t> checks;
  std::int32_t loop = -1;    // of a loop's ends, and of a Merge that takes a NextIteration: its frame
  std::uint64_t turns = 0;   // of such a Merge: its inputs that come from the iteration before, as bits
  std::uint64_t moves = 0;   // what hands on: inputs whose slots nobody reads after, as bits
  bool donates = false;      // some of Step::donates is set
  bool wants_index = false;  // of a Merge: somebody reads which input came
};

// A loop in the order of its device: from its begin to its end, again while a NextIteration is live.
struct Loop {
  std::int32_t begin = -1, end = -1;        // positions in Step::order of its device
  std::vector<std::int32_t> enters, nexts;  // flags of RunState::dead
  std::vector<std::int32_t> leaving;        // those that are set when the loop is not entered
};

// Items of a device's order that are recorded together (argosy/runtime/compile/capture_regions.h): positions in the order, the slots
// read that are not written inside, and the handles of variables.
struct Stretch {
  std::int32_t begin = 0, end = 0;
  std::vector<std::int32_t> inputs, handles;
};

struct Step {
  std::shared_ptr<Machine> machine;
  std::vector<Item> items;                       // in global order
  std::vector<ItemExtras> extras;                // by item
  std::vector<std::vector<std::int32_t>> order;  // by device: items
  std::vector<Loop> loops;                       // by frame; empty without control flow
  std::unique_ptr<bool[]> donates;         // by position in input_slots: the item is the last to read it; null: none is
  std::vector<std::int32_t> fetch_checks;  // by fetch: a flag of RunState::dead, or -1; empty without control flow
  // Blocking items (argosy/runtime/compile/static_schedule.h): devices other than the host's do their order up to `parts` at once,
  // the rest when the host, at `rest_at` of its order, has seen all of `rest_after` done. Empty without such items.
  std::vector<std::int32_t> parts;  // by device
  std::vector<std::int32_t> rest_after;
  std::int32_t rest_at = -1;
  std::vector<std::int32_t> input_slots;
  std::vector<DType> output_dtypes;
  std::vector<SlotSpec> slots;
  std::vector<std::pair<std::int32_t, Tensor>> presets;  // constants and handles: the same in every run
  std::vector<std::int32_t> feed_slots;                  // in the signature's order
  std::vector<std::int32_t> fetch_slots;                 // likewise; -1: a control value
  std::vector<std::string> fetched_refs;                 // likewise: the node, where it gives a reference, else ""
  std::vector<std::int32_t> leftovers;                   // slots to let go of when a run ends
  std::vector<std::size_t> arena_bytes;                  // by device
  std::vector<std::vector<Stretch>> stretches;           // by device, in order; empty where nothing can be recorded
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::shared_ptr<ResourceManager> session;  // what the session of the step keeps for itself; may be null
  bool dynamic = false;                      // no order is safe

  // For the dynamic executor, and to find an order: who follows whom.
  struct Edge {
    std::int32_t item;
    std::int32_t output;  // of the producer; -1: control
    std::int32_t input;   // of the consumer, its derefs' handles after its own; -1: control
  };
  std::vector<std::vector<Edge>> successors;
  std::vector<std::int32_t> pending;  // by item: distinct edges in

  // A loop's frame; 0 is the root. Items belong to the frame whose iterations they run in (an Enter to the outer one,
  // an Exit to the inner one).
  struct Frame {
    int parent = 0;
    int enters = 0;     // Enter items that feed it: each fires once per iteration of the parent
    int parallel = 10;  // iterations that may be under way at once
    std::vector<std::int32_t> items;
    std::vector<std::int32_t> exits;
    std::int32_t inputs = 0;  // of all its items together, handles to dereference included
  };
  std::vector<Frame> frames;
  std::vector<std::int32_t> frame_of;  // by item
  std::vector<std::int32_t> local_of;  // by item: position in its frame's items
  std::vector<std::int32_t> base_of;   // by item: its first input among its frame's inputs

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
