// BodyNames: resolves the names by which nodes of a function's body refer to each other's outputs. Internal to
// argosy/tf. Not thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "argosy/tf/graph/graph_importer.h"

namespace argosy::tf {

// Borrows the names: the FunctionDef outlives this object.
class BodyNames {
 public:
  // A parameter is `count` nodes of the GraphImporter, from `first`: one for each value of a list.
  // Both functions: INVALID_ARGUMENT (ARG-GRAPH-003): the name is taken.
  Status add_parameter(std::string_view name, std::int32_t first, std::int32_t count);
  Status add_node(std::string_view name, std::int32_t entry);

  // Appends the inputs that a text names: "node:out:2", "node:out", "parameter", "list_parameter:2" or "^node".
  // INVALID_ARGUMENT (ARG-IMPORT-006): there is no such node or parameter.
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
