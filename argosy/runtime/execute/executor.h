// Executors: what runs a Step once. run_static() runs steps with a static schedule (most). run_dataflow() runs steps
// for which no order is safe. Both report the first error, end every device's work before they return, and leave the
// RunState reusable.
#pragma once

#include <span>

#include "argosy/runtime/execute/run_context.h"
#include "argosy/runtime/execute/run_state.h"

namespace argosy {

// `feeds` are host tensors in the step's order; `fetches` receives owned host tensors (invalid ones for control
// values). Called by any thread, which lends itself to the first CPU device. Errors name the node; CANCELLED or
// DEADLINE_EXCEEDED when the context was cancelled.
Status run_static(const Step& step, RunState& state, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                  RunContext& context);
Status run_dataflow(const Step& step, RunState& state, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                    RunContext& context);

// Shared by both. The value that a fetched slot stands for, safe to keep.
Result<Tensor> take_fetch(const Step& step, std::size_t fetch, const Tensor& slot, const RunContext& context);
Status no_value(std::size_t fetch);
// What an asynchronous device says of its work, with the step and the device.
Status device_error(const RunContext& context, const Device& device, const Status& status);
// Empties `stats`, names its devices and takes the time.
void start_stats(StepStats& stats, const Step& step);
// Adds the instruction, which ran from `start` to `end` (nanoseconds), to its device's times.
void note_time(StepStats& stats, const Instruction& instruction, std::int64_t start, std::int64_t end);
// Where StepStats::keep_ops: lists the instruction. One thread at a time.
void note_op(StepStats& stats, const Step& step, const Instruction& instruction, std::int64_t start, std::int64_t end,
             std::vector<OutputRecord> outputs = {});
// What `output` of an instruction is, for StepStats::keep_outputs. `inputs`: the instruction's, as they were when it ended.
OutputRecord record_of(const Step& step, const Instruction& instruction, int output, const Tensor& value,
                       std::span<const Tensor* const> inputs);
Status name_node(Status status, const Step& step, const Instruction& instruction);

}  // namespace argosy
