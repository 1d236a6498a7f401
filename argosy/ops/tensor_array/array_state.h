// StackState and ArrayState: the resources behind the handles of stacks and tensor arrays. Thread-safe. Internal to the
// tensor_array family.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/op/state/holder.h"
#include "argosy/ops/list/element_memory.h"

namespace argosy {

class StackState final : public Resource, public Holder {
 public:
  StackState(DType dtype, std::int64_t max_size) : dtype_(dtype), max_size_(max_size) {}
  std::string describe() const override { return str_cat("stack of ", dtype_name(dtype_)); }
  DType dtype() const { return dtype_; }
  // The element must keep its memory alive.
  Status push(Element element);
  Result<Element> pop();
  void close();
  void release_contents() override;

 private:
  const DType dtype_;
  const std::int64_t max_size_;  // negative: no limit
  Mutex mutex_;
  bool closed_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::vector<Element> elements_ ARGOSY_GUARDED_BY(mutex_);
};

class ArrayState final : public Resource, public Holder {
 public:
  static constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;
  struct Options {
    DType dtype;
    PartialShape element_shape;
    bool dynamic_size = false;
    bool clear_after_read = true;
    bool identical_shapes = false;
    bool sums = false;  // an array of gradients: a second write to an element adds
  };
  // RESOURCE_EXHAUSTED: `size` is above kMaxSize, or its places exceed the limit of host memory.
  static Status check_size(const KernelContext& c, std::int64_t size);
  ArrayState(Options options, std::int64_t size);
  std::string describe() const override { return str_cat("TensorArray of ", dtype_name(dtype_)); }

  DType dtype() const { return dtype_; }
  Result<std::int64_t> size();
  // The element must own its memory. `c`: the context of the kernel that writes it.
  Status write(const KernelContext& c, std::int64_t index, Element element);
  // Returns the element, in a memory that the kernel can use. An element that was not written reads as zeros if its
  // shape is known. The shape is that of all elements, or, in an array of gradients, of the element that it belongs to.
  Result<Tensor> read(const KernelContext& c, std::int64_t index);
  // The array of gradients for this source. The first call makes it, and fixes this array's size. `outer`: leading
  // sizes that each element of the new array has in addition.
  Result<std::shared_ptr<ArrayState>> gradients(const std::string& source, const Shape& outer = {});
  void close();
  void release_contents() override;

 private:
  struct Place {
    Element value;
    bool cleared = false;
    std::optional<Shape> shape = {};  // of the written element, kept after it was cleared
  };
  Status closed() const { return invalid_argument("TensorArray has already been closed."); }

  const DType dtype_;
  Mutex mutex_;
  Options options_ ARGOSY_GUARDED_BY(mutex_);
  bool closed_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::vector<Place> elements_ ARGOSY_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<ArrayState>> gradients_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
