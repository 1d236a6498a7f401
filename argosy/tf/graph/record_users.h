// RecordUsers: the consumers of each node of a GraphDef, by the nodes' numbers. Internal to argosy/tf. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "argosy/tf/graph/import_nodes.h"

namespace argosy::tf {

class RecordUsers {
 public:
  // Adds a node with these inputs; control inputs do not count.
  void add(std::int32_t user, std::span<const ImportInput> inputs) {
    for (const ImportInput& input : inputs) {
      if (input.index == ImportInput::kControl) continue;
      const auto source = static_cast<std::size_t>(input.node);
      if (by_source_.size() <= source) by_source_.resize(source + 1);
      by_source_[source].push_back(user);
    }
  }
  // Returns the consumers of a node, in order of add(). A consumer of several outputs occurs once for each.
  std::span<const std::int32_t> of(std::int32_t source) const {
    const auto at = static_cast<std::size_t>(source);
    return at < by_source_.size() ? std::span<const std::int32_t>(by_source_[at]) : std::span<const std::int32_t>();
  }

 private:
  std::vector<std::vector<std::int32_t>> by_source_;
};

}  // namespace argosy::tf
