// Kernels: ops on tensors of lists, element by element.
#include "argosy/base/memory/held_items.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/list/tensor_list.h"

namespace argosy {

void add_batched_lists(KernelRegistry& kernels);

namespace {

// The list at place i of input `input`, a tensor of lists of this dtype.
Result<std::shared_ptr<const TensorList>> list_at(const KernelContext& c, int input, std::int64_t i, DType dtype) {
  constexpr std::string_view kNames[] = {"input_a", "input_b"};
  const auto& value = c.input(input).data<Variant>()[i].value();
  auto list = std::dynamic_pointer_cast<const TensorList>(value);
  if (list == nullptr) {
    return invalid_argument(kNames[input], " is not a TensorList at index ", i, ".  Saw: '",
                            value == nullptr ? "nothing" : value->describe(), "'");
  }
  if (list->dtype() != dtype) {
    return invalid_argument(kNames[input], "[", i, "].dtype != element_dtype.  Saw: ", dtype_name(list->dtype()),
                            " vs. ", dtype_name(dtype));
  }
  return list;
}

// The places of the lists that one op makes: of a list that is given twice, the second copies all of them.
class PlacesMade {
 public:
  // RESOURCE_EXHAUSTED: `more` elements do not fit behind `list`, with all that was made before.
  Status add(const KernelContext& c, const TensorList& list, std::int64_t more) {
    total_ += list.grows_in_place() ? more : list.size() + more;
    ARGOSY_RETURN_IF_ERROR(room_for_places(c, total_, sizeof(Element)));
    return held_.hold(total_);
  }

 private:
  std::int64_t total_ = 0;
  HeldItems held_{HostUse::kBuffers, sizeof(Element), "the lists of a batch"};
};

// Output 0, to be filled.
Result<Tensor> lists_like_first(const KernelContext& c) {
  return Tensor::allocate(DType::kVariant, c.input(0).shape(), host_allocator());
}

Status join(KernelContext& c, const AttrMap& attrs) {
  const DType dtype = attrs.get_type("element_dtype");
  const Shape& shape = c.input(0).shape();
  if (!(shape == c.input(1).shape())) {
    return invalid_argument("Incompatible input TensorList tensor shapes: ", shape, " vs. ", c.input(1).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor y, lists_like_first(c));
  PlacesMade places;
  Poll poll(4096);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const auto first, list_at(c, 0, i, dtype));
    ARGOSY_ASSIGN_OR_RETURN(const auto second, list_at(c, 1, i, dtype));
    if (!(first->element_shape() == second->element_shape())) {
      return invalid_argument("input_a and input_b TensorList element shapes are not identical at index ", i, ".  Saw ",
                              first->element_shape(), " vs. ", second->element_shape());
    }
    const std::int64_t count = first->size() + second->size();
    if (count > TensorList::kMaxElements) return resource_exhausted("a list of ", count, " elements");
    ARGOSY_RETURN_IF_ERROR(places.add(c, *first, second->size()));
    std::shared_ptr<const TensorList> both = first;
    for (std::int64_t k = 0; k < second->size(); ++k) {
      poll();
      both = both->pushed(second->at(k));
    }
    y.data<Variant>()[i] = Variant(std::move(both));
  }
  c.set_output(0, std::move(y));
  return ok_status();
}

// Row i of input 1 goes to list i. TensorFlow does not look at how many elements the lists may have.
Status push_each(KernelContext& c, const AttrMap& attrs) {
  const Shape &lists = c.input(0).shape(), &rows = c.input(1).shape();
  if (lists.rank() != 1) return invalid_argument("Expected input_handles to be a vector, but saw shape: ", lists);
  if (rows.rank() < 1) return invalid_argument("Expected tensor to be at least a vector, but saw shape: ", rows);
  if (rows[0] != lists[0]) {
    return invalid_argument("Expected tensor.shape[0] == input_handles.size, but saw ", rows[0], " vs. ", lists[0]);
  }
  const Shape one = rows.removed(0);
  ARGOSY_ASSIGN_OR_RETURN(const Element stack, kept_element(c, c.input(1)));
  ARGOSY_ASSIGN_OR_RETURN(Tensor y, lists_like_first(c));
  PlacesMade places;
  Poll poll(64);
  for (std::int64_t i = 0; i < lists[0]; ++i) {
    poll();
    ARGOSY_ASSIGN_OR_RETURN(const auto list, list_at(c, 0, i, attrs.get_type("element_dtype")));
    if (!list->element_shape().compatible(one)) {
      return invalid_argument("Tried to append a tensor with incompatible shape to a list at index ", i,
                              ". Op element shape: ", one, " list shape: ", list->element_shape());
    }
    const Tensor element = stack.value.rows(i, i + 1).reshaped(one);
    ARGOSY_RETURN_IF_ERROR(list->check_element(element));
    ARGOSY_RETURN_IF_ERROR(places.add(c, *list, 1));
    y.data<Variant>()[i] = Variant(list->pushed({element, stack.home}));
  }
  c.set_output(0, std::move(y));
  return ok_status();
}

}  // namespace

void add_batched_lists(KernelRegistry& kernels) {
  kernels.add("TensorListConcatLists", "cpu", AttrKernel<join>::make);
  kernels.add("TensorListPushBackBatch", "cpu", AttrKernel<push_each>::make);
}

}  // namespace argosy
