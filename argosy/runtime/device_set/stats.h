// What a session reports: where a step's time went, what memory it takes, where its nodes run. Value types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/device/device.h"
#include "argosy/tensor/dtype.h"
#include "argosy/tensor/shape.h"

namespace argosy {

// One output of an op that ran, and the memory that holds it.
struct OutputRecord {
  int index = 0;                   // among the op's outputs
  DType dtype = DType::kInvalid;   // of the value
  Shape shape;                     // of the value
  std::uint64_t bytes = 0;         // of the elements; of strings their handles
  std::uint64_t buffer_bytes = 0;  // of the buffer that they lie in
  std::uint64_t address = 0;       // of the first element, in the memory of `allocator`
  std::string allocator;           // "cpu", or "GPU_0": whose memory it is
  bool shares = false;             // memory that was there before: of an input, or of a variable
};

// One executed op, copy or collective.
struct OpRecord {
  std::string node, op;                         // of the node
  int device = 0;                               // in the device set
  std::int64_t start_nanos = 0, end_nanos = 0;  // of argosy::now_nanos()
  std::vector<OutputRecord> outputs = {};       // its live outputs, where StepStats::keep_outputs
};

// One run of a step. Shares are of each device's own time line, from the step's start to its end.
struct StepStats {
  // One device's part of a step.
  struct PerDevice {
    DeviceName device;                  // which one
    std::int64_t compute_nanos = 0;     // kernels
    std::int64_t collective_nanos = 0;  // waiting for collectives that nothing hid
    std::int64_t copy_nanos = 0;        // waiting for copies and for other devices
    int ops = 0;                        // that ran
  };
  std::int64_t start_nanos = 0, end_nanos = 0;  // of the whole step
  std::vector<PerDevice> devices;               // in the order of the device set
  std::vector<OpRecord> ops;                    // only when asked for by keep_ops
  bool keep_ops = false;                        // fill `ops`, too
  bool keep_outputs = false;                    // and their outputs; an asynchronous op is listed when it has ended
};

// What a compiled step needs of one device.
struct MemoryForecast {
  DeviceName device;                 // which one
  std::uint64_t arena_bytes = 0;     // planned: activations, gradients, workspaces held in the arena
  std::uint64_t constant_bytes = 0;  // constants copied to the device
  std::uint64_t variable_bytes = 0;  // variables this step touches, at their static shapes
  std::uint64_t dynamic_bytes =
      0;              // outputs allocated while running (static shapes): fetches, updates; declared workspaces
  bool exact = true;  // false when some shapes are only known while running
  // One that is large.
  struct Tensor {
    std::string node;     // its producer
    std::uint64_t bytes;  // of its contents
  };
  std::vector<Tensor> largest;  // the five biggest alive at the peak
  // Of all kinds.
  std::uint64_t total_bytes() const { return arena_bytes + constant_bytes + variable_bytes + dynamic_bytes; }
};

// Where a step's nodes run, and why.
struct PlacementReport {
  // One node.
  struct Row {
    std::string node, op, device;  // its full name
    std::string reason;            // "asked", "colocated with v", "no GPU kernel", "default", …
  };
  std::vector<Row> rows;            // in the graph's order
  std::vector<std::string> passes;  // what each graph pass did
  // About 40 lines: ops per device by scope, what was moved and why.
  std::string summary() const;
};

}  // namespace argosy
