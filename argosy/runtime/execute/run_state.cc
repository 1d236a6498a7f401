#include "argosy/runtime/execute/run_state.h"

#include "argosy/base/memory/huge_pages.h"
#include "argosy/runtime/execute/run_context.h"

namespace argosy {

namespace {

// Smaller arenas stay with their step: sharing them saves too little to be worth a lock.
constexpr std::size_t kShareFrom = 1 << 20;

// Points the tensors of the device's planned slots to their places in its arena.
Status point_into(const Step& step, RunState& state, std::size_t d) {
  std::byte* const base = state.arenas[d].data();
  for (const Instruction& instruction : step.instructions) {
    for (int o = 0; o < instruction.num_outputs; ++o) {
      const auto s = static_cast<std::size_t>(instruction.first_output + o);
      const SlotSpec& spec = step.slots[s];
      if (spec.offset < 0 || instruction.device != static_cast<std::int16_t>(d)) continue;
      ARGOSY_ASSIGN_OR_RETURN(const Shape shape, spec.shape.full());
      state.tensors[s] = Tensor(spec.dtype, shape, Buffer::borrow(base + spec.offset, spec.bytes));
      state.outputs[s].planned = true;
    }
  }
  state.arena_bases[d] = base;
  return ok_status();
}

}  // namespace

std::unique_ptr<RunState> make_run_state(const Step& step) {
  auto state = std::make_unique<RunState>();
  const std::size_t slots = step.slots.size();
  reserve_large(state->tensors, slots);
  reserve_large(state->outputs, slots);
  state->tensors.resize(slots);
  state->outputs.resize(slots);
  state->arenas.resize(step.arena_bytes.size());
  state->lent.resize(step.arena_bytes.size());
  state->arena_bases.assign(step.arena_bytes.size(), nullptr);
  for (const auto& [slot, value] : step.constants) state->tensors[slot] = value;
  state->generation = step.generation;
  for (std::size_t s = 0; s < slots; ++s) {
    state->outputs[s].tensor = &state->tensors[s];
    state->outputs[s].on_host = step.slots[s].space == 0;
  }
  reserve_large(state->inputs, step.input_slots.size());
  for (const std::int32_t slot : step.input_slots) state->inputs.push_back(&state->tensors[slot]);
  state->done = std::make_unique<std::atomic<std::uint32_t>[]>(step.instructions.size());
  const auto devices = static_cast<std::size_t>(step.device_set->size());
  state->running = std::make_unique<RunningInstruction[]>(devices);
  if (step.device_set->has_async_device()) {
    state->events.resize(step.instructions.size());
    state->pending_host_copies.resize(step.plan.order.size());
  }
  for (const auto& capture_regions : step.plan.capture_regions) state->captured.emplace_back(capture_regions.size());
  if (!step.plan.loops.empty()) {
    state->dead.assign(slots + step.instructions.size(), 0);
    state->first_iteration.assign(step.plan.loops.size(), 0);
  }
  state->event_counts = std::make_shared<RunEventCounts>(static_cast<std::size_t>(step.device_set->size()));
  return state;
}

Status find_handles(const Step& step, RunState& state, RunContext& context) {
  if (step.handles.empty()) return ok_status();
  const std::uint64_t now = resource_generation(step);
  if (now == state.generation) [[likely]]
    return ok_status();
  for (const NamedHandle& h : step.handles) {
    Tensor found;
    OutputSlot slot{.tensor = &found};
    const DType dtype = DType::kResource;
    Device& device = step.device_set->device(h.device);
    KernelContext kernel_context({.outputs = &slot,
                                  .num_outputs = 1,
                                  .output_dtypes = &dtype,
                                  .node = h.node,
                                  .device = &device,
                                  .allocator = &device.allocator(),
                                  .resources = &step.device_set->resources(h.device),
                                  .step = &context});
    if (Status status = h.kernel->run(kernel_context); !status.ok()) {
      return std::move(status).with_where(str_cat("node '", h.node, "' on ", device.spec().name.to_string()));
    }
    state.tensors[static_cast<std::size_t>(h.slot)] = std::move(found);
  }
  state.generation = now;
  return ok_status();
}

Status borrow_arenas(const Step& step, RunState& state) {
  for (std::size_t d = 0; d < step.arena_bytes.size(); ++d) {
    const std::size_t bytes = step.arena_bytes[d];
    if (bytes == 0 || state.arenas[d].data() != nullptr) continue;
    const int device = static_cast<int>(d);
    Arenas& arenas = step.device_set->arenas(device);
    state.lent[d] = bytes >= kShareFrom || arenas.shares_small() ? 1 : 0;
    auto arena = state.lent[d] != 0 ? arenas.lend(bytes, state.arena_bases[d])
                                    : step.device_set->device(device).allocator().allocate(bytes);
    Status status = std::move(arena).status();
    if (status.ok()) {
      state.arenas[d] = *std::move(arena);
      if (state.arenas[d].data() != state.arena_bases[d]) status = point_into(step, state, d);
    }
    if (!status.ok()) {
      return_arenas(step, state);
      return status;
    }
  }
  return ok_status();
}

void return_arenas(const Step& step, RunState& state) {
  for (std::size_t d = 0; d < step.arena_bytes.size(); ++d) {
    if (state.lent[d] == 0 || state.arenas[d].data() == nullptr) continue;
    step.device_set->arenas(static_cast<int>(d)).take_back(std::exchange(state.arenas[d], Buffer()));
  }
}

}  // namespace argosy
