// Gradients of the list ops against finite differences: a few lists each, from numbers to numbers.
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/list/list.h"
#include "argosy/testing/op_cases/gradient_case.h"

namespace argosy {
namespace {

using Values = std::vector<Value>;

Value integer(Graph& g, std::int32_t n) { return constant(g, n); }
Value integers(Graph& g, std::initializer_list<std::int32_t> n) { return constant(g, Tensor::vector<std::int32_t>(n)); }
AttrMap doubles() { return {{"element_dtype", DType::kFloat64}}; }
Tensor matrix() { return Tensor::of<double>({3, 2}, {0.5, -1, 2, 0.25, 3, -0.75}); }
Tensor row() { return Tensor::vector<double>({1.5, -0.5}); }

TEST(ListGradients, PushAndPop) {
  check_gradients({.ops = {"TensorListPushBack", "TensorListPopBack", "TensorListStack"},
                   .at = {row(), row()},
                   .f = [](Graph& g, const Values& x) {
                     Value list = tensor_list(g, DType::kFloat64, {2});
                     for (const Value& v : {x[0], x[1], g.add("Mul", {x[0], x[1]})})
                       list = tensor_list_push_back(list, v);
                     const auto [rest, last] = tensor_list_pop_back(list);
                     return Values{tensor_list_stack(rest), g.add("Mul", {last, x[0]})};
                   }});
}

TEST(ListGradients, SetAndGet) {
  check_gradients({.ops = {"TensorListSetItem", "TensorListGetItem", "TensorListFromTensor"},
                   .at = {matrix(), row()},
                   .f = [](Graph& g, const Values& x) {
                     const Value rows = tensor_list_from_tensor(x[0]);
                     const Value first = tensor_list_get_item(rows, integer(g, 0));
                     const Value set = tensor_list_set_item(rows, integer(g, 1), g.add("Mul", {first, x[1]}));
                     return Values{tensor_list_stack(set), first};
                   }});
}

TEST(ListGradients, GatherAndScatter) {
  check_gradients(
      {.ops = {"TensorListGather", "TensorListScatterV2", "TensorListScatterIntoExistingList"},
       .at = {matrix(), row()},
       .f = [](Graph& g, const Values& x) {
         const Value shape = integers(g, {2});
         const Value spread =
             g.add("TensorListScatterV2", {x[0], integers(g, {3, 0, 1}), shape, integer(g, -1)}, doubles());
         const Value one = g.add("ExpandDims", {x[1], integer(g, 0)});
         const Value both = g.add("TensorListScatterIntoExistingList", {spread, one, integers(g, {0})}, doubles());
         const Value some = g.add("TensorListGather", {both, integers(g, {3, 0}), shape}, doubles());
         return Values{g.add("Mul", {some, some}), tensor_list_stack(both)};
       }});
}

TEST(ListGradients, Resize) {
  check_gradients({.ops = {"TensorListResize"}, .at = {matrix()}, .f = [](Graph& g, const Values& x) {
                     const Value rows = tensor_list_from_tensor(x[0]);
                     const Value fewer = g.add("TensorListResize", {rows, integer(g, 2)});
                     const Value more = g.add("TensorListResize", {rows, integer(g, 4)});
                     return Values{tensor_list_stack(fewer), tensor_list_stack(more)};
                   }});
}

TEST(ListGradients, SplitAndConcat) {
  check_gradients(
      {.ops = {"TensorListSplit", "TensorListConcatV2"}, .at = {matrix()}, .f = [](Graph& g, const Values& x) {
         const Value lengths = constant(g, Tensor::vector<std::int64_t>({1, 2}));
         const Value shape = integers(g, {-1, 2});
         const Value parts = g.add("TensorListSplit", {x[0], shape, lengths}, doubles());
         const Value back = g.add("TensorListConcatV2", {parts, shape, lengths}, doubles());
         return Values{g.add("Mul", {back, back})};
       }});
}

TEST(ListGradients, ScatterAndConcatOfTheFirstVersions) {
  check_gradients(
      {.ops = {"TensorListScatter", "TensorListConcat"}, .at = {matrix()}, .f = [](Graph& g, const Values& x) {
         const Value rows = g.add("ExpandDims", {x[0], integer(g, 1)});  // each a matrix of one row
         const Value list = g.add("TensorListScatter", {rows, integers(g, {2, 0, 1}), integers(g, {1, 2})}, doubles());
         const Value all = g.add("TensorListConcat", {list}, doubles());
         return Values{g.add("Mul", {all, constant(g, Tensor::of<double>({3, 1}, {1, 10, 100}))})};
       }});
}

}  // namespace
}  // namespace argosy
