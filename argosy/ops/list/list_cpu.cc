#include <algorithm>
#include <limits>

#include "argosy/base/checked.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/list/tensor_list.h"
#include "argosy/tensor/nesting.h"

namespace argosy {

void add_batched_lists(KernelRegistry& kernels);  // batched_lists_cpu.cc

namespace {

// A shape given as a tensor: sizes, -1 where unknown; the scalar -1: nothing is known.
Result<PartialShape> given_shape(const Tensor& t) {
  ARGOSY_ASSIGN_OR_RETURN(std::vector<std::int64_t> sizes, to_int64s(t, "element_shape"));
  if (t.shape().rank() == 0) {
    if (sizes[0] == -1) return PartialShape::unknown();
    return invalid_argument("element_shape must be a vector, or -1, not ", sizes[0]);
  }
  for (const std::int64_t size : sizes) {
    if (size < -1) return invalid_argument("element_shape has a size of ", size);
  }
  return PartialShape(std::move(sizes));
}

Result<std::int64_t> given_count(const KernelContext& c, int input, std::string_view what) {
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t n, scalar_input(c.input(input), what));
  if (n < 0) return invalid_argument(what, " must not be negative, and is ", n);
  if (n > TensorList::kMaxElements) {
    return resource_exhausted("a list of ", n, " elements: ", TensorList::kMaxElements, " are allowed");
  }
  ARGOSY_RETURN_IF_ERROR(room_for_places(c, n, sizeof(Element)));
  return n;
}

Result<std::int64_t> index_into(const Tensor& t, std::int64_t size) {
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t i, scalar_input(t, "index"));
  if (i < 0 || i >= size) {
    return invalid_argument("there is no element ", i, " in a list of ", size).with_id("ARG-INDEX-001");
  }
  return i;
}

DType element_dtype(const KernelInit& init) { return init.attrs.get_type("element_dtype"); }

Status check_dtype(const TensorList& list, DType dtype) {
  if (list.dtype() == dtype) return ok_status();
  return invalid_argument("the list holds ", dtype_name(list.dtype()), ", not ", dtype_name(dtype));
}

// Element i; zeros of the known shape where none was set.
Result<Tensor> element(const KernelContext& c, const TensorList& list, std::int64_t i, const PartialShape& given) {
  if (const Element found = list.at(i); found.valid()) {
    if (given.compatible(found.value.shape())) return brought(c, found);
    return invalid_argument("element ", i, " has shape ", found.value.shape(), ", not ", given);
  }
  ARGOSY_ASSIGN_OR_RETURN(PartialShape shape, list.element_shape().merge(given));
  for (std::int64_t k = 0; k < list.size() && !shape.is_full(); ++k) {  // the others' shape will do
    const Element other = list.at(k);
    if (!other.valid()) continue;
    ARGOSY_ASSIGN_OR_RETURN(shape, shape.merge(other.value.shape()));
  }
  if (!shape.is_full()) {
    return invalid_argument("element ", i, " was never set, and its shape ", shape, " is not fully known");
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape full, shape.full());
  return zero_element(c, list.dtype(), full);
}

// A kernel that knows its element dtype.
template <Status (*kRun)(KernelContext&, DType)>
class WithDtype final : public Kernel {
 public:
  explicit WithDtype(DType dtype) : dtype_(dtype) {}
  Status run(KernelContext& c) override { return kRun(c, dtype_); }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<WithDtype>(element_dtype(init)));
  }

 private:
  const DType dtype_;
};

Status empty(KernelContext& c, DType dtype) {
  ARGOSY_ASSIGN_OR_RETURN(PartialShape shape, given_shape(c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t most, scalar_input(c.input(1), "max_num_elements"));
  set_list(c, std::make_shared<TensorList>(dtype, std::move(shape), most));
  return ok_status();
}

Status reserve(KernelContext& c, DType dtype) {
  ARGOSY_ASSIGN_OR_RETURN(PartialShape shape, given_shape(c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t count, given_count(c, 1, "num_elements"));
  set_list(c, TensorList(dtype, std::move(shape)).resized(count));
  return ok_status();
}

Status push(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto list, list_input(c, 0));
  ARGOSY_RETURN_IF_ERROR(list->check_element(c.input(1)));
  ARGOSY_RETURN_IF_ERROR(list->check_room());
  ARGOSY_ASSIGN_OR_RETURN(Element element, kept_element(c, c.input(1)));
  set_list(c, list->pushed(std::move(element)));
  return ok_status();
}

Status pop(KernelContext& c, DType dtype) {
  ARGOSY_ASSIGN_OR_RETURN(const auto list, list_input(c, 0));
  ARGOSY_RETURN_IF_ERROR(check_dtype(*list, dtype));
  if (list->size() == 0) return invalid_argument("Trying to pop from an empty list.");
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape given, given_shape(c.input(1)));
  ARGOSY_ASSIGN_OR_RETURN(Tensor last, element(c, *list, list->size() - 1, given));
  ARGOSY_RETURN_IF_ERROR(give_element(c, 1, std::move(last)));
  set_list(c, list->popped(last_reader(c, 0, list)));
  return ok_status();
}

class SetItem final : public Kernel {
 public:
  explicit SetItem(bool resize) : resize_(resize) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<SetItem>(init.attrs.get_bool("resize_if_index_out_of_bounds")));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const auto list, list_input(c, 0));
    ARGOSY_RETURN_IF_ERROR(list->check_element(c.input(2)));
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t asked, scalar_input(c.input(1), "index"));
    ARGOSY_ASSIGN_OR_RETURN(Element item, kept_element(c, c.input(2)));
    if (resize_ && asked >= list->size()) {
      if (asked >= TensorList::kMaxElements) return resource_exhausted("a list of ", asked, " elements");
      ARGOSY_RETURN_IF_ERROR(room_for_places(c, asked, sizeof(Element)));
      set_list(c, list->resized(asked + 1)->with(asked, std::move(item), true));
      return ok_status();
    }
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t i, index_into(c.input(1), list->size()));
    set_list(c, list->with(i, std::move(item), last_reader(c, 0, list)));
    return ok_status();
  }

 private:
  const bool resize_;
};

Status get_item(KernelContext& c, DType dtype) {
  ARGOSY_ASSIGN_OR_RETURN(const auto list, list_input(c, 0));
  ARGOSY_RETURN_IF_ERROR(check_dtype(*list, dtype));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t i, index_into(c.input(1), list->size()));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape given, given_shape(c.input(2)));
  ARGOSY_ASSIGN_OR_RETURN(Tensor item, element(c, *list, i, given));
  return give_element(c, 0, std::move(item));
}

// Rows of output 0 from these elements, all of one shape.
Status stack_elements(KernelContext& c, const TensorList& list, std::span<const std::int64_t> indices,
                      const PartialShape& given) {
  ARGOSY_ASSIGN_OR_RETURN(PartialShape shape, list.element_shape().merge(given));
  std::vector<Tensor> rows;
  rows.reserve(indices.size());
  for (const std::int64_t i : indices) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor row, element(c, list, i, given));
    const auto same = shape.merge(row.shape());
    if (!same.ok()) {
      return invalid_argument("elements of shapes ", shape, " and ", row.shape(), " cannot be stacked");
    }
    shape = *same;
    rows.push_back(std::move(row));
  }
  if (!shape.is_full()) {
    return invalid_argument("no elements to stack, and their shape ", shape, " is not fully known");
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape one, shape.full());
  std::vector<std::int64_t> sizes(one.sizes().begin(), one.sizes().end());
  sizes.insert(sizes.begin(), static_cast<std::int64_t>(rows.size()));
  ARGOSY_ASSIGN_OR_RETURN(const Shape all, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, all));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto k = static_cast<std::int64_t>(i);
    ARGOSY_RETURN_IF_ERROR(copy_element(c, y->rows(k, k + 1), rows[i]));
  }
  return ok_status();
}

std::vector<std::int64_t> all_indices(const TensorList& list) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(list.size()));
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i);
  return indices;
}

class Stack final : public Kernel {
 public:
  Stack(DType dtype, std::int64_t count) : dtype_(dtype), count_(count) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Stack>(element_dtype(init), init.attrs.get_int("num_elements")));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const auto list, list_input(c, 0));
    ARGOSY_RETURN_IF_ERROR(check_dtype(*list, dtype_));
    if (count_ >= 0 && count_ != list->size()) {
      return invalid_argument("the list has ", list->size(), " elements, not ", count_);
    }
    ARGOSY_ASSIGN_OR_RETURN(const PartialShape given, given_shape(c.input(1)));
    return stack_elements(c, *list, all_indices(*list), given);
  }

 private:
  const DType dtype_;
  const std::int64_t count_;
};

Status gather(KernelContext& c, DType dtype) {
  ARGOSY_ASSIGN_OR_RETURN(const auto list, list_input(c, 0));
  ARGOSY_RETURN_IF_ERROR(check_dtype(*list, dtype));
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::int64_t> indices, vector_input(c.input(1), "indices"));
  for (const std::int64_t i : indices) {
    if (i < 0 || i >= list->size()) return invalid_argument("there is no element ", i, " in a list of ", list->size());
  }
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape given, given_shape(c.input(2)));
  return stack_elements(c, *list, indices, given);
}

Element row_of(const Element& rows, std::int64_t i) {
  return {rows.value.rows(i, i + 1).reshaped(rows.value.shape().removed(0)), rows.home};
}

Status from_tensor(KernelContext& c) {
  if (c.input(0).shape().rank() < 1) return invalid_argument("a scalar has no rows");
  ARGOSY_ASSIGN_OR_RETURN(PartialShape shape, given_shape(c.input(1)));
  const std::int64_t count = c.input(0).shape()[0];
  if (count > TensorList::kMaxElements) return resource_exhausted("a list of ", count, " elements");
  ARGOSY_RETURN_IF_ERROR(room_for_places(c, count, sizeof(Element)));
  ARGOSY_ASSIGN_OR_RETURN(shape, shape.merge(c.input(0).shape().removed(0)));
  ARGOSY_RETURN_IF_ERROR(check_nesting(nesting_around(c.input(0))));
  ARGOSY_ASSIGN_OR_RETURN(const Element rows, kept_element(c, c.input(0)));
  std::shared_ptr<TensorList> list = std::make_shared<TensorList>(rows.value.dtype(), std::move(shape));
  for (std::int64_t i = 0; i < count; ++i) list = list->pushed(row_of(rows, i));
  set_list(c, std::move(list));
  return ok_status();
}

// Rows of `tensor` to these places of the list.
Status scatter_rows(KernelContext& c, std::shared_ptr<TensorList> list, const Tensor& tensor, const Tensor& at) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::int64_t> indices, vector_input(at, "indices"));
  if (tensor.shape().rank() < 1 || tensor.shape()[0] != static_cast<std::int64_t>(indices.size())) {
    return invalid_argument("a tensor of shape ", tensor.shape(), " has not one row for each of ", indices.size(),
                            " indices");
  }
  ARGOSY_ASSIGN_OR_RETURN(const Element rows, kept_element(c, tensor));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::int64_t to = indices[i];
    if (to < 0 || to >= list->size())
      return invalid_argument("there is no element ", to, " in a list of ", list->size());
    Element row = row_of(rows, static_cast<std::int64_t>(i));
    ARGOSY_RETURN_IF_ERROR(list->check_element(row.value));
    list = list->with(to, std::move(row), true);
  }
  set_list(c, std::move(list));
  return ok_status();
}

// The first version has no num_elements: its list is just long enough.
Status scatter(KernelContext& c, DType dtype) {
  ARGOSY_ASSIGN_OR_RETURN(PartialShape shape, given_shape(c.input(2)));
  std::int64_t asked = -1;
  if (c.num_inputs() > 3) {
    ARGOSY_ASSIGN_OR_RETURN(asked, scalar_input(c.input(3), "num_elements"));
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::int64_t> indices, vector_input(c.input(1), "indices"));
  std::int64_t count = std::max<std::int64_t>(asked, 0);
  for (const std::int64_t i : indices) {
    if (asked < 0) count = std::max(count, std::min(i, TensorList::kMaxElements) + 1);
  }
  if (count > TensorList::kMaxElements) return resource_exhausted("a list of ", count, " elements");
  ARGOSY_RETURN_IF_ERROR(room_for_places(c, count, sizeof(Element)));
  return scatter_rows(c, TensorList(dtype, std::move(shape)).resized(count), c.input(0), c.input(1));
}

Status scatter_into(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto list, list_input(c, 0));
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::int64_t> indices, vector_input(c.input(2), "indices"));
  std::int64_t count = list->size();
  for (const std::int64_t i : indices) count = std::max(count, std::min(i, TensorList::kMaxElements) + 1);
  if (count > TensorList::kMaxElements) return resource_exhausted("a list of ", count, " elements");
  ARGOSY_RETURN_IF_ERROR(room_for_places(c, count, sizeof(Element)));
  return scatter_rows(c, list->resized(count), c.input(1), c.input(2));
}

Status length(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto list, list_input(c, 0));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::int32_t>() = static_cast<std::int32_t>(list->size());
  return ok_status();
}

Status resize(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto list, list_input(c, 0));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t count, given_count(c, 1, "size"));
  set_list(c, list->resized(count));
  return ok_status();
}

Status shape_of_elements(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto list, list_input(c, 0));
  const PartialShape& shape = list->element_shape();
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape.has_rank() ? Shape{shape.rank()} : Shape{}));
  return dispatch<IndexTypes>(y->dtype(), "TensorListElementShape", [&]<typename T>() {
    T* to = y->data<T>();
    if (!shape.has_rank()) *to = T(-1);
    for (const std::int64_t size : shape.sizes()) *to++ = static_cast<T>(size);
    return ok_status();
  });
}

// What is known of the elements' sizes behind the first; a scalar has none to be put in a row by.
Result<PartialShape> behind_first(const PartialShape& element) {
  if (!element.has_rank()) return PartialShape::unknown();
  if (element.rank() == 0) {
    return invalid_argument("Concat requires elements to be at least vectors, found scalars instead.");
  }
  return PartialShape(PartialShape::Sizes(element.sizes().begin() + 1, element.sizes().end()));
}

Result<PartialShape> merged(const PartialShape& a, const PartialShape& b) {
  if (a.compatible(b)) return a.merge(b);
  if (a.rank() != b.rank()) {
    return invalid_argument("PartialTensorShape: Incompatible ranks during merge: ", a.rank(), " vs. ", b.rank());
  }
  return invalid_argument("PartialTensorShape: Incompatible shapes during merge: ", a, " vs. ", b);
}

// The rows of an element that was not set: what shapes of elements say, else what leading_dims says.
Result<std::int64_t> rows_of_unset(std::int64_t i, std::int64_t rows_known, std::span<const std::int64_t> leading) {
  if (rows_known != PartialShape::kUnknown) return rows_known;
  if (i >= static_cast<std::int64_t>(leading.size())) {
    return invalid_argument("List contains uninitialized element at index ", i, " but leading_dims has only ",
                            leading.size(), " elements.");
  }
  const std::int64_t rows = leading[static_cast<std::size_t>(i)];
  return rows >= 0 ? Result<std::int64_t>(rows) : invalid_argument("leading_dims[", i, "] is ", rows);
}

// `leading`: the rows of elements that were not set.
Status concat_elements(KernelContext& c, DType dtype, const PartialShape& given,
                       std::span<const std::int64_t> leading) {
  ARGOSY_ASSIGN_OR_RETURN(const auto list, list_input(c, 0));
  ARGOSY_RETURN_IF_ERROR(check_dtype(*list, dtype));
  ARGOSY_ASSIGN_OR_RETURN(PartialShape row, behind_first(given));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape own, behind_first(list->element_shape()));
  ARGOSY_ASSIGN_OR_RETURN(row, merged(row, own));
  const auto first_of = [](const PartialShape& s) { return s.has_rank() ? s[0] : PartialShape::kUnknown; };
  const std::int64_t rows_given = first_of(given);
  const std::int64_t rows_known = rows_given != PartialShape::kUnknown ? rows_given : first_of(list->element_shape());
  for (std::int64_t i = 0; i < list->size(); ++i) {
    const Element set = list->at(i);
    if (!set.valid()) continue;
    ARGOSY_ASSIGN_OR_RETURN(const PartialShape its, behind_first(PartialShape(set.value.shape())));
    ARGOSY_ASSIGN_OR_RETURN(row, merged(row, its));
    if (rows_given != PartialShape::kUnknown && set.value.shape()[0] != rows_given) {
      return invalid_argument(
          "First entry of element_shape input does not match the first dim of list element at index: ", i,
          " Expected: ", rows_given, " Actual: ", set.value.shape()[0]);
    }
  }
  if (!row.is_full()) {
    return invalid_argument(
        "All except the first dimension must be fully defined when concating an empty tensor list. element_shape: ",
        given);
  }
  std::vector<std::int64_t> sizes(row.sizes().begin(), row.sizes().end());
  sizes.insert(sizes.begin(), 0);
  std::vector<Tensor> parts;
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < list->size(); ++i) {
    if (const Element set = list->at(i); set.valid()) {
      ARGOSY_ASSIGN_OR_RETURN(parts.emplace_back(), brought(c, set));
    } else {
      ARGOSY_ASSIGN_OR_RETURN(sizes[0], rows_of_unset(i, rows_known, leading));
      ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
      ARGOSY_ASSIGN_OR_RETURN(parts.emplace_back(), zero_element(c, dtype, shape));
    }
    // Rows without elements take no memory, so there may be more of them than fit a size.
    const auto sum = checked_add(total, parts.back().shape()[0]);
    if (!sum) return invalid_argument("the elements of the list have 2^63 rows or more together");
    total = *sum;
  }
  sizes[0] = total;
  ARGOSY_ASSIGN_OR_RETURN(const Shape all, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, all));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const lengths, c.output(1, {list->size()}));
  std::int64_t at = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t rows = parts[i].shape()[0];
    ARGOSY_RETURN_IF_ERROR(copy_element(c, y->rows(at, at + rows), parts[i]));
    lengths->data<std::int64_t>()[i] = rows;
    at += rows;
  }
  return ok_status();
}

Status concat(KernelContext& c, DType dtype) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape given, given_shape(c.input(1)));
  const Tensor& leading = c.input(2);
  return concat_elements(c, dtype, given, {leading.data<std::int64_t>(), static_cast<std::size_t>(leading.elements())});
}

// The first version: element_shape is an attribute.
Status concat_as_attr_says(KernelContext& c, const AttrMap& attrs) {
  return concat_elements(c, attrs.get_type("element_dtype"), attrs.get<PartialShape>("element_shape"), {});
}

Status split(KernelContext& c) {
  const Tensor& tensor = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape given, given_shape(c.input(1)));
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::int64_t> lengths, vector_input(c.input(2), "lengths"));
  if (tensor.shape().rank() < 1) return invalid_argument("a scalar cannot be split");
  std::int64_t rest = tensor.shape()[0];
  for (const std::int64_t n : lengths) {
    if (n < 0 || n > rest) return invalid_argument("lengths do not add up to ", tensor.shape()[0]);
    rest -= n;
  }
  if (rest != 0) return invalid_argument("lengths do not add up to ", tensor.shape()[0]);
  std::vector<std::int64_t> element(tensor.shape().sizes().begin(), tensor.shape().sizes().end());
  element[0] = PartialShape::kUnknown;
  ARGOSY_RETURN_IF_ERROR(check_nesting(nesting_around(tensor)));
  ARGOSY_ASSIGN_OR_RETURN(const Element rows, kept_element(c, tensor));
  std::shared_ptr<TensorList> list = std::make_shared<TensorList>(rows.value.dtype(), PartialShape(std::move(element)));
  std::int64_t at = 0;
  for (const std::int64_t n : lengths) {
    list = list->pushed({rows.value.rows(at, at + n), rows.home});
    at += n;
  }
  set_list(c, std::move(list));
  return ok_status();
}

}  // namespace

void add_kernels_cpu_list(KernelRegistry& kernels) {
  kernels.add("EmptyTensorList", "cpu", WithDtype<empty>::make);
  kernels.add("TensorListReserve", "cpu", WithDtype<reserve>::make);
  kernels.add("TensorListPushBack", "cpu", push);
  kernels.add("TensorListPopBack", "cpu", WithDtype<pop>::make);
  kernels.add("TensorListSetItem", "cpu", SetItem::make);
  kernels.add("TensorListGetItem", "cpu", WithDtype<get_item>::make);
  kernels.add("TensorListStack", "cpu", Stack::make);
  kernels.add("TensorListFromTensor", "cpu", from_tensor);
  kernels.add("TensorListLength", "cpu", length);
  kernels.add("TensorListResize", "cpu", resize);
  kernels.add("TensorListElementShape", "cpu", shape_of_elements);
  kernels.add("TensorListGather", "cpu", WithDtype<gather>::make);
  kernels.add("TensorListScatter", "cpu", WithDtype<scatter>::make);
  kernels.add("TensorListScatterV2", "cpu", WithDtype<scatter>::make);
  kernels.add("TensorListScatterIntoExistingList", "cpu", scatter_into);
  kernels.add("TensorListConcat", "cpu", AttrKernel<concat_as_attr_says>::make);
  kernels.add("TensorListConcatV2", "cpu", WithDtype<concat>::make);
  kernels.add("TensorListSplit", "cpu", split);
  add_batched_lists(kernels);
}

}  // namespace argosy
