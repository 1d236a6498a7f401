// Executors: run a Step once. run_static() runs steps with a static schedule (most). run_dataflow() runs steps for
// which no order is safe. Both return the first error, end every device's work before they return, and leave the
// RunState reusable.
#pragma once

#include <span>

#include "argosy/runtime/execute/run_context.h"
#include "argosy/runtime/execute/run_state.h"

namespace argosy {

// `feeds` are host tensors in the step's order; `fetches` receives owned host tensors (invalid ones for control
// values). Any thread may call them; it serves the first CPU device. A failing kernel's error names its node. When the
// context was cancelled, they return its reason (CANCELLED, DEADLINE_EXCEEDED).
Status run_static(const Step& step, RunState& state, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                  RunContext& context);
Status run_dataflow(const Step& step, RunState& state, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                    RunContext& context);

// The functions below serve both. Returns the value of a fetched slot as a tensor that may be kept. A reference is
// read. A variable's handle is read, too, unless RunContext::fetch_handles().
Result<Tensor> take_fetch(const Step& step, std::size_t fetch, const Tensor& slot, const RunContext& context);
// The error of a fetch on a branch that was not taken.
Status no_value(std::size_t fetch);
// Returns an asynchronous device's error with the step's number and the device's name.
Status device_error(const RunContext& context, const Device& device, const Status& status);
// Resets `stats`: names its devices, and sets its start to now.
void start_stats(StepStats& stats, const Step& step);
// Adds the instruction, which ran from `start` to `end` (nanoseconds), to its device's times.
void note_time(StepStats& stats, const Instruction& instruction, std::int64_t start, std::int64_t end);
// Adds the instruction to StepStats::ops if `keep_ops` is set. One thread at a time.
void note_op(StepStats& stats, const Step& step, const Instruction& instruction, std::int64_t start, std::int64_t end,
             std::vector<OutputRecord> outputs = {});
// Describes output `output` of an instruction, for StepStats::keep_outputs. `inputs`: the instruction's inputs, as they
// were when it ended.
OutputRecord record_of(const Step& step, const Instruction& instruction, int output, const Tensor& value,
                       std::span<const Tensor* const> inputs);
// Adds the instruction's node, op and device to an error.
Status name_node(Status status, const Step& step, const Instruction& instruction);

}  // namespace argosy
