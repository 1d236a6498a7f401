// What lives longer than a step and is passed by handle: variables, queues, tables (kResource), and
// immutable values of other C++ types: tensor lists and maps (kVariant).
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "argosy/base/status.h"

namespace argosy {

// Base of everything a ResourceManager holds. Thread-safe by its own means; shared by handles and manager.
class Resource {
 public:
  virtual ~Resource() = default;
  virtual std::string describe() const = 0;  // "Variable float[3,4]"
};

// Element of a kResource tensor. Copies name the same resource. May be empty.
class ResourceHandle {
 public:
  ResourceHandle() = default;
  // What lies at this name.
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

// Base of what a Variant holds. Immutable once shared.
class VariantValue {
 public:
  virtual ~VariantValue();
  virtual std::string describe() const = 0;  // for people
  // What differentiation needs of values that contain numbers: the same with zeros in them, the sum of two.
  virtual Result<Variant> zeros_like(Allocator& memory) const;
  // The sum of two of a kind; UNIMPLEMENTED where there is none.
  virtual Result<Variant> plus(const VariantValue& other, Allocator& memory) const;
};

// Element of a kVariant tensor. Copies share the value.
class Variant {
 public:
  Variant() = default;
  explicit Variant(std::shared_ptr<const VariantValue> value)
      : value_(std::move(value)) {}                                            // shares an immutable value
  const std::shared_ptr<const VariantValue>& value() const { return value_; }  // null of an empty one

 private:
  std::shared_ptr<const VariantValue> value_;
};

}  // namespace argosy
