#include "argosy/tf/graph/functions/function_entry.h"

#include <algorithm>

namespace argosy::tf {

namespace {

constexpr int kMostNested = 64;  // what lowering allows (argosy/passes/functions/lower_functions.h)

Status nests_too_deep(const FunctionEntry& entry) {
  return invalid_argument("functions call each other more than ", kMostNested, " deep, \"",
                          entry.def->signature().name(), "\" among them")
      .with_id("ARG-FN-008");
}

// True if an attribute of the function is itself a function, which its body may call.
bool takes_functions(const FunctionEntry& entry) {
  return std::ranges::any_of(entry.bindings, [](const auto& binding) {
    return binding.second.has_func() || binding.second.list().func_size() > 0;
  });
}

}  // namespace

Status check_callers(const FunctionEntry& entry) {
  if (entry.nesting >= kMostNested) return nests_too_deep(entry);
  if (takes_functions(entry)) return ok_status();
  // The calls of such a function do not depend on its attributes, so the expansion would never end.
  for (const FunctionEntry* caller = entry.caller; caller != nullptr; caller = caller->caller) {
    if (caller->def != entry.def || caller->gradient != entry.gradient) continue;
    return invalid_argument("function \"", entry.def->signature().name(),
                            "\" calls itself with other attributes: recursive functions are not supported")
        .with_id("ARG-FN-009")
        .with_hint("write the recursion as a while loop");
  }
  return ok_status();
}

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
    if (done->depth >= kMostNested && done->status.ok()) done->status = nests_too_deep(*done);
    path.pop_back();
    if (!path.empty()) path.back().first->depth = std::max(path.back().first->depth, done->depth + 1);
  }
}

void spread_failures(std::vector<FunctionEntry*>& functions,
                     const std::unordered_map<std::string_view, FunctionEntry*>& by_name) {
  std::ranges::sort(functions, {}, &FunctionEntry::depth);
  for (bool more = true; more;) {
    more = false;
    for (FunctionEntry* const entry : functions) {
      for (const std::string& name : entry->calls) {
        if (!entry->status.ok()) break;
        const auto callee = by_name.find(name);
        if (callee == by_name.end() || callee->second->status.ok()) continue;
        entry->status = callee->second->status;
        more = true;
      }
    }
  }
}

}  // namespace argosy::tf
