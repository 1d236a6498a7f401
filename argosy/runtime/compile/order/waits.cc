#include "argosy/runtime/compile/order/waits.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace argosy {

void add_waits(Step& step, const InstructionGraph& instructions, std::span<const std::int32_t> order,
               Positions& positions) {
  const auto devices = static_cast<std::size_t>(step.device_set->size());
  // By device and other device: the latest position of the other's order that the device has waited for. Earlier
  // positions need no wait, but asynchronous instructions always do.
  std::vector<std::vector<std::int32_t>> seen(devices, std::vector<std::int32_t>(devices, -1));
  std::vector<std::vector<char>> waited(devices);
  auto& first_wait = positions.first_wait;
  const auto& position = positions.of_instruction;
  first_wait.assign(step.instructions.size(), -1);
  for (const std::int32_t i : order) {
    Instruction& instruction = step.instructions[i];
    for (const std::int32_t p : instructions.after[i]) {
      Instruction& before = step.instructions[p];
      if (before.flow == Flow::kNextIteration) continue;  // a back edge: it is of the previous iteration
      // An asynchronous device's copies run concurrently with its kernels. What one brings to the host's memory may be
      // read only after a wait for it.
      const bool concurrent =
          before.role == Role::kCopy && step.device_set->device(before.device).launch_queue() != nullptr;
      if (!before.async && !concurrent) {
        if (before.device == instruction.device) continue;
        auto& newest = seen[instruction.device][before.device];
        if (position[p] <= newest) continue;
        newest = position[p];
      } else {
        auto& done = waited[instruction.device];
        if (done.empty()) done.assign(step.instructions.size(), 0);
        if (std::exchange(done[p], 1)) continue;
        if (before.device == instruction.device && first_wait[p] < 0) first_wait[p] = position[i];
      }
      step.meta[i].waits.push_back(p);
      before.signals = true;
      auto& wakes = step.meta[p].wakes;
      if (before.device != instruction.device &&
          std::find(wakes.begin(), wakes.end(), instruction.device) == wakes.end()) {
        wakes.push_back(instruction.device);
      }
    }
  }
}

}  // namespace argosy
