#include "argosy/runtime/compile/capture_regions.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "argosy/device/graph_capturer.h"

namespace argosy {

namespace {

class Finder {
 public:
  explicit Finder(Step& step) : step_(step), preset_(step.slots.size(), 0), outside_(step.slots.size(), 0) {
    for (const auto& [slot, value] : step.presets) preset_[static_cast<std::size_t>(slot)] = 1;
    for (const std::int32_t slot : step.fetch_slots) {
      if (slot >= 0) outside_[static_cast<std::size_t>(slot)] = 1;
    }
    position_.assign(step.items.size(), -1);
    for (const auto& order : step.order) {
      for (std::size_t p = 0; p < order.size(); ++p)
        position_[static_cast<std::size_t>(order[p])] = static_cast<int>(p);
    }
    readers_.resize(step.slots.size());
    for (std::size_t i = 0; i < step.items.size(); ++i) {
      const Item& item = step.items[i];
      for (int k = 0; k < item.num_inputs; ++k) {
        const std::int32_t slot = step.input_slots[static_cast<std::size_t>(item.first_input + k)];
        if (slot >= 0) readers_[static_cast<std::size_t>(slot)].push_back(static_cast<std::int32_t>(i));
      }
    }
  }

  std::string of_device(int d) {
    const auto& order = step_.order[static_cast<std::size_t>(d)];
    std::vector<Stretch>& stretches = step_.stretches[static_cast<std::size_t>(d)];
    const auto end = static_cast<std::int32_t>(order.size());
    std::int32_t recorded = 0;
    for (std::int32_t at = 0; at < end;) {
      Stretch stretch = longest(d, at);
      if (stretch.end - stretch.begin >= kLeastRecorded) {
        recorded += stretch.end - stretch.begin;
        at = stretch.end;
        stretches.push_back(std::move(stretch));
      } else {
        at = std::max(stretch.end, at + 1);
      }
    }
    if (end == 0) return {};
    std::string line =
        str_cat("recorded: ", step_.machine->device(d).spec().name.short_string(), ": ", recorded, " of ", end,
                " items in ", stretches.size(), stretches.size() == 1 ? " stretch" : " stretches");
    for (const auto& [why, node] : reasons_) line += str_cat("; '", node, "': ", why);
    reasons_.clear();
    return line;
  }

 private:
  const char* why_not(int d, std::int32_t begin, std::int32_t at) const {
    const std::int32_t index = step_.order[static_cast<std::size_t>(d)][static_cast<std::size_t>(at)];
    const Item& item = step_.items[static_cast<std::size_t>(index)];
    const ItemExtras& extras = step_.extras[static_cast<std::size_t>(index)];
    if (item.role == Role::kCopy) return "a copy";
    if (item.role != Role::kKernel) return "control flow";
    if (item.async) return "it may block";
    if (item.conditional) return "it may be passed over";
    if (!item.kernel->repeatable()) return "it does other work in every run";
    for (int k = 0; k < item.num_inputs; ++k) {
      const auto slot = static_cast<std::size_t>(step_.input_slots[static_cast<std::size_t>(item.first_input + k)]);
      if (step_.slots[slot].space == 0 && !preset_[slot]) return "it reads what the host computes";
    }
    for (int o = 0; o < item.num_outputs; ++o) {
      const SlotSpec& spec = step_.slots[static_cast<std::size_t>(item.first_output + o)];
      if (spec.dtype == DType::kResource) continue;  // what it was given
      if (spec.space == 0) return "it writes to the host";
      if (spec.offset < 0 && !spec.shape.is_full()) return "its shape is not known before";
    }
    for (const std::int32_t p : extras.waits) {
      if (step_.items[static_cast<std::size_t>(p)].device != d || position_[static_cast<std::size_t>(p)] >= begin) {
        return at == begin ? nullptr : "it waits for another device";
      }
    }
    return nullptr;
  }

  // The longest from here; its end is its begin, or past an item that cannot be in any.
  Stretch longest(int d, std::int32_t begin) {
    const auto& order = step_.order[static_cast<std::size_t>(d)];
    Stretch stretch{.begin = begin, .end = begin};
    while (stretch.end < static_cast<std::int32_t>(order.size())) {
      const std::int32_t index = order[static_cast<std::size_t>(stretch.end)];
      const Item& item = step_.items[static_cast<std::size_t>(index)];
      if (const char* const why = why_not(d, begin, stretch.end); why != nullptr) {
        reasons_.try_emplace(why, step_.nodes[static_cast<std::size_t>(item.node)].name);
        break;
      }
      ++stretch.end;
      if (item.signals) break;
    }
    // Views that others read must be made in every run: the stretch ends before them. Then more lies outside: from the
    // start again.
    for (std::int32_t at = begin; at < stretch.end; ++at) {
      if (!is_seen_from_outside(d, order[static_cast<std::size_t>(at)], stretch)) continue;
      const Item& item = step_.items[static_cast<std::size_t>(order[static_cast<std::size_t>(at)])];
      reasons_.try_emplace("others read what it hands on", step_.nodes[static_cast<std::size_t>(item.node)].name);
      stretch.end = at;
      at = begin - 1;
    }
    collect_inputs(d, stretch);
    return stretch;
  }

  bool is_seen_from_outside(int d, std::int32_t index, const Stretch& stretch) const {
    const Item& item = step_.items[static_cast<std::size_t>(index)];
    for (int o = 0; o < item.num_outputs; ++o) {
      const auto slot = static_cast<std::size_t>(item.first_output + o);
      if (step_.slots[slot].offset >= 0) continue;
      if (outside_[slot]) return true;
      for (const std::int32_t reader : readers_[slot]) {
        const int at = position_[static_cast<std::size_t>(reader)];
        if (step_.items[static_cast<std::size_t>(reader)].device != d || at < stretch.begin || at >= stretch.end)
          return true;
      }
    }
    return false;
  }

  // What must be where it was: everything read that is not written inside.
  void collect_inputs(int d, Stretch& stretch) const {
    const auto& order = step_.order[static_cast<std::size_t>(d)];
    std::vector<char> known(step_.slots.size(), 0);
    for (std::int32_t at = stretch.begin; at < stretch.end; ++at) {
      const auto index = static_cast<std::size_t>(order[static_cast<std::size_t>(at)]);
      const Item& item = step_.items[index];
      // What a reference refers to is where its variable has it.
      for (const auto& [handle, value] : step_.extras[index].derefs) {
        known[static_cast<std::size_t>(value)] = 1;
        if (!std::exchange(known[static_cast<std::size_t>(handle)], 1)) stretch.handles.push_back(handle);
      }
      for (int k = 0; k < item.num_inputs; ++k) {
        const std::int32_t slot = step_.input_slots[static_cast<std::size_t>(item.first_input + k)];
        if (std::exchange(known[static_cast<std::size_t>(slot)], 1)) continue;
        if (step_.slots[static_cast<std::size_t>(slot)].dtype == DType::kResource) {
          stretch.handles.push_back(slot);
        } else if (step_.slots[static_cast<std::size_t>(slot)].space != 0) {
          stretch.inputs.push_back(slot);
        }
      }
      for (int o = 0; o < item.num_outputs; ++o) known[static_cast<std::size_t>(item.first_output + o)] = 1;
    }
  }

  Step& step_;
  std::vector<char> preset_, outside_;              // by slot
  std::vector<int> position_;                       // by item
  std::vector<std::vector<std::int32_t>> readers_;  // by slot
  std::map<std::string, std::string> reasons_;      // the first node of each
};

}  // namespace

std::vector<std::string> find_stretches(Step& step) {
  step.stretches.assign(step.order.size(), {});
  const char* const setting = std::getenv("ARGOSY_CUDA_GRAPHS");
  const bool off = setting != nullptr && std::string_view(setting) == "0";
  std::vector<std::string> lines;
  if (!step.machine->has_launches() || step.dynamic) return lines;
  Finder finder(step);
  for (int d = 0; d < step.machine->size(); ++d) {
    const std::string name = step.machine->device(d).spec().name.short_string();
    if (dynamic_cast<Recorder*>(step.machine->device(d).launches()) == nullptr) continue;
    if (off || !step.loops.empty() || !step.parts.empty()) {
      lines.push_back(str_cat("recorded: ", name, ": nothing, ",
                              off ? "ARGOSY_CUDA_GRAPHS=0" : "the step has loops, or items that block"));
      continue;
    }
    if (std::string line = finder.of_device(d); !line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace argosy
