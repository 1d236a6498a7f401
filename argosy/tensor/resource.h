// Tensor elements that are C++ objects. kResource: handles of variables, queues and tables, which outlive a step.
// kVariant: immutable values such as tensor lists and maps.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "argosy/base/status.h"

namespace argosy {

// Base of every object in a ResourceManager. Handles and the manager share ownership. Each class ensures thread safety.
class Resource {
 public:
  virtual ~Resource() = default;
  virtual std::string describe() const = 0;  // "Variable float[3,4]"
};

// An element of a kResource tensor. Copies name the same resource. May be empty.
class ResourceHandle {
 public:
  ResourceHandle() = default;
  // A handle to `resource`, with the container and name that it has in its ResourceManager.
  ResourceHandle(std::string container, std::string name, std::shared_ptr<Resource> resource)
      : container_(std::move(container)), name_(std::move(name)), resource_(std::move(resource)) {}

  const std::string& container() const { return container_; }              // of the resource
  const std::string& name() const { return name_; }                        // of the resource
  const std::shared_ptr<Resource>& resource() const { return resource_; }  // null where it is gone

 private:
  std::string container_, name_;
  std::shared_ptr<Resource> resource_;
};

class Allocator;
class Variant;

// Base of the value in a Variant. Immutable once shared. A class whose values contain variants calls set_nesting()
// (argosy/tensor/nesting.h).
class VariantValue {
 public:
  virtual ~VariantValue();
  virtual std::string describe() const = 0;  // for people
  // For gradients of values that contain numbers: the same value filled with zeros, and the sum of two values.
  virtual Result<Variant> zeros_like(Allocator& memory) const;
  // The sum of two values of this class; UNIMPLEMENTED if the class has none.
  virtual Result<Variant> plus(const VariantValue& other, Allocator& memory) const;

  // The nesting depth: 1 for a value without variants inside, else 1 more than that of the deepest variant inside.
  int nesting() const { return nesting_; }
  // REQUIRES: the value is not shared yet.
  void set_nesting(int nesting) { nesting_ = nesting; }

 private:
  int nesting_ = 1;
};

// An element of a kVariant tensor. Copies share the value.
class Variant {
 public:
  Variant() = default;
  explicit Variant(std::shared_ptr<const VariantValue> value)
      : value_(std::move(value)) {}                                            // shares an immutable value
  const std::shared_ptr<const VariantValue>& value() const { return value_; }  // null for an empty variant

 private:
  std::shared_ptr<const VariantValue> value_;
};

}  // namespace argosy
