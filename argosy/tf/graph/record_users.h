// RecordUsers: which records of a GraphDef read what another one gives. Internal to argosy/tf. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "argosy/tf/graph/import_nodes.h"

namespace argosy::tf {

class RecordUsers {
 public:
  // `user` takes these; control inputs do not count.
  void add(std::int32_t user, std::span<const ImportInput> inputs) {
    for (const ImportInput& input : inputs) {
      if (input.index == ImportInput::kControl) continue;
      const auto source = static_cast<std::size_t>(input.node);
      if (by_source_.size() <= source) by_source_.resize(source + 1);
      by_source_[source].push_back(user);
    }
  }
  // In order of add(); one that takes several outputs comes as often.
  std::span<const std::int32_t> of(std::int32_t source) const {
    const auto at = static_cast<std::size_t>(source);
    return at < by_source_.size() ? std::span<const std::int32_t>(by_source_[at]) : std::span<const std::int32_t>();
  }

 private:
  std::vector<std::vector<std::int32_t>> by_source_;
};

}  // namespace argosy::tf
