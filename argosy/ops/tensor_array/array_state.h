// What stack and tensor array handles refer to. Internal to the tensor_array family. Thread-safe.
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
  void let_go() override;

 private:
  const DType dtype_;
  const std::int64_t max_size_;  // negative: none
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
    bool sums = false;  // of gradients: writing again adds
  };
  // RESOURCE_EXHAUSTED where so many elements have no room.
  static Status check_size(const KernelContext& c, std::int64_t size);
  ArrayState(Options options, std::int64_t size);
  std::string describe() const override { return str_cat("TensorArray of ", dtype_name(dtype_)); }

  DType dtype() const { return dtype_; }
  Result<std::int64_t> size();
  // The element must keep its memory alive; `c` is the kernel's that has it.
  Status write(const KernelContext& c, std::int64_t index, Element element);
  // Zeros where nothing was written, if the shape is known: of all elements, or, in an array of gradients, of the one
  // it is the gradient of. Where the kernel can work with it.
  Result<Tensor> read(const KernelContext& c, std::int64_t index);
  // The array of gradients for this source, made when it is first asked for; this array keeps its size from then on.
  // `outer`: sizes in front of those of every element.
  Result<std::shared_ptr<ArrayState>> gradients(const std::string& source, const Shape& outer = {});
  void close();
  void let_go() override;

 private:
  struct Place {
    Element value;
    bool cleared = false;
    std::optional<Shape> shape = {};  // of what was written, also when that is gone
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
