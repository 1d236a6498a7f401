#include "argosy/tf/graph/functions/function_limits.h"

#include <algorithm>

#include "argosy/tf/graph/functions/function_entry.h"
#include "argosy/tf/graph/functions/function_table.h"

namespace argosy::tf {

namespace {

constexpr std::size_t kShortAttributes = 1024;  // go without a reservation
constexpr std::int64_t kBytesOfNode = 1024;
constexpr std::size_t kDeepest = 1024;  // calls within calls

}  // namespace

Status FunctionLimits::admit(const FunctionEntry& entry, std::size_t attribute_bytes) {
  const std::string& name = entry.def->signature().name();
  const bool too_many = !entry.bindings.empty() && ++with_attributes_ > kMostWithAttributes;
  if (too_many) one_too_many_ = &entry;
  if (attribute_bytes > kMostAttributeBytes) {
    return resource_exhausted("the attributes of a call of function \"", name, "\" take ", attribute_bytes, " bytes; ",
                              kMostAttributeBytes, " are allowed")
        .with_id("ARG-FN-007")
        .with_hint("pass values as arguments, not as attributes");
  }
  ARGOSY_RETURN_IF_ERROR(check_callers(entry));
  if (too_many) {
    return resource_exhausted("the graph calls its functions with more than ", kMostWithAttributes,
                              " different sets of attributes, \"", name, "\" among them")
        .with_id("ARG-FN-007")
        .with_hint("pass values as arguments, not as attributes");
  }
  if (attribute_bytes <= kShortAttributes) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(auto bytes,
                          host_budget().reserve(HostUse::kFunctions, 2 * static_cast<std::int64_t>(attribute_bytes),
                                                str_cat("the attributes of a call of function \"", name, "\"")));
  reserved_.push_back(std::move(bytes));
  return ok_status();
}

Status FunctionLimits::check_gradient(const Graph& graph, const FunctionEntry& entry) {
  if (expanded_nodes(graph, entry.forward) <= kMostDifferentiated) return ok_status();
  return resource_exhausted("the gradient of function \"", entry.def->signature().name(),
                            "\": with all that it calls the function has more than ", kMostDifferentiated, " nodes")
      .with_id("ARG-FN-007")
      .with_hint("loops (While) in place of functions that call each other again and again");
}

Status FunctionLimits::reserve(std::int64_t nodes, const std::string& function) {
  ARGOSY_ASSIGN_OR_RETURN(auto bytes,
                          host_budget().reserve(HostUse::kFunctions, kBytesOfNode * nodes,
                                                str_cat("function \"", function, "\" of ", nodes, " nodes")));
  reserved_.push_back(std::move(bytes));
  return ok_status();
}

// Depth first, without recursion.
std::int64_t FunctionLimits::expanded_nodes(const Graph& graph, const std::string& name) {
  struct Open {
    std::string name;
    std::vector<std::string> calls;
    std::size_t at = 0;
    std::int64_t nodes = 0;
  };
  std::vector<Open> path;
  const auto open = [&](const std::string& function) {
    Open one{.name = function, .calls = {}};
    if (const Function* f = graph.function(function); f != nullptr) {
      one.nodes = f->body.size();
      for (const Node& node : f->body.nodes()) add_function_refs(node.attrs, one.calls);
    }
    path.push_back(std::move(one));
  };
  if (!expanded_.contains(name)) open(name);
  while (!path.empty()) {
    if (path.size() > kDeepest) return kMostDifferentiated + 1;
    Open& last = path.back();
    if (last.at == last.calls.size()) {
      expanded_[last.name] = std::min(last.nodes, kMostDifferentiated + 1);
      path.pop_back();
    } else if (const auto known = expanded_.find(last.calls[last.at]); known != expanded_.end()) {
      last.nodes = std::min(last.nodes + known->second, kMostDifferentiated + 1);
      ++last.at;
    } else {
      open(std::string(last.calls[last.at]));
    }
  }
  return expanded_[name];
}

std::string FunctionNames::unused(const std::string& base, const std::function<bool(const std::string&)>& taken) {
  if (!taken(base)) return base;
  int& number = last_[base];
  std::string name;
  do {
    name = str_cat(base, "_", ++number);
  } while (taken(name));
  return name;
}

}  // namespace argosy::tf
