// OpRegistry: the definitions of all ops. argosy/ops/ops.cc fills it from a list; then it is read-only, and so
// thread-safe. There are no static registrars: a test can make a private registry with toy ops.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "argosy/op/definition/op_def.h"

namespace argosy {

// Definitions of ops by name.
class OpRegistry {
 public:
  // REQUIRES: the notation parses and the name is new (a bug of ours otherwise).
  void add(OpSpec spec);
  // Adds an already parsed op that another registry released.
  void add(std::unique_ptr<OpDef> op);
  // Moves all ops out, in the order they were added; the registry is empty afterwards. For code that completes
  // definitions.
  std::vector<std::unique_ptr<OpDef>> release();

  // Null when unknown. The pointer stays valid as long as the registry.
  const OpDef* find(std::string_view name) const;
  // NOT_FOUND naming the nearest op.
  Result<const OpDef*> lookup(std::string_view name) const;
  // In the order they were added.
  const std::vector<std::unique_ptr<OpDef>>& all() const { return ops_; }

 private:
  std::vector<std::unique_ptr<OpDef>> ops_;
  std::unordered_map<std::string_view, const OpDef*> by_name_;
};

}  // namespace argosy
