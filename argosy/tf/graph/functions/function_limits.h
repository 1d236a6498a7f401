// FunctionLimits: how many functions a graph may ask for, and of what size. A few bytes may ask for 2^40 of them: each
// set of attributes makes a function of ours, and a gradient has the nodes of all that its function calls.
// FunctionNames: names for them. Internal to argosy/tf. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "argosy/base/memory/host_budget.h"
#include "argosy/graph/graph.h"

namespace argosy::tf {

struct FunctionEntry;

class FunctionLimits {
 public:
  // Functions that are made with attributes. Those without are as many as there are definitions.
  static constexpr int kMostWithAttributes = 10'000;
  // Serialised attributes of one function.
  static constexpr std::size_t kMostAttributeBytes = 256 * 1024;
  // Nodes of a function to be differentiated, with those of all that it calls, as often as it calls them.
  static constexpr std::int64_t kMostDifferentiated = 128 * 1024;

  // Counts a new function. An error: it must not be made. RESOURCE_EXHAUSTED "ARG-FN-007": there are too many, or its
  // attributes are too long; "ARG-MEM-004"; those of check_callers().
  Status admit(const FunctionEntry& entry, std::size_t attribute_bytes);
  // The function that was refused as one more than kMostWithAttributes; null: none was. It stands for all after it.
  const FunctionEntry* one_too_many() const { return one_too_many_; }
  // RESOURCE_EXHAUSTED "ARG-FN-007": the function of this gradient has more than kMostDifferentiated nodes.
  Status check_gradient(const Graph& graph, const FunctionEntry& entry);
  // Reserves host memory for a body. RESOURCE_EXHAUSTED "ARG-MEM-004".
  Status reserve(std::int64_t nodes, const std::string& function);

 private:
  // Nodes of a function and of all that it calls, as often as it calls them; kMostDifferentiated + 1 for more.
  std::int64_t expanded_nodes(const Graph& graph, const std::string& name);

  int with_attributes_ = 0;
  const FunctionEntry* one_too_many_ = nullptr;
  std::unordered_map<std::string, std::int64_t> expanded_;  // what expanded_nodes() found
  std::vector<HostBudget::Reservation> reserved_;
};

class FunctionNames {
 public:
  // `base`, or "base_1" and so on, of which none comes twice.
  std::string unused(const std::string& base, const std::function<bool(const std::string&)>& taken);

 private:
  std::unordered_map<std::string, int> last_;  // number, by what stands before it
};

}  // namespace argosy::tf
