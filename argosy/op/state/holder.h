// Holder: a resource that may contain handles, even its own: a queue of handles, an iterator over a dataset that
// captured one. A handle shares ownership of its resource, so a cycle of them would leak. ResourceManager breaks
// cycles: when it removes a Holder, it calls release_contents().
#pragma once

#include "argosy/tensor/dtype.h"

namespace argosy {

class Holder {
 public:
  virtual ~Holder() = default;
  // Releases all contents that are or may contain handles; other contents may stay. Thread-safe. Throws only
  // std::bad_alloc.
  virtual void release_contents() = 0;
  // True while a step waits for the contents. ResourceManager::remove() then does not call release_contents().
  virtual bool in_use() const { return false; }
};

// True if a value of this dtype is a handle, or may contain handles.
inline bool may_be_handle(DType dtype) { return dtype == DType::kResource || dtype == DType::kVariant; }

}  // namespace argosy
