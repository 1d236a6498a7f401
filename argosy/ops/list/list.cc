#include "argosy/ops/list/list.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/list/list_gradient.h"
#include "argosy/ops/op_rows.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// --- shapes ----------------------------------------------------------------------------------------------------------

// A shape given as a tensor: sizes, -1 where unknown; the scalar -1: nothing is known.
PartialShape given_shape(const ShapeContext& c, int i) {
  return c.input(i).rank() == 0 ? PartialShape::unknown() : c.input_as_shape(i);
}

DType element_dtype(const ShapeContext& c) { return c.attrs().get_type("element_dtype"); }

// What input `list` holds, checked against the op's element_dtype.
Result<PartialShape> element_shape(const ShapeContext& c, int list) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(list, 0).status());
  const HandleFact* fact = c.handle(list);
  if (fact == nullptr) return PartialShape::unknown();
  if (fact->dtype != element_dtype(c)) {
    return invalid_argument(c.op().name, ": a list of ", dtype_name(fact->dtype), ", not ",
                            dtype_name(element_dtype(c)));
  }
  return fact->shape;
}

void set_list(ShapeContext& c, PartialShape elements) {
  c.set_output(0, PartialShape::scalar());
  c.set_handle(0, {element_dtype(c), std::move(elements)});
}

PartialShape rows_of(std::int64_t count, const PartialShape& element) {
  if (!element.has_rank()) return PartialShape::unknown();
  std::vector<std::int64_t> sizes = element.sizes();
  sizes.insert(sizes.begin(), count);
  return PartialShape(std::move(sizes));
}

PartialShape element_of(const PartialShape& rows) {
  if (!rows.has_rank() || rows.rank() < 1) return PartialShape::unknown();
  return PartialShape(std::vector<std::int64_t>(rows.sizes().begin() + 1, rows.sizes().end()));
}

Status new_list_shape(ShapeContext& c) {
  set_list(c, given_shape(c, 0));
  return ok_status();
}

Status push_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape elements, element_shape(c, 0));
  ARGOSY_RETURN_IF_ERROR(elements.merge(c.input(1)).status());
  set_list(c, elements);
  return ok_status();
}

Status pop_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape elements, element_shape(c, 0));
  ARGOSY_ASSIGN_OR_RETURN(PartialShape element, elements.merge(given_shape(c, 1)));
  set_list(c, elements);
  c.set_output(1, std::move(element));
  return ok_status();
}

Status set_item_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape elements, element_shape(c, 0));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  ARGOSY_RETURN_IF_ERROR(elements.merge(c.input(2)).status());
  set_list(c, elements);
  return ok_status();
}

Status get_item_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape elements, element_shape(c, 0));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  ARGOSY_ASSIGN_OR_RETURN(PartialShape element, elements.merge(given_shape(c, 2)));
  c.set_output(0, std::move(element));
  return ok_status();
}

Status stack_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape elements, element_shape(c, 0));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape element, elements.merge(given_shape(c, 1)));
  const std::int64_t count = c.attrs().get_int("num_elements");
  c.set_output(0, rows_of(count < 0 ? PartialShape::kUnknown : count, element));
  return ok_status();
}

Status gather_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape elements, element_shape(c, 0));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape indices, c.with_rank(1, 1));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape element, elements.merge(given_shape(c, 2)));
  c.set_output(0, rows_of(indices[0], element));
  return ok_status();
}

Status from_tensor_shape(ShapeContext& c) {
  if (c.input(0).rank() == 0) return invalid_argument(c.op().name, ": a scalar has no rows");
  ARGOSY_ASSIGN_OR_RETURN(PartialShape element, element_of(c.input(0)).merge(given_shape(c, 1)));
  set_list(c, std::move(element));
  return ok_status();
}

Status scatter_shape(ShapeContext& c) {
  if (c.input(0).rank() == 0) return invalid_argument(c.op().name, ": a scalar has no rows");
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 1).status());
  ARGOSY_ASSIGN_OR_RETURN(PartialShape element, element_of(c.input(0)).merge(given_shape(c, 2)));
  set_list(c, std::move(element));
  return ok_status();
}

Status scatter_into_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape elements, element_shape(c, 0));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 1).status());
  ARGOSY_RETURN_IF_ERROR(elements.merge(element_of(c.input(1))).status());
  set_list(c, elements);
  return ok_status();
}

Status same_list_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  c.set_output(0, PartialShape::scalar());
  if (const HandleFact* fact = c.handle(0)) c.set_handle(0, *fact);
  return ok_status();
}

Status length_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  c.set_output(0, PartialShape::scalar());
  return ok_status();
}

Status shape_of_elements_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  if (c.handle(0) != nullptr && c.handle(0)->shape.has_rank()) c.set_output(0, PartialShape{c.handle(0)->shape.rank()});
  return ok_status();
}

// The first version says element_shape in an attribute, the second in an input.
Status concat_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(element_shape(c, 0).status());
  const PartialShape given = c.num_inputs() == 1 ? c.attrs().get<PartialShape>("element_shape") : given_shape(c, 1);
  if (given.has_rank()) c.set_output(0, rows_of(PartialShape::kUnknown, element_of(given)));
  c.set_output(1, PartialShape{PartialShape::kUnknown});
  return ok_status();
}

Status split_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 1).status());
  set_list(c, rows_of(PartialShape::kUnknown, element_of(c.input(0))));
  return ok_status();
}

// Lists of one shape, each with all elements of its partner behind its own.
Status join_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(PartialShape lists, c.input(0).merge(c.input(1)));
  HandleFact joined{element_dtype(c), PartialShape::unknown()};
  for (const int i : {0, 1}) {
    const HandleFact* const fact = c.handle(i);
    if (fact == nullptr) continue;
    if (fact->dtype != joined.dtype)
      return invalid_argument(c.op().name, ": a list of ", dtype_name(fact->dtype), ", not ", dtype_name(joined.dtype));
    ARGOSY_ASSIGN_OR_RETURN(joined.shape, joined.shape.merge(fact->shape));
  }
  c.set_output(0, std::move(lists));
  c.set_handle(0, std::move(joined));
  return ok_status();
}

// As many rows as there are lists.
Status push_each_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape lists, c.with_rank(0, 1));
  const PartialShape& rows = c.input(1);
  if (rows.has_rank() && rows.rank() == 0) return invalid_argument(c.op().name, ": a scalar has no rows");
  c.set_output(0, lists);
  if (c.handle(0) != nullptr) c.set_handle(0, *c.handle(0));
  if (!rows.has_rank() || PartialShape{rows[0]}.compatible(lists)) return ok_status();
  return invalid_argument(c.op().name, ": ", rows[0], " rows for ", lists[0], " lists");
}

// --- definitions -----------------------------------------------------------------------------------------------------

std::vector<OpRow> rows() {
  const std::string t = "element_dtype: type";
  const std::string s = "shape_type: index";
  return {
      {"EmptyTensorList",
       "A list without elements.",
       {"element_shape: shape_type", "max_num_elements: int32"},
       {"handle: variant"},
       {t, s},
       new_list_shape,
       {.blocks_gradient = true, .host_inputs = {0, 1}}},
      {"TensorListReserve",
       "A list of elements to be set, zeros until then.",
       {"element_shape: shape_type", "num_elements: int32"},
       {"handle: variant"},
       {t, s},
       new_list_shape,
       {.blocks_gradient = true, .host_inputs = {0, 1}}},
      {"TensorListPushBack",
       "The list with one element more.",
       {"input_handle: variant", "tensor: element_dtype"},
       {"output_handle: variant"},
       {t},
       push_shape,
       {.gradient = list_push_gradient}},
      {"TensorListPopBack",
       "The list without its last element, and that.",
       {"input_handle: variant", "element_shape: int32"},
       {"output_handle: variant", "tensor: element_dtype"},
       {t},
       pop_shape,
       {.gradient = list_pop_gradient, .host_inputs = {1}}},
      {"TensorListSetItem",
       "The list with another element at index.",
       {"input_handle: variant", "index: int32", "item: element_dtype"},
       {"output_handle: variant"},
       {t, "resize_if_index_out_of_bounds: bool = false"},
       set_item_shape,
       {.gradient = list_set_item_gradient, .host_inputs = {1}}},
      {"TensorListGetItem",
       "The element at index.",
       {"input_handle: variant", "index: int32", "element_shape: Tshape"},
       {"item: element_dtype"},
       {t, "Tshape: index = int32"},
       get_item_shape,
       {.gradient = list_get_item_gradient, .host_inputs = {1, 2}}},
      {"TensorListStack",
       "The elements as rows of a tensor.",
       {"input_handle: variant", "element_shape: int32"},
       {"tensor: element_dtype"},
       {t, "num_elements: int = -1"},
       stack_shape,
       {.gradient = list_stack_gradient, .host_inputs = {1}}},
      {"TensorListFromTensor",
       "The rows of a tensor as a list.",
       {"tensor: element_dtype", "element_shape: shape_type"},
       {"output_handle: variant"},
       {t, s},
       from_tensor_shape,
       {.gradient = list_from_tensor_gradient, .host_inputs = {1}}},
      {"TensorListLength",
       "How many elements there are.",
       {"input_handle: variant"},
       {"length: int32"},
       {},
       length_shape,
       {.blocks_gradient = true}},
      {"TensorListResize",
       "The list with that many elements.",
       {"input_handle: variant", "size: int32"},
       {"output_handle: variant"},
       {},
       same_list_shape,
       {.gradient = list_resize_gradient, .host_inputs = {1}}},
      {"TensorListElementShape",
       "The shape the elements have, -1 where it is not known.",
       {"input_handle: variant"},
       {"element_shape: shape_type"},
       {s},
       shape_of_elements_shape,
       {.blocks_gradient = true, .host_outputs = {0}}},
      {"TensorListGather",
       "The elements that indices name, as rows of a tensor.",
       {"input_handle: variant", "indices: int32", "element_shape: int32"},
       {"values: element_dtype"},
       {t},
       gather_shape,
       {.gradient = list_gather_gradient, .host_inputs = {1, 2}}},
      {"TensorListScatterV2",
       "A list whose elements at indices are the rows of a tensor.",
       {"tensor: element_dtype", "indices: int32", "element_shape: shape_type", "num_elements: int32"},
       {"output_handle: variant"},
       {t, s},
       scatter_shape,
       {.gradient = list_scatter_gradient, .host_inputs = {1, 2, 3}}},
      {"TensorListScatter",
       "A list, just long enough, whose elements at indices are the rows of a tensor.",
       {"tensor: element_dtype", "indices: int32", "element_shape: shape_type"},
       {"output_handle: variant"},
       {t, s},
       scatter_shape,
       {.gradient = list_scatter_gradient, .host_inputs = {1, 2}}},
      {"TensorListScatterIntoExistingList",
       "The list with the rows of a tensor at indices.",
       {"input_handle: variant", "tensor: element_dtype", "indices: int32"},
       {"output_handle: variant"},
       {t},
       scatter_into_shape,
       {.gradient = list_scatter_into_gradient, .host_inputs = {2}}},
      {"TensorListConcat",
       "The elements one after another along their first axis, and their lengths.",
       {"input_handle: variant"},
       {"tensor: element_dtype", "lengths: int64"},
       {t, "element_shape: shape = unknown"},
       concat_shape,
       {.gradient = list_concat_gradient, .host_outputs = {1}}},
      {"TensorListConcatV2",
       "The elements one after another along their first axis, and their lengths.",
       {"input_handle: variant", "element_shape: shape_type", "leading_dims: int64"},
       {"tensor: element_dtype", "lengths: int64"},
       {t, s},
       concat_shape,
       {.gradient = list_concat_gradient, .host_inputs = {1, 2}, .host_outputs = {1}}},
      {"TensorListSplit",
       "A tensor cut along its first axis into elements of these lengths.",
       {"tensor: element_dtype", "element_shape: shape_type", "lengths: int64"},
       {"output_handle: variant"},
       {t, s},
       split_shape,
       {.gradient = list_split_gradient, .host_inputs = {1, 2}}},
      {"TensorListConcatLists",
       "Each list of input_a with the elements of its partner in input_b behind its own.",
       {"input_a: variant", "input_b: variant"},
       {"output: variant"},
       {t},
       join_shape},
      {"TensorListPushBackBatch",
       "Each of a batch of lists with one element more.",
       {"input_handles: variant", "tensor: element_dtype"},
       {"output_handles: variant"},
       {t},
       push_each_shape},
  };
}

}  // namespace

static void add_list_ops(OpRegistry& ops) { add_rows(ops, rows(), {.cost = free_cost}); }

void define_list(OpRegistry& ops) {
  // A list stands for an element. What makes one has the layout of what is put in. element_shape is opened for shards.
  with_sharding(ops, add_list_ops,
                {{"TensorListPushBack", "e.., e.. -> e.."},
                 {"TensorListPopBack", "e.., . -> e.., e.."},
                 {"TensorListSetItem", "e.., ., e.. -> e.."},
                 {"TensorListGetItem", "e.., ., . -> e.."},
                 {"TensorListStack", "e.., . -> 1 e.."},
                 {"TensorListFromTensor", "1 e.., . -> e.."},
                 {"TensorListLength", "e.. -> -; equal e.."},
                 {"TensorListResize", "e.., . -> e.."},
                 {"TensorListElementShape", "e.. -> ="},
                 {"TensorListGather", "e.., t, . -> t e..; whole t"},
                 {"TensorListScatterV2", "t e.., t, ., . -> e..; whole t"},
                 {"TensorListScatter", "t e.., t, . -> e..; whole t"},
                 {"TensorListScatterIntoExistingList", "e.., t e.., t -> e..; whole t"},
                 {"TensorListConcat", "whole: an attribute says the shape of its elements"},
                 {"TensorListConcatV2", "c e.., ., . -> k e.., =; whole c k"},
                 {"TensorListSplit", "k e.., ., . -> c e..; whole c k"}},
                "whole: what is in a list has one layout");
}

}  // namespace argosy
