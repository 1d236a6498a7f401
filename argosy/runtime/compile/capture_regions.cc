#include "argosy/runtime/compile/capture_regions.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "argosy/device/graph_capturer.h"

namespace argosy {

namespace {

class RegionFinder {
 public:
  explicit RegionFinder(Step& step) : step_(step), constant_(step.slots.size(), 0), outside_(step.slots.size(), 0) {
    for (const auto& [slot, value] : step.constants) constant_[static_cast<std::size_t>(slot)] = 1;
    for (const std::int32_t slot : step.fetch_slots) {
      if (slot >= 0) outside_[static_cast<std::size_t>(slot)] = 1;
    }
    position_.assign(step.instructions.size(), -1);
    for (const auto& order : step.plan.order) {
      for (std::size_t p = 0; p < order.size(); ++p)
        position_[static_cast<std::size_t>(order[p])] = static_cast<int>(p);
    }
    readers_.resize(step.slots.size());
    for (std::size_t i = 0; i < step.instructions.size(); ++i) {
      const Instruction& instruction = step.instructions[i];
      for (int k = 0; k < instruction.num_inputs; ++k) {
        const std::int32_t slot = step.input_slots[static_cast<std::size_t>(instruction.first_input + k)];
        if (slot >= 0) readers_[static_cast<std::size_t>(slot)].push_back(static_cast<std::int32_t>(i));
      }
    }
  }

  std::string of_device(int d) {
    const auto& order = step_.plan.order[static_cast<std::size_t>(d)];
    std::vector<CaptureRegion>& capture_regions = step_.plan.capture_regions[static_cast<std::size_t>(d)];
    const auto end = static_cast<std::int32_t>(order.size());
    std::int32_t captured = 0;
    for (std::int32_t at = 0; at < end;) {
      CaptureRegion region = longest(d, at);
      if (region.end - region.begin >= kMinCaptured) {
        captured += region.end - region.begin;
        at = region.end;
        capture_regions.push_back(std::move(region));
      } else {
        at = std::max(region.end, at + 1);
      }
    }
    if (end == 0) return {};
    std::string line = str_cat("captured: ", step_.device_set->device(d).spec().name.short_string(), ": ", captured,
                               " of ", end, " instructions in ", capture_regions.size(),
                               capture_regions.size() == 1 ? " capture region" : " capture regions");
    for (const auto& [why, node] : reasons_) line += str_cat("; '", node, "': ", why);
    reasons_.clear();
    return line;
  }

 private:
  const char* why_not(int d, std::int32_t begin, std::int32_t at) const {
    const std::int32_t index = step_.plan.order[static_cast<std::size_t>(d)][static_cast<std::size_t>(at)];
    const Instruction& instruction = step_.instructions[static_cast<std::size_t>(index)];
    const InstructionMeta& meta = step_.meta[static_cast<std::size_t>(index)];
    if (instruction.role == Role::kCopy) return "a copy";
    if (instruction.role != Role::kKernel) return "control flow";
    if (instruction.async) return "it may block";
    if (instruction.may_be_dead) return "it may be passed over";
    if (!instruction.kernel->capturable()) return "it does other work in every run";
    for (int k = 0; k < instruction.num_inputs; ++k) {
      const auto slot =
          static_cast<std::size_t>(step_.input_slots[static_cast<std::size_t>(instruction.first_input + k)]);
      if (step_.slots[slot].space == 0 && !constant_[slot]) return "it reads what the host computes";
    }
    for (int o = 0; o < instruction.num_outputs; ++o) {
      const SlotSpec& spec = step_.slots[static_cast<std::size_t>(instruction.first_output + o)];
      if (spec.dtype == DType::kResource) continue;  // a handle that it forwards
      if (spec.space == 0) return "it writes to the host";
      if (spec.offset < 0 && !spec.shape.is_full()) return "its shape is not known before";
    }
    for (const std::int32_t p : meta.waits) {
      if (step_.instructions[static_cast<std::size_t>(p)].device != d ||
          position_[static_cast<std::size_t>(p)] >= begin) {
        return at == begin ? nullptr : "it waits for another device";
      }
    }
    return nullptr;
  }

  // Returns the longest region that begins at `begin`; empty where the instruction there cannot be in one.
  CaptureRegion longest(int d, std::int32_t begin) {
    const auto& order = step_.plan.order[static_cast<std::size_t>(d)];
    CaptureRegion region{.begin = begin, .end = begin};
    while (region.end < static_cast<std::int32_t>(order.size())) {
      const std::int32_t index = order[static_cast<std::size_t>(region.end)];
      const Instruction& instruction = step_.instructions[static_cast<std::size_t>(index)];
      if (const char* const why = why_not(d, begin, region.end); why != nullptr) {
        reasons_.try_emplace(why, step_.info.nodes[static_cast<std::size_t>(instruction.node)].name);
        break;
      }
      ++region.end;
      if (instruction.signals) break;
    }
    // A view that is read outside must be made in every run: the region ends before it. The shorter region has more
    // readers outside, so the search starts again.
    for (std::int32_t at = begin; at < region.end; ++at) {
      if (!is_seen_from_outside(d, order[static_cast<std::size_t>(at)], region)) continue;
      const Instruction& instruction =
          step_.instructions[static_cast<std::size_t>(order[static_cast<std::size_t>(at)])];
      reasons_.try_emplace("others read what it forwards",
                           step_.info.nodes[static_cast<std::size_t>(instruction.node)].name);
      region.end = at;
      at = begin - 1;
    }
    collect_inputs(d, region);
    return region;
  }

  bool is_seen_from_outside(int d, std::int32_t index, const CaptureRegion& region) const {
    const Instruction& instruction = step_.instructions[static_cast<std::size_t>(index)];
    for (int o = 0; o < instruction.num_outputs; ++o) {
      const auto slot = static_cast<std::size_t>(instruction.first_output + o);
      if (step_.slots[slot].offset >= 0) continue;
      if (outside_[slot]) return true;
      for (const std::int32_t reader : readers_[slot]) {
        const int at = position_[static_cast<std::size_t>(reader)];
        if (step_.instructions[static_cast<std::size_t>(reader)].device != d || at < region.begin || at >= region.end)
          return true;
      }
    }
    return false;
  }

  // Fills in the inputs and handles of the region: the slots that it reads and does not write. Their addresses must be
  // the same in a replay.
  void collect_inputs(int d, CaptureRegion& region) const {
    const auto& order = step_.plan.order[static_cast<std::size_t>(d)];
    std::vector<char> known(step_.slots.size(), 0);
    for (std::int32_t at = region.begin; at < region.end; ++at) {
      const auto index = static_cast<std::size_t>(order[static_cast<std::size_t>(at)]);
      const Instruction& instruction = step_.instructions[index];
      // A value behind a reference has the address of its variable: the handle stands for it.
      for (const auto& [handle, value] : step_.meta[index].derefs) {
        known[static_cast<std::size_t>(value)] = 1;
        if (!std::exchange(known[static_cast<std::size_t>(handle)], 1)) region.handles.push_back(handle);
      }
      for (int k = 0; k < instruction.num_inputs; ++k) {
        const std::int32_t slot = step_.input_slots[static_cast<std::size_t>(instruction.first_input + k)];
        if (std::exchange(known[static_cast<std::size_t>(slot)], 1)) continue;
        if (step_.slots[static_cast<std::size_t>(slot)].dtype == DType::kResource) {
          region.handles.push_back(slot);
        } else if (step_.slots[static_cast<std::size_t>(slot)].space != 0) {
          region.inputs.push_back(slot);
        }
      }
      for (int o = 0; o < instruction.num_outputs; ++o)
        known[static_cast<std::size_t>(instruction.first_output + o)] = 1;
    }
  }

  Step& step_;
  std::vector<char> constant_, outside_;            // by slot
  std::vector<int> position_;                       // by instruction
  std::vector<std::vector<std::int32_t>> readers_;  // by slot
  std::map<std::string, std::string> reasons_;      // why an instruction is in no region; the first such node
};

}  // namespace

std::vector<std::string> find_capture_regions(Step& step) {
  step.plan.capture_regions.assign(step.plan.order.size(), {});
  const char* const setting = std::getenv("ARGOSY_CUDA_GRAPHS");
  const bool off = setting != nullptr && std::string_view(setting) == "0";
  std::vector<std::string> lines;
  if (!step.device_set->has_async_device() || step.needs_dataflow) return lines;
  RegionFinder finder(step);
  for (int d = 0; d < step.device_set->size(); ++d) {
    const std::string name = step.device_set->device(d).spec().name.short_string();
    if (dynamic_cast<GraphCapturer*>(step.device_set->device(d).launch_queue()) == nullptr) continue;
    if (off || !step.plan.loops.empty() || !step.plan.phase_one_size.empty()) {
      lines.push_back(str_cat("captured: ", name, ": nothing, ",
                              off ? "ARGOSY_CUDA_GRAPHS=0" : "the step has loops, or instructions that block"));
      continue;
    }
    if (std::string line = finder.of_device(d); !line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace argosy
