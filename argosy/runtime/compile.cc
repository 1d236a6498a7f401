#include "argosy/runtime/compile.h"

#include <algorithm>

#include "argosy/runtime/frames.h"
#include "argosy/runtime/item_graph.h"
#include "argosy/runtime/memory_plan.h"
#include "argosy/runtime/schedule.h"

namespace argosy {

namespace {

class Compiler {
 public:
  Compiler(Step& step, ItemGraph items, const Graph& graph) : step_(step), items_(std::move(items)), graph_(graph) {}

  Status run() {
    find_groups();
    if (step_.dynamic) {
      link();
      ARGOSY_RETURN_IF_ERROR(find_frames(step_));
      find_leftovers();
      step_.arena_bytes.assign(static_cast<std::size_t>(step_.machine->size()), 0);
      return ok_status();
    }
    ARGOSY_RETURN_IF_ERROR(order());
    synchronize();
    plan_memory();
    find_leftovers();
    return ok_status();
  }

 private:
  void find_groups() {
    groups_.resize(step_.items.size());
    for (std::size_t i = 0; i < step_.items.size(); ++i) {
      const OpDef* op = items_.ops[i];
      if (op == nullptr || !op->collective) continue;
      const auto id = graph_.find(step_.nodes[step_.items[i].node].name);
      groups_[i] = id ? graph_.node(*id).attrs.get_or<std::string>("group", "") : "";
    }
  }

  // --- order ---------------------------------------------------------------------------------------------------------

  bool writes(std::size_t item) const {
    const OpDef* op = items_.ops[item];
    if (op == nullptr || op->forwards) return false;
    if (op->has_ref_input()) return true;
    return op->stateful && std::any_of(op->input_args.begin(), op->input_args.end(),
                                       [](const ArgDef& a) { return a.dtype == DType::kResource; });
  }

  // Everyone who sees the memory of a variable through this slot: readers of the slot and of every view made from it.
  void collect_users(std::int32_t slot, std::vector<std::int32_t>& users) const {
    for (const std::int32_t reader : items_.readers[slot]) {
      users.push_back(reader);
      const Item& item = step_.items[reader];
      for (int o = 0; o < item.num_outputs; ++o) {
        if (items_.forwarded[item.first_output + o]) collect_users(item.first_output + o, users);
      }
    }
  }

  std::vector<ScheduleItem> schedule_items(bool late_writers) const {
    std::vector<ScheduleItem> list(step_.items.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      list[i] = {.device = step_.items[i].device,
                 .async = step_.items[i].async,
                 .late = late_writers && writes(i),
                 .after = items_.after[i],
                 .group = groups_[i]};
    }
    return list;
  }

  // Updates come after every reader of the variable that may come before: then they find its memory unshared and write
  // in place. Edges are taken from one valid order, so they close no cycle.
  Status readers_before_writers() {
    std::vector<std::vector<std::int32_t>> writers(step_.slots.size());
    bool any = false;
    for (std::size_t i = 0; i < step_.items.size(); ++i) {
      if (!writes(i)) continue;
      const Item& item = step_.items[i];
      for (int k = 0; k < item.num_inputs; ++k) {
        const std::int32_t slot = step_.input_slots[item.first_input + k];
        if (step_.slots[slot].dtype != DType::kResource) continue;
        writers[items_.root[slot]].push_back(static_cast<std::int32_t>(i));
        any = true;
      }
    }
    if (!any) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const auto order, schedule(schedule_items(true), step_.machine->size()));
    std::vector<std::int32_t> position(order.size());
    for (std::size_t p = 0; p < order.size(); ++p) position[order[p]] = static_cast<std::int32_t>(p);
    for (std::size_t i = 0; i < step_.items.size(); ++i) {
      // A read: a dereference, or an op that hands the variable's memory on.
      std::vector<std::pair<std::int32_t, std::int32_t>> reads;  // (root, slot of the value)
      for (const auto& [handle, value] : step_.extras[i].derefs) reads.emplace_back(items_.root[handle], value);
      const Item& item = step_.items[i];
      if (items_.ops[i] != nullptr && items_.ops[i]->forwards && item.num_inputs > 0 && item.num_outputs > 0) {
        const std::int32_t handle = step_.input_slots[item.first_input];
        if (step_.slots[handle].dtype == DType::kResource) reads.emplace_back(items_.root[handle], item.first_output);
      }
      for (const auto& [root, value] : reads) {
        if (writers[root].empty()) continue;
        std::vector<std::int32_t> users = {static_cast<std::int32_t>(i)};
        for (int o = 0; o < item.num_outputs; ++o) {
          if (items_.forwarded[item.first_output + o]) collect_users(item.first_output + o, users);
        }
        for (const std::int32_t w : writers[root]) {
          for (const std::int32_t u : users) {
            auto& after = items_.after[w];
            if (u != w && position[u] < position[w] && std::find(after.begin(), after.end(), u) == after.end()) {
              after.push_back(u);
            }
          }
        }
      }
    }
    return ok_status();
  }

  Status order() {
    ARGOSY_RETURN_IF_ERROR(readers_before_writers());
    ARGOSY_ASSIGN_OR_RETURN(order_, schedule(schedule_items(false), step_.machine->size()));
    step_.order.resize(static_cast<std::size_t>(step_.machine->size()));
    position_.resize(order_.size());
    for (const std::int32_t i : order_) {
      auto& list = step_.order[step_.items[i].device];
      position_[i] = static_cast<std::int32_t>(list.size());
      list.push_back(i);
    }
    return ok_status();
  }

  // --- waiting -------------------------------------------------------------------------------------------------------

  void synchronize() {
    const auto devices = static_cast<std::size_t>(step_.machine->size());
    // Having waited for an item of a device, one need not wait for those before it (asynchronous ones aside).
    std::vector<std::vector<std::int32_t>> seen(devices, std::vector<std::int32_t>(devices, -1));
    std::vector<std::vector<char>> waited(devices);
    first_wait_.assign(step_.items.size(), -1);
    for (const std::int32_t i : order_) {
      Item& item = step_.items[i];
      for (const std::int32_t p : items_.after[i]) {
        Item& before = step_.items[p];
        if (!before.async) {
          if (before.device == item.device) continue;
          auto& newest = seen[item.device][before.device];
          if (position_[p] <= newest) continue;
          newest = position_[p];
        } else {
          auto& done = waited[item.device];
          if (done.empty()) done.assign(step_.items.size(), 0);
          if (std::exchange(done[p], 1)) continue;
          if (before.device == item.device && first_wait_[p] < 0) first_wait_[p] = position_[i];
        }
        step_.extras[i].waits.push_back(p);
        before.signals = true;
        auto& wakes = step_.extras[p].wakes;
        if (before.device != item.device && std::find(wakes.begin(), wakes.end(), item.device) == wakes.end()) {
          wakes.push_back(item.device);
        }
      }
    }
  }

  // --- memory --------------------------------------------------------------------------------------------------------

  // The last position, on the writer's device, at which a slot's memory is looked at; kForever when another device
  // does.
  static constexpr std::int32_t kForever = INT32_MAX;
  std::int32_t last_use(std::int32_t slot, int device) const {
    std::int32_t last = -1;
    for (const std::int32_t reader : items_.readers[slot]) {
      const Item& item = step_.items[reader];
      if (item.device != device) return kForever;
      std::int32_t at = position_[reader];
      if (item.async) at = first_wait_[reader] < 0 ? kForever : std::max(at, first_wait_[reader]);
      last = std::max(last, at);
      for (int o = 0; o < item.num_outputs; ++o) {
        if (items_.forwarded[item.first_output + o]) last = std::max(last, last_use(item.first_output + o, device));
      }
    }
    return std::max(last, fetched_[slot] ? kForever : -1);
  }

  void plan_memory() {
    fetched_.assign(step_.slots.size(), 0);
    for (const std::int32_t slot : step_.fetch_slots) {
      if (slot >= 0) fetched_[slot] = 1;
    }
    step_.arena_bytes.assign(step_.order.size(), 0);
    for (std::size_t d = 0; d < step_.order.size(); ++d) plan_device(static_cast<int>(d));
    for (std::size_t i = 0; i < step_.items.size(); ++i) {
      const ItemExtras& x = step_.extras[i];
      step_.items[i].special = step_.items[i].async || step_.items[i].kernel == nullptr || step_.items[i].signals ||
                               !x.waits.empty() || !x.derefs.empty() || !x.releases.empty();
    }
  }

  // What a run must let go of at its end: everything that is neither planned nor the same in every run.
  void find_leftovers() {
    std::vector<char> kept(step_.slots.size(), 0);
    for (const auto& [slot, value] : step_.presets) kept[slot] = 1;
    for (std::size_t s = 0; s < step_.slots.size(); ++s) {
      if (!kept[s] && step_.slots[s].offset < 0) step_.leftovers.push_back(static_cast<std::int32_t>(s));
    }
  }

  void plan_device(int d) {
    const auto& list = step_.order[d];
    const int home = step_.machine->device(d).spec().is_gpu() ? d : 0;
    std::vector<Lifetime> lives;
    std::vector<std::int32_t> life_of(step_.slots.size(), -1), owner;  // by slot; by life: a slot, for the report
    MemoryForecast& forecast = step_.forecast[d];
    for (std::size_t p = 0; p < list.size(); ++p) {
      const Item& item = step_.items[list[p]];
      const auto at = static_cast<std::int32_t>(p);
      for (int o = 0; o < item.num_outputs; ++o) {
        const std::int32_t slot = item.first_output + o;
        SlotSpec& spec = step_.slots[slot];
        const std::int32_t death = std::max(at, last_use(slot, d));
        const bool plannable = is_plain(spec.dtype) && spec.shape.is_full() && spec.space == home &&
                               !items_.forwarded[slot] && !fetched_[slot];
        if (!plannable) {
          release_after(slot, item, list, death);
          if (!spec.shape.is_full() && is_plain(spec.dtype)) forecast.exact = false;
          if (!items_.forwarded[slot] && spec.space == home) forecast.dynamic_bytes += spec.bytes;
          continue;
        }
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
      for (const auto& [handle, value] : step_.extras[list[p]].derefs) {
        step_.extras[list[p]].releases.push_back(value);
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
      const std::int32_t producer = items_.producer[owner[biggest[k]]];
      forecast.largest.push_back({step_.nodes[step_.items[producer].node].name, lives[biggest[k]].bytes});
    }
  }

  // An input whose memory dies here and which the op may overwrite.
  std::int32_t reusable(std::int32_t index, int output, std::int32_t at, const std::vector<std::int32_t>& life_of,
                        const std::vector<Lifetime>& lives) const {
    const OpDef* op = items_.ops[index];
    const Item& item = step_.items[index];
    if (op == nullptr || item.async) return -1;
    const std::size_t bytes = step_.slots[item.first_output + output].bytes;
    for (const auto& [in, out] : op->in_place) {
      if (out != output || in >= item.num_inputs) continue;
      const std::int32_t slot = step_.input_slots[item.first_input + in];
      const std::int32_t life = life_of[slot];
      if (life < 0 || lives[life].death != at || lives[life].bytes != bytes) continue;
      if (!(step_.slots[slot].shape == step_.slots[item.first_output + output].shape)) continue;
      // Taken already by another output of this item?
      bool taken = false;
      for (int o = 0; o < output; ++o) taken = taken || life_of[item.first_output + o] == life;
      if (!taken) return life;
    }
    return -1;
  }

  // A tensor allocated while running goes back as soon as its last reader is done; else when the run is over.
  void release_after(std::int32_t slot, const Item& item, const std::vector<std::int32_t>& list, std::int32_t death) {
    if (fetched_[slot] || item.async || death == kForever) return;
    step_.extras[list[death]].releases.push_back(slot);
  }

  // --- dynamic steps -------------------------------------------------------------------------------------------------

  void link() {
    step_.successors.resize(step_.items.size());
    step_.pending.assign(step_.items.size(), 0);
    for (std::size_t i = 0; i < step_.items.size(); ++i) {
      const Item& item = step_.items[i];
      std::vector<std::int32_t> data;
      const auto edge = [&](std::int32_t slot, std::int32_t input) {
        const std::int32_t p = items_.producer[slot];
        if (p < 0) return;
        step_.successors[p].push_back({static_cast<std::int32_t>(i), slot - step_.items[p].first_output, input});
        data.push_back(p);
        ++step_.pending[i];
      };
      for (int k = 0; k < item.num_inputs; ++k) edge(step_.input_slots[item.first_input + k], k);
      std::int32_t next = item.num_inputs;
      for (const auto& [handle, value] : step_.extras[i].derefs) edge(handle, next++);
      for (const std::int32_t p : items_.after[i]) {
        if (std::find(data.begin(), data.end(), p) != data.end()) continue;
        step_.successors[p].push_back({static_cast<std::int32_t>(i), -1, -1});
        ++step_.pending[i];
      }
    }
  }

  Step& step_;
  ItemGraph items_;
  const Graph& graph_;
  std::vector<std::string> groups_;
  std::vector<std::int32_t> order_, position_, first_wait_;
  std::vector<char> fetched_;
};

// Before step 0: does every device have room for what the plan will take?
Status check_memory(const Step& step) {
  for (int d = 0; d < step.machine->size(); ++d) {
    const MemoryStats stats = step.machine->device(d).allocator().stats();
    if (stats.limit_bytes == 0) continue;
    const MemoryForecast& f = step.forecast[d];
    // Variables that have their values already are in use, and arenas of other steps will be shared: counting either
    // twice would refuse what fits.
    const std::uint64_t later = f.arena_bytes + f.dynamic_bytes;
    const std::uint64_t resting = step.machine->arenas(d).resting_bytes();
    const std::uint64_t in_use = stats.in_use_bytes - std::min(stats.in_use_bytes, resting);
    const std::uint64_t need = std::max<std::uint64_t>(in_use, f.variable_bytes + f.constant_bytes) + later;
    if (need <= stats.limit_bytes) continue;
    std::string largest;
    for (const auto& t : f.largest) largest += str_cat(largest.empty() ? "" : ", ", t.node, " ", format_bytes(t.bytes));
    return resource_exhausted("cannot fit: ", f.device.short_string(), " needs ", format_bytes(need), ", its cap is ",
                              format_bytes(stats.limit_bytes), ": variables ", format_bytes(f.variable_bytes),
                              ", activations and workspaces ", format_bytes(f.arena_bytes), ", constants ",
                              format_bytes(f.constant_bytes), ", other ", format_bytes(f.dynamic_bytes),
                              "; largest at the peak: ", largest)
        .with_id("ARG-MEM-001")
        .with_where(f.device.to_string())
        .with_next("a smaller batch, more devices, or a higher --mem cap");
  }
  return ok_status();
}

}  // namespace

Result<std::shared_ptr<const Step>> compile_step(const StepGraph& graph, const Placement& placement,
                                                 std::shared_ptr<Machine> machine, const KernelRegistry& kernels,
                                                 bool must_fit, std::shared_ptr<ResourceManager> session) {
  auto step = std::make_shared<Step>();
  step->session = std::move(session);
  step->machine = std::move(machine);
  for (const DeviceSpec& spec : step->machine->specs()) step->forecast.push_back({.device = spec.name});
  for (int i = 0; i < graph.graph.size(); ++i) {
    const Node& n = graph.graph.nodes()[i];
    step->placement.rows.push_back({n.name, n.op->name, n.device, placement.reason[i]});
  }
  step->placement.passes = graph.notes;
  ARGOSY_ASSIGN_OR_RETURN(ItemGraph items, build_items(graph, placement.device, kernels, *step));
  ARGOSY_RETURN_IF_ERROR(Compiler(*step, std::move(items), graph.graph).run());
  if (must_fit) ARGOSY_RETURN_IF_ERROR(check_memory(*step));
  return std::shared_ptr<const Step>(std::move(step));
}

}  // namespace argosy
