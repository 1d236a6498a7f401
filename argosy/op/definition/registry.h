// OpRegistry: the ops there are. Filled from a list (argosy/ops/ops.cc), then read-only and so thread-safe.
// No static registrars: a test makes a private registry with toy ops.
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
  // The same of a parsed op, which release() gave.
  void add(std::unique_ptr<OpDef> op);
  // All ops, in the order they were added; their registry is empty then. For whoever completes definitions.
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
