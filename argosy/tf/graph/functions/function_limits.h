// FunctionLimits: limits the number and size of the functions that a graph's import makes. A few bytes can ask for 2^40
// functions: each set of attribute values makes one, and a gradient has the nodes of everything that its function
// calls. FunctionNames: finds unused names for them. Internal to argosy/tf. Not thread-safe.
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
  // Limit on the number of functions with attributes. (The number of FunctionDefs limits those without
  // attributes.)
  static constexpr int kMostWithAttributes = 10'000;
  // Limit on the serialised attributes of one function.
  static constexpr std::size_t kMostAttributeBytes = 256 * 1024;
  // Limit on the nodes of a function to be differentiated, with all functions that it calls expanded at each call.
  static constexpr std::int64_t kMostDifferentiated = 128 * 1024;

  // Counts a new function. On an error it must not be made. RESOURCE_EXHAUSTED "ARG-FN-007": there are too many, or its
  // attributes are too long. RESOURCE_EXHAUSTED "ARG-MEM-004": host memory is spent. Else errors of check_callers().
  Status admit(const FunctionEntry& entry, std::size_t attribute_bytes);
  // Returns the last function that admit() refused because of kMostWithAttributes; null: none. The table uses it in
  // place of all functions with attributes that are named later.
  const FunctionEntry* one_too_many() const { return one_too_many_; }
  // RESOURCE_EXHAUSTED "ARG-FN-007": the function of this gradient has more than kMostDifferentiated nodes.
  Status check_gradient(const Graph& graph, const FunctionEntry& entry);
  // Reserves host memory for a body. RESOURCE_EXHAUSTED "ARG-MEM-004".
  Status reserve(std::int64_t nodes, const std::string& function);

 private:
  // Returns the nodes of a function with all functions that it calls expanded at each call; at most
  // kMostDifferentiated + 1.
  std::int64_t expanded_nodes(const Graph& graph, const std::string& name);

  int with_attributes_ = 0;
  const FunctionEntry* one_too_many_ = nullptr;
  std::unordered_map<std::string, std::int64_t> expanded_;  // results of expanded_nodes()
  std::vector<HostBudget::Reservation> reserved_;
};

class FunctionNames {
 public:
  // Returns `base` if it is not taken, else the first of "base_1", "base_2", … that is not taken. Numbers of a base are
  // not reused.
  std::string unused(const std::string& base, const std::function<bool(const std::string&)>& taken);

 private:
  std::unordered_map<std::string, int> last_;  // the last number used, by base
};

}  // namespace argosy::tf
