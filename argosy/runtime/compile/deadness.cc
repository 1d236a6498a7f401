#include "argosy/runtime/compile/deadness.h"

#include <algorithm>

namespace argosy {

namespace {

using Literal = std::pair<std::int32_t, std::int32_t>;  // (slot of the predicate, value), or (-1 - item, 0): not known
using Condition = std::vector<Literal>;                 // sorted

constexpr std::size_t kMostLiterals = 48;  // more are as good as not known

class Finder {
 public:
  Finder(Step& step, const ItemGraph& items, const std::vector<ItemGraph::Before>& after)
      : step_(step),
        items_(items),
        after_(after),
        of_item_(step.items.size()),
        entered_(step.frames.size()),
        nexts_(step.frames.size()) {}

  bool run(std::span<const std::int32_t> sequence) {
    for (const std::int32_t i : sequence) {
      if (i >= 0) {
        visit(i);
      } else if (const int frame = FixedOrder::frame_ended(i); frame >= 0 && !is_regular(frame)) {
        return false;
      }
    }
    for (Loop& loop : step_.loops) {
      if (std::find(loop.enters.begin(), loop.enters.end(), -1) != loop.enters.end()) loop.enters.clear();
    }
    for (const std::int32_t slot : step_.fetch_slots) step_.fetch_checks.push_back(slot < 0 ? -1 : flag_of(slot));
    return true;
  }

 private:
  Condition condition_of(std::int32_t slot) const {
    const std::int32_t p = items_.producer[slot];
    if (p < 0) return {};
    Condition condition = of_item_[p];
    if (const Item& item = step_.items[p]; item.role == Role::kSwitch) {
      add(condition, {{predicate(step_.input_slots[item.first_input + 1]), slot - item.first_output}});
    }
    return condition;
  }

  // Where a truth comes from, whatever handed it on.
  std::int32_t predicate(std::int32_t slot) const {
    while (true) {
      const std::int32_t p = items_.producer[slot];
      if (p < 0) return slot;
      const bool hands_on = step_.items[p].role == Role::kCopy || (items_.ops[p] != nullptr && items_.ops[p]->forwards);
      if (!hands_on || step_.items[p].num_inputs == 0) return slot;
      slot = step_.input_slots[step_.items[p].first_input];
    }
  }

  static void add(Condition& to, const Condition& more) {
    Condition both;
    std::set_union(to.begin(), to.end(), more.begin(), more.end(), std::back_inserter(both));
    to = std::move(both);
  }

  // The flag that tells whether a slot's value is dead; -1: it never is.
  std::int32_t flag_of(std::int32_t slot) const {
    const std::int32_t p = items_.producer[slot];
    if (condition_of(slot).empty()) return -1;
    return step_.items[p].role == Role::kSwitch ? slot : item_flag(p);
  }
  std::int32_t item_flag(std::int32_t item) const { return static_cast<std::int32_t>(step_.slots.size()) + item; }

  void visit(std::int32_t i) {
    Item& item = step_.items[i];
    ItemExtras& extras = step_.extras[i];
    if (item.role == Role::kMerge) return visit_merge(i);
    if (item.flow == Flow::kControlTrigger) return;
    const int frame = step_.frame_of[i];
    std::vector<std::int32_t> producers, flags;
    Condition all;
    const auto input = [&](std::int32_t slot) {
      producers.push_back(items_.producer[slot]);
      add(all, condition_of(slot));
      flags.push_back(flag_of(slot));
    };
    for (int k = 0; k < item.num_inputs; ++k) input(step_.input_slots[item.first_input + k]);
    for (const auto& [handle, value] : extras.derefs) input(handle);
    for (const std::int32_t p : after_[i]) {
      if (std::find(producers.begin(), producers.end(), p) != producers.end()) continue;
      add(all, of_item_[p]);
      flags.push_back(of_item_[p].empty() ? -1 : item_flag(p));
    }
    std::sort(flags.begin(), flags.end());
    flags.erase(std::unique(flags.begin(), flags.end()), flags.end());
    std::erase(flags, -1);
    if (item.flow == Flow::kExit) {
      auto& leaving = step_.loops[frame].leaving;
      leaving.insert(leaving.end(), flags.begin(), flags.end());
      if (!nexts_[frame].empty()) all = entered_[frame];
      if (all.empty()) flags.clear();
    } else if (item.flow == Flow::kNextIteration) {
      nexts_[frame].push_back(all);
      step_.loops[frame].nexts.push_back(item_flag(i));
    } else if (item.flow == Flow::kEnter) {
      const int inner = inner_frame(i);
      add(entered_[inner], all);
      step_.loops[inner].enters.push_back(all.empty() ? -1 : item_flag(i));
    }
    if (all.size() > kMostLiterals) all = {{-1 - i, 0}};
    item.conditional = !all.empty();
    extras.checks = std::move(flags);
    of_item_[i] = std::move(all);
  }

  int inner_frame(std::int32_t enter) const {
    const auto& edges = step_.successors[enter];
    return edges.empty() ? 0 : step_.frame_of[edges[0].item];
  }

  void visit_merge(std::int32_t i) {
    Item& item = step_.items[i];
    ItemExtras& extras = step_.extras[i];
    std::vector<Condition> inputs;
    for (int k = 0; k < item.num_inputs; ++k) {
      std::int32_t slot = step_.input_slots[item.first_input + k];
      // The value of a variable is there where the reference to it is.
      for (const auto& [handle, value] : extras.derefs) slot = value == slot ? handle : slot;
      const std::int32_t p = items_.producer[slot];
      if (p >= 0 && step_.items[p].flow == Flow::kNextIteration) {
        extras.turns |= std::uint64_t{1} << k;
        extras.checks.push_back(item_flag(p));
        continue;
      }
      inputs.push_back(condition_of(slot));
      extras.checks.push_back(flag_of(slot));
    }
    if (extras.turns != 0) extras.loop = step_.frame_of[i];
    of_item_[i] = extras.turns != 0 ? entered_[extras.loop] : either(i, inputs);
    item.conditional = !of_item_[i].empty();
  }

  // When one of these is live.
  static Condition either(std::int32_t merge, const std::vector<Condition>& inputs) {
    if (std::any_of(inputs.begin(), inputs.end(), [](const Condition& c) { return c.empty(); })) return {};
    if (inputs.size() == 2) {
      for (const Literal& literal : inputs[0]) {
        if (literal.first < 0) continue;
        Condition rest = inputs[0], other = inputs[1];
        std::erase(rest, literal);
        if (std::erase(other, Literal{literal.first, 1 - literal.second}) != 0 && rest == other) return rest;
      }
    }
    return {{-1 - merge, 0}};
  }

  // Everything in the loop has been visited; see above.
  bool is_regular(int frame) const {
    if (nexts_[frame].empty()) return true;
    std::int32_t decides = -1;
    const auto decided = [&](const Condition& condition, int value) {
      const Condition beyond = beyond_entered(frame, condition);
      if (beyond.size() != 1 || beyond[0].first < 0 || beyond[0].second != value) return false;
      if (decides < 0) decides = beyond[0].first;
      return beyond[0].first == decides;
    };
    for (const Condition& condition : nexts_[frame]) {
      if (!decided(condition, 1)) return false;
    }
    for (const std::int32_t i : step_.frames[frame].exits) {
      Condition condition = condition_of(step_.input_slots[step_.items[i].first_input]);
      for (const std::int32_t p : after_[i]) add(condition, of_item_[p]);
      if (!decided(condition, 0)) return false;
    }
    return beyond_entered(frame, condition_of(decides)).empty();
  }
  Condition beyond_entered(int frame, const Condition& condition) const {
    Condition beyond;
    std::set_difference(condition.begin(), condition.end(), entered_[frame].begin(), entered_[frame].end(),
                        std::back_inserter(beyond));
    return beyond;
  }

  Step& step_;
  const ItemGraph& items_;
  const std::vector<ItemGraph::Before>& after_;
  std::vector<Condition> of_item_;
  std::vector<Condition> entered_;             // by frame: of all its Enters together
  std::vector<std::vector<Condition>> nexts_;  // by frame: of its NextIterations
};

}  // namespace

bool find_conditions(Step& step, const ItemGraph& items, const std::vector<ItemGraph::Before>& after,
                     std::span<const std::int32_t> sequence) {
  return Finder(step, items, after).run(sequence);
}

}  // namespace argosy
