#include "argosy/tf/graph/functions/function_entry.h"

#include <algorithm>

namespace argosy::tf {

namespace {

constexpr int kMostNested = 64;  // what lowering allows (argosy/passes/functions/lower_functions.h)

}  // namespace

void settle_calls(FunctionEntry& first, const std::unordered_map<std::string_view, FunctionEntry*>& by_name) {
  std::vector<std::pair<FunctionEntry*, std::size_t>> path;
  const auto enter = [&](FunctionEntry& entry) {
    entry.on_path = true;
    path.emplace_back(&entry, 0);
  };
  if (!first.settled) enter(first);
  while (!path.empty()) {
    auto& [entry, at] = path.back();
    if (at < entry->calls.size()) {
      const auto found = by_name.find(entry->calls[at++]);
      if (found == by_name.end()) continue;
      FunctionEntry& callee = *found->second;
      if (callee.on_path && entry->status.ok()) {
        entry->status = invalid_argument("function \"", callee.def->signature().name(),
                                         callee.name == entry->name ? "\" calls itself" : "\" calls itself through \"",
                                         callee.name == entry->name ? "" : entry->def->signature().name() + "\"",
                                         ": recursive functions are not supported")
                            .with_id("ARG-FN-009")
                            .with_hint("write the recursion as a while loop");
      } else if (!callee.settled && !callee.on_path) {
        enter(callee);
      } else {
        entry->depth = std::max(entry->depth, callee.depth + 1);
      }
      continue;
    }
    FunctionEntry* const done = entry;
    done->settled = true;
    done->on_path = false;
    if (done->depth >= kMostNested && done->status.ok()) {
      done->status = invalid_argument("functions call each other more than ", kMostNested, " deep, \"",
                                      done->def->signature().name(), "\" among them")
                         .with_id("ARG-FN-008");
    }
    path.pop_back();
    if (!path.empty()) path.back().first->depth = std::max(path.back().first->depth, done->depth + 1);
  }
}

}  // namespace argosy::tf
