#include "argosy/runtime/compile/storage/plan_storage.h"

#include <algorithm>

#include "argosy/runtime/compile/storage/beyond_memory.h"
#include "argosy/runtime/compile/storage/memory_plan.h"

namespace argosy {

namespace {

constexpr std::int32_t kForever = INT32_MAX;

class StoragePlanner {
 public:
  StoragePlanner(Step& step, const InstructionGraph& instructions, const Positions& positions,
                 const ControlFlowSchedule* flow)
      : step_(step), instructions_(instructions), positions_(positions), flow_(flow), fetched_(step.slots.size(), 0) {}

  void run() {
    for (const std::int32_t slot : step_.fetch_slots) {
      if (slot >= 0) fetched_[slot] = 1;
    }
    seen_.assign(step_.slots.size(), -1);
    step_.arena_bytes.assign(step_.plan.order.size(), 0);
    for (std::size_t d = 0; d < step_.plan.order.size(); ++d) plan_device(static_cast<int>(d));
    for (std::size_t i = 0; i < step_.instructions.size(); ++i) {
      hand_over(static_cast<std::int32_t>(i));
      const InstructionMeta& x = step_.meta[i];
      Instruction& instruction = step_.instructions[i];
      instruction.special = instruction.async || instruction.updates || instruction.role != Role::kKernel ||
                            instruction.may_be_dead || instruction.signals || !x.waits.empty() || !x.derefs.empty() ||
                            !x.releases.empty();
    }
  }

 private:
  // --- lifetimes -----------------------------------------------------------------------------------------------------

  // The position from which on `reader` no longer needs what instruction `writer` of the same device wrote. An
  // asynchronous reader needs it until its device first waits for it. A reader in a loop that `writer` is not in needs
  // it until the loop's end.
  std::int32_t position_of(std::int32_t reader, std::int32_t writer) const {
    std::int32_t at = positions_.of_instruction[reader];
    if (step_.instructions[reader].async) {
      const std::int32_t waited = positions_.first_wait[reader];
      at = waited < 0 ? kForever : std::max(at, waited);
    }
    if (flow_ == nullptr) return at;
    const int loop = flow_->loop_between(flow_->home(reader), flow_->home(writer));
    return loop == 0 ? at : step_.plan.loops[loop].end;
  }

  struct Use {
    std::int32_t last = -1;  // position; kForever: another device reads it, or it is fetched
    bool loop_carried = false;
  };

  // The last use of a slot's memory: by readers of the slot, and of views of it.
  Use use_of(std::int32_t slot, std::int32_t writer) {
    Use use;
    ++search_;
    work_.assign(1, slot);
    seen_[slot] = search_;
    while (!work_.empty()) {
      const std::int32_t s = work_.back();
      work_.pop_back();
      if (fetched_[s]) use.last = kForever;
      for (const std::int32_t reader : instructions_.readers[s]) {
        const Instruction& instruction = step_.instructions[reader];
        if (instruction.device != step_.instructions[writer].device) {
          use.last = kForever;
          continue;
        }
        use.last = std::max(use.last, position_of(reader, writer));
        if (instruction.flow == Flow::kNextIteration &&
            flow_->loop_between(flow_->home(reader), flow_->home(writer)) == 0) {
          use.loop_carried = true;
        }
        for (int o = 0; o < instruction.num_outputs; ++o) {
          const std::int32_t view = instruction.first_output + o;
          if (instructions_.forwarded[view] && std::exchange(seen_[view], search_) != search_) work_.push_back(view);
        }
      }
    }
    return use;
  }

  // The position of the last reader of the slot itself. Readers of views do not count: a view holds the buffer.
  std::int32_t last_reader(std::int32_t slot, std::int32_t writer) const {
    if (fetched_[slot]) return kForever;
    std::int32_t last = -1;
    for (const std::int32_t reader : instructions_.readers[slot]) {
      if (step_.instructions[reader].device != step_.instructions[writer].device) return kForever;
      last = std::max(last, position_of(reader, writer));
    }
    return last;
  }

  // --- one device ----------------------------------------------------------------------------------------------------

  void plan_device(int d) {
    const auto& list = step_.plan.order[d];
    const int home = step_.device_set->device(d).spec().is_gpu() ? d : 0;
    std::vector<Lifetime> lives;
    std::vector<std::int32_t> life_of(step_.slots.size(), -1), owner;  // by slot; by life: a slot, for the report
    MemoryForecast& forecast = step_.info.forecast[d];
    for (std::size_t p = 0; p < list.size(); ++p) {
      const Instruction& instruction = step_.instructions[list[p]];
      const auto at = static_cast<std::int32_t>(p);
      // The output of a blocking op (a dequeued value) comes with a buffer of its own.
      const bool brings = instruction.async && !instructions_.ops[list[p]]->collective;
      for (int o = 0; o < instruction.num_outputs; ++o) {
        const std::int32_t slot = instruction.first_output + o;
        SlotSpec& spec = step_.slots[slot];
        bool plannable = is_plain(spec.dtype) && spec.shape.is_full() && spec.space == home &&
                         !instructions_.forwarded[slot] && !fetched_[slot] && !brings &&
                         spec.bytes < static_cast<std::size_t>(kBeyondMemory);
        Use use;
        if (plannable) {
          use = use_of(slot, list[p]);
          plannable = !use.loop_carried;
        }
        if (!plannable) {
          release_after(slot, list[p], list);
          if (!spec.shape.is_full() && is_plain(spec.dtype)) forecast.exact = false;
          // What a GPU writes for the host lies in the CPU's memory: copies, and host outputs of kernels. A device
          // whose memory is the host's allocates them itself.
          if (!instructions_.forwarded[slot] && is_plain(spec.dtype)) {
            const bool given = instruction.kernel != nullptr && step_.device_set->device(d).launch_queue() == nullptr;
            MemoryForecast& holder = spec.space == home || given ? forecast : step_.info.forecast[spec.space];
            holder.dynamic_bytes += use.loop_carried ? 2 * spec.bytes : spec.bytes;
          }
          continue;
        }
        const std::int32_t death = instruction.async && use.last < 0 ? kForever : std::max(at, use.last);
        const std::int32_t reused = reusable(list[p], o, at, life_of, lives);
        if (reused >= 0) {
          life_of[slot] = reused;
          lives[reused].death = std::max(lives[reused].death, death);
          continue;
        }
        life_of[slot] = static_cast<std::int32_t>(lives.size());
        lives.push_back({.birth = at, .death = death, .bytes = spec.bytes});
        owner.push_back(slot);
      }
      for (const auto& [handle, value] : step_.meta[list[p]].derefs) {
        step_.meta[list[p]].releases.push_back(value);
      }
    }
    const ArenaPlan plan = plan_arena(lives);
    step_.arena_bytes[d] = plan.bytes;
    forecast.arena_bytes = plan.bytes;
    for (std::size_t s = 0; s < life_of.size(); ++s) {
      if (life_of[s] >= 0) step_.slots[s].offset = lives[life_of[s]].offset;
    }
    std::vector<std::size_t> biggest = plan.at_peak;
    std::sort(biggest.begin(), biggest.end(),
              [&](std::size_t a, std::size_t b) { return lives[a].bytes > lives[b].bytes; });
    for (std::size_t k = 0; k < biggest.size() && k < 5; ++k) {
      const std::int32_t producer = instructions_.producer[owner[biggest[k]]];
      forecast.largest.push_back(
          {std::string(step_.info.nodes[step_.instructions[producer].node].name), lives[biggest[k]].bytes});
    }
  }

  // True if the slot's memory is that of life `life`: as its own, or as a view at any offset.
  bool shows(std::int32_t slot, std::int32_t life, const std::vector<std::int32_t>& life_of) {
    ++search_;
    work_.assign(1, slot);
    seen_[slot] = search_;
    while (!work_.empty()) {
      const std::int32_t s = work_.back();
      work_.pop_back();
      if (life_of[s] == life) return true;
      const std::int32_t p = instructions_.forwarded[s] ? instructions_.producer[s] : -1;
      if (p < 0) continue;
      const Instruction& instruction = step_.instructions[p];
      for (int k = 0; k < instruction.num_inputs; ++k) {  // of a Merge it may be any
        const std::int32_t from = step_.input_slots[instruction.first_input + k];
        if (std::exchange(seen_[from], search_) != search_) work_.push_back(from);
      }
    }
    return false;
  }

  // True if the instruction may overwrite its input `pair.input`, whose memory is life `life`, in spite of its other
  // inputs. Another input that aliases that memory forbids it. There is one exception: the op allows an alias, and it
  // has the same elements at the same places. Equal bytes and equal element sizes prove that: no smaller view is as
  // large.
  bool others_allow(const Instruction& instruction, const InPlace& pair, std::int32_t life,
                    const std::vector<std::int32_t>& life_of) {
    const SlotSpec& overwritten = step_.slots[step_.input_slots[instruction.first_input + pair.input]];
    for (int k = 0; k < instruction.num_inputs; ++k) {
      const std::int32_t slot = step_.input_slots[instruction.first_input + k];
      if (k == pair.input || !shows(slot, life, life_of)) continue;
      const SlotSpec& other = step_.slots[slot];
      const bool same_elements = other.shape.is_full() && other.bytes == overwritten.bytes &&
                                 element_bytes(other.dtype) == element_bytes(overwritten.dtype);
      if (!pair.others_may_alias || !same_elements) return false;
    }
    return true;
  }

  // Returns the life of an input that ends here and that the op may overwrite with `output`; -1: none.
  std::int32_t reusable(std::int32_t index, int output, std::int32_t at, const std::vector<std::int32_t>& life_of,
                        const std::vector<Lifetime>& lives) {
    const OpDef* op = instructions_.ops[index];
    const Instruction& instruction = step_.instructions[index];
    if (op == nullptr || instruction.async) return -1;
    const std::size_t bytes = step_.slots[instruction.first_output + output].bytes;
    for (const InPlace& pair : op->in_place) {
      if (pair.output != output || pair.input >= instruction.num_inputs) continue;
      const std::int32_t slot = step_.input_slots[instruction.first_input + pair.input];
      const std::int32_t life = life_of[slot];
      if (life < 0 || lives[life].death != at || lives[life].bytes != bytes) continue;
      if (!(step_.slots[slot].shape == step_.slots[instruction.first_output + output].shape)) continue;
      // Taken already by another output of this instruction?
      bool taken = false;
      for (int o = 0; o < output; ++o) taken = taken || life_of[instruction.first_output + o] == life;
      if (!taken && others_allow(instruction, pair, life, life_of)) return life;
    }
    return -1;
  }

  // Releases a tensor allocated while running after its last reader. One that another device reads, or that is fetched,
  // stays until the end of the run. The output of a NextIteration stays for the Merge of the next iteration.
  void release_after(std::int32_t slot, std::int32_t writer, const std::vector<std::int32_t>& list) {
    const Instruction& instruction = step_.instructions[writer];
    if (instruction.flow == Flow::kNextIteration) return;
    const std::int32_t last = last_reader(slot, writer);
    if (last == kForever || (instruction.async && last < 0)) return;
    step_.meta[list[std::max(last, positions_.of_instruction[writer])]].releases.push_back(slot);
  }

  // --- moves and donations -------------------------------------------------------------------------------------------

  // Marks the inputs that the instruction is the last to read. The executor moves them on if it only forwards them; a
  // kernel may overwrite them (a donation).
  void hand_over(std::int32_t i) {
    const Instruction& instruction = step_.instructions[i];
    InstructionMeta& meta = step_.meta[i];
    const bool forwards =
        instruction.role == Role::kSwitch || instruction.role == Role::kMerge || instruction.role == Role::kForward;
    if (instruction.role == Role::kMerge) {
      meta.wants_index = instruction.num_outputs > 1 && (!instructions_.readers[instruction.first_output + 1].empty() ||
                                                         fetched_[instruction.first_output + 1] != 0);
    }
    if (!(forwards || instruction.role == Role::kKernel) || instruction.async) return;
    if (meta.releases.empty() && meta.back_edge_inputs == 0) return;  // it is the last to read nothing
    for (int k = 0; k < std::min<int>(instruction.num_inputs, 64); ++k) {
      const std::int32_t at = instruction.first_input + k;
      const std::int32_t slot = step_.input_slots[at];
      const auto begin = step_.input_slots.begin() + instruction.first_input;
      if (std::count(begin, begin + instruction.num_inputs, slot) != 1) continue;
      bool last = std::find(meta.releases.begin(), meta.releases.end(), slot) != meta.releases.end();
      const std::int32_t p = instructions_.producer[slot];
      if (!last && instruction.role == Role::kMerge && meta.back_edge_inputs != 0 && p >= 0 &&
          instructions_.readers[slot].size() == 1) {
        // The slot is read in every iteration, but each value in one iteration only.
        last = (meta.back_edge_inputs >> k & 1) != 0 || (step_.instructions[p].flow == Flow::kEnter && !fetched_[slot]);
      }
      if (!last || step_.slots[slot].offset >= 0) continue;
      if (forwards) {
        meta.moved_inputs |= std::uint64_t{1} << k;
        std::erase(meta.releases, slot);
      } else {
        if (!step_.plan.donates) step_.plan.donates = std::make_unique<bool[]>(step_.input_slots.size());
        step_.plan.donates[at] = meta.donates = true;
      }
    }
  }

  Step& step_;
  const InstructionGraph& instructions_;
  const Positions& positions_;
  const ControlFlowSchedule* const flow_;
  std::vector<char> fetched_;       // by slot
  std::vector<std::int32_t> seen_;  // by slot: the search that met it last
  std::vector<std::int32_t> work_;
  std::int32_t search_ = 0;
};

}  // namespace

void plan_storage(Step& step, const InstructionGraph& instructions, const Positions& positions,
                  const ControlFlowSchedule* flow) {
  StoragePlanner(step, instructions, positions, flow).run();
}

}  // namespace argosy
