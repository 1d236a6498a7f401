// The value behind a TensorList handle. Internal to the list family, and to who sends lists to other tasks.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/list/element_memory.h"

namespace argosy {

class TensorList final : public VariantValue {
 public:
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 24;

  TensorList(DType dtype, PartialShape element_shape, std::int64_t max_elements = -1)
      : dtype_(dtype),
        element_shape_(std::move(element_shape)),
        max_(max_elements),
        store_(std::make_shared<Store>()) {}

  std::string describe() const override;
  Result<Variant> zeros_like(Allocator& memory) const override;
  Result<Variant> plus(const VariantValue& other, Allocator& memory) const override;

  DType dtype() const { return dtype_; }
  const PartialShape& element_shape() const { return element_shape_; }
  std::int64_t size() const { return size_; }
  std::int64_t most_elements() const { return max_; }  // -1: as many as kMaxElements
  // Element i, or an invalid one where none was set yet. REQUIRES: 0 <= i < size().
  Element at(std::int64_t i) const;

  // Does pushed() add to the memory that is there? Else it copies all elements: another list has grown from this one.
  bool grows_in_place() const;

  // New lists, in amortised constant time where `this` is the latest of its kind (push), or nobody else holds it
  // (`mine`; it must not be used again). Elements must keep their memory alive. REQUIRES: what fits the list.
  std::shared_ptr<TensorList> pushed(Element element) const;
  std::shared_ptr<TensorList> popped(bool mine) const;
  std::shared_ptr<TensorList> with(std::int64_t i, Element element, bool mine) const;
  std::shared_ptr<TensorList> resized(std::int64_t size) const;

  // INVALID_ARGUMENT unless an element of this kind may be added; RESOURCE_EXHAUSTED: values are nested too deep.
  Status check_element(const Tensor& element) const;
  Status check_room() const;

 private:
  // Elements of a list and of all lists it grew from: a list sees the first size_ of them. Only the latest list may
  // grow the store, which no other can see.
  struct Store {
    Mutex mutex;
    std::vector<Element> items ARGOSY_GUARDED_BY(mutex);
  };
  std::shared_ptr<TensorList> copy() const;

  DType dtype_;
  PartialShape element_shape_;
  std::int64_t max_;
  std::shared_ptr<Store> store_;
  std::int64_t size_ = 0;
};

// Input i as a list of this dtype.
Result<std::shared_ptr<const TensorList>> list_input(const KernelContext& c, int i);
// An integer scalar, a vector of integers: shape functions ask for these ranks too.
Result<std::int64_t> scalar_input(const Tensor& t, std::string_view what);
Result<std::vector<std::int64_t>> vector_input(const Tensor& t, std::string_view what);
// Nobody will look at that list again after this kernel.
bool last_reader(const KernelContext& c, int i, const std::shared_ptr<const TensorList>& list);
void set_list(KernelContext& c, std::shared_ptr<const TensorList> list);
// The tensor itself if it outlives the step's memory, else a copy on the device.
Result<Tensor> kept(const KernelContext& c, const Tensor& t);

}  // namespace argosy
