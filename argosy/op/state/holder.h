// Holder: a resource whose contents may be handles, its own among them: a queue of handles, an iterator over a dataset
// that captured one. Handles share what they name, so such a circle would never end. A ResourceManager ends it: when the
// resource goes from it, it lets go of what it holds.
#pragma once

#include "argosy/tensor/dtype.h"

namespace argosy {

class Holder {
 public:
  virtual ~Holder() = default;
  // Lets go of all contents that may be handles, or have some within; others may stay. Thread-safe. Throws nothing but
  // std::bad_alloc.
  virtual void let_go() = 0;
  // A step waits for its contents: ResourceManager::remove() leaves them to it.
  virtual bool in_use() const { return false; }
};

// A value of this dtype is a handle, or may have some within.
inline bool may_be_handle(DType dtype) { return dtype == DType::kResource || dtype == DType::kVariant; }

}  // namespace argosy
