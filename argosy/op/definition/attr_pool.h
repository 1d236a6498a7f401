// AttrPool: attributes that many nodes have in common are kept once. Of the nodes of a large graph most are alike but
// for their names and inputs: what all of them share stays in the cache when a pass asks each. Not thread-safe.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "argosy/op/definition/attr.h"

namespace argosy {

struct OpDef;

class AttrPool {
 public:
  // Equal attributes that share their entries with those of earlier nodes of the op, if there were any. Maps that hold
  // tensors come back as they are.
  AttrMap shared(const OpDef* op, AttrMap attrs);

 private:
  std::unordered_multimap<std::size_t, AttrMap> maps_;  // by hash of op and values
};

}  // namespace argosy
