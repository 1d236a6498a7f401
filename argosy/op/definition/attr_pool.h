// AttrPool: interns attribute maps, so that nodes with equal attributes share one. Most nodes of a large graph differ
// only in name and inputs. A pass that reads all nodes then finds the shared attributes in the cache. Not thread-safe.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "argosy/op/definition/attr.h"

namespace argosy {

struct OpDef;

class AttrPool {
 public:
  // Returns equal attributes. They share their entries with an equal map of the same op, if the pool still has
  // one. Returns a map with tensors unchanged.
  AttrMap shared(const OpDef* op, AttrMap attrs);

 private:
  std::unordered_multimap<std::size_t, AttrMap> maps_;  // by hash of op and values
};

}  // namespace argosy
