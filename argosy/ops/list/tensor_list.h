// TensorList: the variant value that list ops pass along edges. Internal to the list family, and to the code that sends
// lists to other tasks.
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
  // Element i; an invalid one where it was not set yet. REQUIRES: 0 <= i < size().
  Element at(std::int64_t i) const;

  // True if pushed() appends in place. Otherwise it copies all elements, since another list has grown from this one.
  bool grows_in_place() const;

  // Each returns a new list, and copies the entries except:
  // * pushed() where grows_in_place(): amortised constant time;
  // * popped(): always; with `mine` it also releases the element, if no other list shares the store;
  // * with() where `mine`, and no other list shares the store.
  // `mine`: nothing else holds this list, which must not be used again. Elements must keep their memory alive.
  // REQUIRES: an element that fits the list.
  std::shared_ptr<TensorList> pushed(Element element) const;
  std::shared_ptr<TensorList> popped(bool mine) const;
  std::shared_ptr<TensorList> with(std::int64_t i, Element element, bool mine) const;
  std::shared_ptr<TensorList> resized(std::int64_t size) const;

  // INVALID_ARGUMENT unless an element of this kind may be added; RESOURCE_EXHAUSTED: values are nested too deep.
  Status check_element(const Tensor& element) const;
  Status check_room() const;

 private:
  // The elements of a list and of all lists it grew from: each list sees the first size_ of them. Only the list that
  // sees all of them may append, since the others cannot see the new element.
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

// Input i, a variant scalar, as a list. INVALID_ARGUMENT: it is no list.
Result<std::shared_ptr<const TensorList>> list_input(const KernelContext& c, int i);
// The value of an integer scalar; the values of a vector of integers. INVALID_ARGUMENT for any other rank; shape
// functions check the ranks, too. `what` names the input in the error.
Result<std::int64_t> scalar_input(const Tensor& t, std::string_view what);
Result<std::vector<std::int64_t>> vector_input(const Tensor& t, std::string_view what);
// True if nothing uses the list of input i after this kernel: it may be updated in place.
bool last_reader(const KernelContext& c, int i, const std::shared_ptr<const TensorList>& list);
void set_list(KernelContext& c, std::shared_ptr<const TensorList> list);
// As kept_element(), without the memory it is in.
Result<Tensor> kept(const KernelContext& c, const Tensor& t);

}  // namespace argosy
