// BodyNames: how the nodes of a function's body name each other's outputs. Internal to argosy/tf. Not thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "argosy/tf/graph/graph_importer.h"

namespace argosy::tf {

// Names are borrowed: the FunctionDef outlives them.
class BodyNames {
 public:
  // A parameter is `count` entries of the importer, from `first`: one for each value of a list.
  // Both: INVALID_ARGUMENT (ARG-GRAPH-003) for a name that is taken.
  Status add_parameter(std::string_view name, std::int32_t first, std::int32_t count);
  Status add_node(std::string_view name, std::int32_t entry);

  // Appends what an input means: "node:out:2", "node:out", "parameter", "list_parameter:2" or "^node".
  // INVALID_ARGUMENT (ARG-IMPORT-006): it names nothing.
  Status parse(std::string_view text, std::vector<GraphImporter::Input>& inputs) const;

 private:
  struct Named {
    std::int32_t first = 0, count = 1;
    bool is_parameter = false;
  };
  static Status parse_parameter(std::string_view text, std::string_view rest, const Named& named,
                                std::vector<GraphImporter::Input>& inputs);

  std::unordered_map<std::string_view, Named> names_;
};

}  // namespace argosy::tf
