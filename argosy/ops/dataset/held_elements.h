// ElementList: elements that a dataset keeps (a window, a group, a cache), counted in the budget of host memory.
// Internal to the family.
#pragma once

#include "argosy/ops/dataset/dataset_value.h"
#include "argosy/tensor/held_tuples.h"

namespace argosy::datasets {

// A list of elements, counted in the budget while it lives.
class ElementList {
 public:
  ElementList(std::size_t components, const char* what) : held_(held_tuples(components, what)) {}
  // Appends an element. RESOURCE_EXHAUSTED (ARG-MEM-004) if the budget is exhausted; then the list is unchanged.
  Status add(Element element) {
    ARGOSY_RETURN_IF_ERROR(held_.hold(size() + 1));
    elements_.push_back(std::move(element));
    return ok_status();
  }
  std::int64_t size() const { return static_cast<std::int64_t>(elements_.size()); }
  std::vector<Element>& elements() { return elements_; }
  // Returns the elements as a pointer that keeps `list` alive.
  static std::shared_ptr<const std::vector<Element>> shared(std::shared_ptr<ElementList> list) {
    const std::vector<Element>* const elements = &list->elements_;
    return {std::move(list), elements};
  }

 private:
  HeldItems held_;
  std::vector<Element> elements_;
};

}  // namespace argosy::datasets
