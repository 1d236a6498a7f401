#include "argosy/ops/list/list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/base/memory/host_budget.h"
#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/list/tensor_list.h"
#include "argosy/ops/list/test_nesting.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using testing::HasSubstr;

class Lists : public testing::Test {
 protected:
  Value number(std::int32_t n) { return constant(graph_, n); }
  Value numbers(std::initializer_list<float> v) { return constant(graph_, Tensor::vector<float>(v)); }
  Tensor run(Value v) {
    EXPECT_TRUE(graph_.status().ok()) << graph_.status().to_string();
    if (!graph_.status().ok()) return {};
    const auto out = evaluate(graph_, {}, {v.endpoint()});
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? (*out)[0] : Tensor();
  }
  std::string refusal(Value v) {
    EXPECT_TRUE(graph_.status().ok()) << graph_.status().to_string();
    const auto out = evaluate(graph_, {}, {v.endpoint()});
    EXPECT_FALSE(out.ok());
    return out.status().message();
  }
  Graph graph_;
};

TEST_F(Lists, GrowAndShrinkAtTheEnd) {
  const Value none = tensor_list(graph_, DType::kFloat32, {2});
  const Value one = tensor_list_push_back(none, numbers({1, 2}));
  const Value two = tensor_list_push_back(one, numbers({3, 4}));
  EXPECT_EQ(difference(run(tensor_list_stack(two)), Tensor::of<float>({2, 2}, {1, 2, 3, 4}), 0), "");
  const auto [rest, last] = tensor_list_pop_back(two);
  EXPECT_EQ(last.shape().to_string(), "[2]");
  EXPECT_EQ(difference(run(last), Tensor::vector<float>({3, 4}), 0), "");
  EXPECT_EQ(*run(tensor_list_length(rest)).data<std::int32_t>(), 1);
  // A second future of the same list leaves the first alone.
  const Value other = tensor_list_push_back(one, numbers({5, 6}));
  const Value both = graph_.add("AddV2", {tensor_list_stack(two), tensor_list_stack(other)});
  EXPECT_EQ(difference(run(both), Tensor::of<float>({2, 2}, {2, 4, 8, 10}), 0), "");
  EXPECT_THAT(refusal(tensor_list_pop_back(none).second), HasSubstr("empty list"));
}

TEST_F(Lists, SetAndGet) {
  const Value list = tensor_list_reserve(number(3), DType::kFloat32, {2});
  const Value set = tensor_list_set_item(list, number(1), numbers({1, 2}));
  EXPECT_EQ(difference(run(tensor_list_get_item(set, number(1))), Tensor::vector<float>({1, 2}), 0), "");
  EXPECT_EQ(difference(run(tensor_list_stack(set)), Tensor::of<float>({3, 2}, {0, 0, 1, 2, 0, 0}), 0), "");
  EXPECT_THAT(refusal(tensor_list_get_item(set, number(3))), HasSubstr("no element 3 in a list of 3"));
  EXPECT_THAT(refusal(tensor_list_get_item(set, number(-1))), HasSubstr("no element -1"));
  const Value grown =
      graph_.add("TensorListSetItem", {list, number(4), numbers({7, 8})}, {{"resize_if_index_out_of_bounds", true}});
  EXPECT_EQ(*run(tensor_list_length(grown)).data<std::int32_t>(), 5);
}

TEST_F(Lists, RowsOfTensors) {
  const Value list = tensor_list_from_tensor(constant(graph_, Tensor::of<float>({3, 1}, {1, 2, 3})));
  const Value picked =
      graph_.add("TensorListGather", {list, constant(graph_, Tensor::vector<std::int32_t>({2, 0})), number(-1)},
                 {{"element_dtype", DType::kFloat32}});
  EXPECT_EQ(difference(run(picked), Tensor::of<float>({2, 1}, {3, 1}), 0), "");
  const Value spread =
      graph_.add("TensorListScatterV2", {picked, constant(graph_, Tensor::vector<std::int32_t>({1, 3})),
                                         constant(graph_, Tensor::vector<std::int32_t>({1})), number(-1)});
  EXPECT_EQ(difference(run(tensor_list_stack(spread)), Tensor::of<float>({4, 1}, {0, 3, 0, 1}), 0), "");
}

TEST_F(Lists, RowsIntoAList) {
  const Value list = tensor_list_from_tensor(constant(graph_, Tensor::of<float>({2, 1}, {1, 2})));
  const Value rows = constant(graph_, Tensor::of<float>({2, 1}, {8, 9}));
  const Value set = graph_.add("TensorListScatterIntoExistingList",
                               {list, rows, constant(graph_, Tensor::vector<std::int32_t>({1, 3}))});
  EXPECT_EQ(difference(run(tensor_list_stack(set)), Tensor::of<float>({4, 1}, {1, 8, 0, 9}), 0), "");
  const Value fewer = graph_.add("TensorListResize", {set, number(2)});
  EXPECT_EQ(difference(run(tensor_list_stack(fewer)), Tensor::of<float>({2, 1}, {1, 8}), 0), "");
  const Value shape = graph_.add("TensorListElementShape", {fewer}, {{"shape_type", DType::kInt64}});
  EXPECT_EQ(difference(run(shape), Tensor::vector<std::int64_t>({1}), 0), "");
}

TEST_F(Lists, PiecesOfUnlikeLength) {
  const Value x = constant(graph_, Tensor::of<float>({3, 1}, {1, 2, 3}));
  const Value lengths = constant(graph_, Tensor::vector<std::int64_t>({1, 2, 0}));
  const Value list = graph_.add("TensorListSplit", {x, number(-1), lengths});
  const Value back =
      graph_.add("TensorListConcatV2", {list, number(-1), lengths}, {{"element_dtype", DType::kFloat32}});
  EXPECT_EQ(difference(run(back), Tensor::of<float>({3, 1}, {1, 2, 3}), 0), "");
  EXPECT_EQ(difference(run(back.output(1)), Tensor::vector<std::int64_t>({1, 2, 0}), 0), "");
}

TEST_F(Lists, WhatWasNeverSetHasLeadingRowsOfZeros) {
  const Value list = tensor_list_set_item(tensor_list_reserve(number(3), DType::kFloat32, PartialShape({-1, 2})),
                                          number(1), constant(graph_, Tensor::of<float>({1, 2}, {5, 6})));
  const auto all = [&](std::vector<std::int64_t> rows) {
    const Value leading = constant(graph_, Tensor::vector<std::int64_t>(rows));
    return graph_.add("TensorListConcatV2", {list, constant(graph_, Tensor::vector<std::int64_t>({-1, 2})), leading},
                      {{"element_dtype", DType::kFloat32}});
  };
  const Value some = all({2, 7, 0});
  EXPECT_EQ(difference(run(some), Tensor::of<float>({3, 2}, {0, 0, 0, 0, 5, 6}), 0), "");
  EXPECT_EQ(difference(run(some.output(1)), Tensor::vector<std::int64_t>({2, 1, 0}), 0), "");
  const Value known = tensor_list_reserve(number(2), DType::kFloat32, PartialShape({1, 2}));
  const Value of_known =
      graph_.add("TensorListConcatV2", {known, number(-1), constant(graph_, Tensor::vector<std::int64_t>({}))},
                 {{"element_dtype", DType::kFloat32}});
  EXPECT_EQ(difference(run(of_known), Tensor::of<float>({2, 2}, {0, 0, 0, 0}), 0), "") << "the list knows its rows";
  EXPECT_THAT(refusal(all({2})), HasSubstr("uninitialized element at index 2 but leading_dims has only 1 elements"));
  EXPECT_THAT(refusal(all({-1, 0, 0})), HasSubstr("leading_dims[0] is -1"));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Value thin = tensor_list_reserve(number(2), DType::kFloat32, PartialShape({-1, 0}));
  EXPECT_THAT(refusal(graph_.add("TensorListConcatV2",
                                 {thin, constant(graph_, Tensor::vector<std::int64_t>({-1, 0})),
                                  constant(graph_, Tensor::vector<std::int64_t>({most, 1}))},
                                 {{"element_dtype", DType::kFloat32}})),
              HasSubstr("2^63 rows or more"));
}

// Lists may hold lists: zeros and sums reach what is inside.
TEST_F(Lists, ZerosAndSumsReachInnerValues) {
  const auto around = [&](Value element) {
    return tensor_list_push_back(tensor_list(graph_, DType::kVariant, PartialShape::scalar()), element);
  };
  const auto inside = [&](Value list) {
    return graph_.add("TensorListGetItem", {list, number(0), number(-1)}, {{"element_dtype", DType::kVariant}});
  };
  const auto rows = [&](Value list) {
    return run(graph_.add("TensorListStack", {list, number(-1)}, {{"element_dtype", DType::kFloat32}}));
  };
  const Value one =
      around(tensor_list_push_back(tensor_list(graph_, DType::kFloat32, PartialShape({2})), numbers({3, 4})));
  const Value two = around(one);
  const auto zeros = [&](Value v) { return graph_.add("ZerosLike", {v}); };
  const auto doubled = [&](Value v) { return graph_.add("AddN", {v, v}); };
  const Tensor none = Tensor::of<float>({1, 2}, {0, 0}), twice = Tensor::of<float>({1, 2}, {6, 8});
  EXPECT_EQ(difference(rows(inside(zeros(one))), none, 0), "");
  EXPECT_EQ(difference(rows(inside(inside(zeros(two)))), none, 0), "");
  EXPECT_EQ(difference(rows(inside(doubled(one))), twice, 0), "");
  EXPECT_EQ(difference(rows(inside(inside(doubled(two)))), twice, 0), "");
}

// The first versions say in attributes, or not at all, what later ones say in inputs.
TEST_F(Lists, OfTheFirstVersions) {
  const Value x = constant(graph_, Tensor::of<float>({3, 1}, {1, 2, 3}));
  const Value lengths = constant(graph_, Tensor::vector<std::int64_t>({1, 2}));
  const Value list = graph_.add("TensorListSplit", {x, number(-1), lengths});
  const Value back = graph_.add("TensorListConcat", {list}, {{"element_dtype", DType::kFloat32}});
  EXPECT_EQ(difference(run(back), Tensor::of<float>({3, 1}, {1, 2, 3}), 0), "");
  EXPECT_EQ(difference(run(back.output(1)), Tensor::vector<std::int64_t>({1, 2}), 0), "");
  const Value narrow = graph_.add("TensorListConcat", {list},
                                  {{"element_dtype", DType::kFloat32}, {"element_shape", PartialShape{-1, 2}}});
  EXPECT_THAT(refusal(narrow), HasSubstr("Incompatible shapes during merge: [2] vs. [1]"));
  const Value rows = constant(graph_, Tensor::of<float>({2, 1}, {8, 9}));
  const Value spread = graph_.add("TensorListScatter", {rows, constant(graph_, Tensor::vector<std::int32_t>({3, 1})),
                                                        constant(graph_, Tensor::vector<std::int32_t>({1}))});
  EXPECT_EQ(difference(run(tensor_list_stack(spread)), Tensor::of<float>({4, 1}, {0, 9, 0, 8}), 0), "");
}

// Tensors of lists, as vectorised loops have them.
TEST_F(Lists, InBatches) {
  const auto list = [&](std::initializer_list<float> v) {
    return tensor_list_from_tensor(constant(graph_, Tensor::vector<float>(v)));
  };
  const AttrMap dtype = {{"element_dtype", DType::kFloat32}};
  const Value first = list({1, 2}), second = list({3});
  const Value joined = graph_.add("TensorListConcatLists", {first, second}, dtype);
  EXPECT_EQ(difference(run(tensor_list_stack(joined)), Tensor::vector<float>({1, 2, 3}), 0), "");
  EXPECT_EQ(difference(run(tensor_list_stack(first)), Tensor::vector<float>({1, 2}), 0), "");
  const auto elements = [&](Value lists, int i) {
    const Value one = graph_.add("Unpack", {lists}, {{"num", 2}}).output(i);
    return run(graph_.add("TensorListStack", {one, number(-1)}, dtype));
  };
  const Value both = graph_.add("Pack", {first, second}), turned = graph_.add("Pack", {second, first});
  const Value batch = graph_.add("TensorListConcatLists", {both, turned}, dtype);
  EXPECT_EQ(difference(elements(batch, 0), Tensor::vector<float>({1, 2, 3}), 0), "");
  EXPECT_EQ(difference(elements(batch, 1), Tensor::vector<float>({3, 1, 2}), 0), "");
  const Value grown = graph_.add("TensorListPushBackBatch", {both, numbers({7, 8})});
  EXPECT_EQ(difference(elements(grown, 0), Tensor::vector<float>({1, 2, 7}), 0), "");
  EXPECT_EQ(difference(elements(grown, 1), Tensor::vector<float>({3, 8}), 0), "");
}

// Each list behind the first copies all elements of the list that they share.
TEST_F(Lists, OfABatchCountInTheHostsBudget) {
  const auto limit = host_budget().with_limit(host_budget().in_use() + (16 << 20));
  const Value list = tensor_list_from_tensor(constant(graph_, Tensor::zeros(DType::kFloat32, {20'000})));
  const Value few = graph_.add("Pack", std::vector<Value>(2, list));
  const Value many = graph_.add("Pack", std::vector<Value>(64, list));
  const AttrMap dtype = {{"element_dtype", DType::kFloat32}};
  const auto code = [&](const Value& v) { return evaluate(graph_, {}, {v.endpoint()}).status().code(); };
  EXPECT_EQ(code(graph_.add("TensorListPushBackBatch", {few, numbers({1, 2})})), Code::kOk);
  EXPECT_EQ(code(graph_.add("TensorListConcatLists", {few, few}, dtype)), Code::kOk);
  const Value rows = constant(graph_, Tensor::zeros(DType::kFloat32, {64}));
  EXPECT_EQ(code(graph_.add("TensorListPushBackBatch", {many, rows})), Code::kResourceExhausted);
  EXPECT_EQ(code(graph_.add("TensorListConcatLists", {many, many}, dtype)), Code::kResourceExhausted);
}

TEST_F(Lists, InBatchesMustFit) {
  const AttrMap dtype = {{"element_dtype", DType::kFloat32}};
  const Value list = tensor_list_from_tensor(numbers({1, 2}));
  const Value open = tensor_list(graph_, DType::kFloat32, PartialShape::unknown());
  EXPECT_THAT(refusal(graph_.add("TensorListConcatLists", {list, open}, dtype)),
              HasSubstr("input_a and input_b TensorList element shapes are not identical at index 0.  Saw [] vs."));
  const Value both = graph_.add("Pack", {list, list});
  const Value rows = placeholder(graph_, DType::kFloat32, PartialShape::unknown());
  const Value grown = graph_.add("TensorListPushBackBatch", {both, rows});
  const auto refused = [&](const Tensor& t) {
    return std::string(evaluate(graph_, {{rows.endpoint(), t}}, {grown.endpoint()}).status().message());
  };
  EXPECT_THAT(refused(Tensor::vector<float>({7, 8, 9})),
              HasSubstr("Expected tensor.shape[0] == input_handles.size, but saw 3 vs. 2"));
  EXPECT_THAT(refused(Tensor::scalar(7.0f)), HasSubstr("Expected tensor to be at least a vector"));
  EXPECT_THAT(refused(Tensor::of<float>({2, 1}, {7, 8})), HasSubstr("with incompatible shape to a list at index 0"));
  graph_.add("TensorListPushBackBatch", {list, numbers({7})});
  EXPECT_EQ(graph_.status().code(), Code::kInvalidArgument);
}

// An element_shape that contradicts the elements was ignored. Results and sentences are TensorFlow's.
TEST_F(Lists, ConcatenatesOnlyWhatElementShapeAllows) {
  const Value none = tensor_list_reserve(number(0), DType::kFloat32, PartialShape::unknown());
  const auto list = [&](std::vector<std::vector<float>> rows, bool as_matrices) {
    Value l = tensor_list(graph_, DType::kFloat32, PartialShape::unknown());
    for (const auto& row : rows) {
      const auto n = static_cast<std::int64_t>(row.size());
      const Value v = constant(graph_, Tensor::vector<float>(row));
      l = tensor_list_push_back(
          l, as_matrices ? graph_.add("Reshape", {v, constant(graph_, Tensor::vector<std::int64_t>({1, n}))}) : v);
    }
    return l;
  };
  const Value vectors = list({{1, 2}, {3, 4}}, false), mixed = list({{1, 2}, {3}}, false),
              matrices = list({{1, 2}, {3, 4}}, true);
  struct ElementShapeCase {
    Value list;
    std::vector<std::int64_t> element_shape;
    const char* says;  // null: it works
  };
  const char* const scalars = "Concat requires elements to be at least vectors, found scalars instead.";
  for (const ElementShapeCase& row : std::vector<ElementShapeCase>{
           {vectors, {2}, nullptr},
           {vectors, {-1}, nullptr},
           {mixed, {-1}, nullptr},
           {matrices, {-1, 2}, nullptr},
           {matrices, {1, 2}, nullptr},
           {none, {3}, nullptr},
           {none, {-1, 2}, nullptr},
           {vectors,
            {3},
            "First entry of element_shape input does not match the first dim of list element at index: 0 "
            "Expected: 3 Actual: 2"},
           {mixed, {2}, "at index: 1 Expected: 2 Actual: 1"},
           {matrices, {2, 2}, "at index: 0 Expected: 2 Actual: 1"},
           {matrices, {2}, "PartialTensorShape: Incompatible ranks during merge: 0 vs. 1"},
           {vectors, {-1, 2}, "PartialTensorShape: Incompatible ranks during merge: 1 vs. 0"},
           {matrices, {-1, 3}, "PartialTensorShape: Incompatible shapes during merge: [3] vs. [2]"},
           {vectors, {}, scalars},
           {none, {}, scalars},
           {none, {-1, -1}, "All except the first dimension must be fully defined"}}) {
    const Value shape = constant(graph_, Tensor::vector<std::int64_t>(row.element_shape));
    const Value lengths = constant(graph_, Tensor::vector<std::int64_t>({}));
    const Value all =
        graph_.add("TensorListConcatV2", {row.list, shape, lengths}, {{"element_dtype", DType::kFloat32}});
    ASSERT_TRUE(all.valid()) << graph_.status().to_string();
    const auto out = evaluate(graph_, {}, {all.endpoint()});
    if (row.says == nullptr) {
      EXPECT_TRUE(out.ok()) << out.status().to_string();
    } else {
      EXPECT_EQ(out.status().code(), Code::kInvalidArgument);
      EXPECT_THAT(out.status().message(), HasSubstr(row.says));
    }
  }
}

TEST_F(Lists, RefuseWhatDoesNotFit) {
  const Value list = tensor_list(graph_, DType::kFloat32, PartialShape::unknown());
  EXPECT_THAT(refusal(tensor_list_stack(list)), HasSubstr("not fully known"));
  const Value unknown = placeholder(graph_, DType::kFloat32, PartialShape::unknown());
  const Value narrow = tensor_list(graph_, DType::kFloat32, {2});
  const Value pushed = tensor_list_push_back(narrow, unknown);
  const auto out = evaluate(graph_, {{unknown.endpoint(), Tensor::scalar(1.f)}}, {pushed.endpoint()});
  EXPECT_THAT(out.status().message(), HasSubstr("cannot take one of shape []"));
  EXPECT_THAT(refusal(tensor_list_reserve(number(-1), DType::kFloat32, {2})), HasSubstr("must not be negative"));
  const auto huge = evaluate(graph_, {}, {tensor_list_reserve(number(2147483647), DType::kFloat32, {2}).endpoint()});
  EXPECT_EQ(huge.status().code(), Code::kResourceExhausted);
  tensor_list_push_back(narrow, numbers({1, 2, 3}));
  EXPECT_EQ(graph_.status().code(), Code::kInvalidArgument);
}

TEST_F(Lists, CarryGradients) {
  const Value x = placeholder(graph_, DType::kFloat32, {2, 2});
  const Value rows = tensor_list_from_tensor(x);
  const Value first = tensor_list_get_item(rows, number(0));
  const Value changed = tensor_list_set_item(rows, number(1), graph_.add("Mul", {first, first}));
  const auto [rest, last] = tensor_list_pop_back(tensor_list_push_back(changed, first));
  const Value y = graph_.add("Mul", {tensor_list_stack(rest), last});
  const auto dx = gradients(graph_, {y}, {x});
  ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
  // y = [[a a, b b], [a a a, b b b]] of the first row alone
  const auto out = evaluate(graph_, {{x.endpoint(), Tensor::of<float>({2, 2}, {2, 3, 5, 7})}}, {dx[0].endpoint()});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], Tensor::of<float>({2, 2}, {16, 33, 0, 0}), 1e-6), "");
}

TEST(TensorListValue, PopsFreeWhatNobodySees) {
  const auto holders = [](const Tensor& t) { return t.buffer().owner().use_count(); };
  const Tensor element = Tensor::vector<float>({1});
  const Tensor next = Tensor::vector<float>({2});
  const auto older = TensorList(DType::kFloat32, PartialShape::unknown()).pushed({element});
  auto newer = older->pushed({next});
  newer = newer->popped(true);
  EXPECT_EQ(newer->size(), 1);
  EXPECT_EQ(holders(next), 2) << "the older list shares the store";
  auto alone = older->with(0, {element}, false);
  EXPECT_EQ(holders(element), 3);
  alone = alone->popped(true);
  EXPECT_EQ(holders(element), 2);
}

TEST_F(Lists, AreNestedOnlySoDeep) {
  const auto in_list = [&](const char* op, auto put) {
    check_nesting_of_op(op, [&](Graph& g, Value x) { return put(g, x); });
  };
  const auto variants = [](Graph& g) {
    return tensor_list_reserve(constant(g, std::int32_t{1}), DType::kVariant, PartialShape::scalar());
  };
  const auto shape = [](Graph& g) { return constant(g, std::int32_t{-1}); };
  const auto row = [](Graph& g, Value x) { return g.add("ExpandDims", {x, constant(g, std::int32_t{0})}); };
  const auto first = [](Graph& g) { return constant(g, Tensor::vector<std::int32_t>({0})); };
  in_list("TensorListPushBack", [&](Graph& g, Value x) {
    return tensor_list_push_back(tensor_list(g, DType::kVariant, PartialShape::scalar()), x);
  });
  in_list("TensorListSetItem",
          [&](Graph& g, Value x) { return tensor_list_set_item(variants(g), constant(g, std::int32_t{0}), x); });
  in_list("TensorListFromTensor", [&](Graph& g, Value x) { return tensor_list_from_tensor(row(g, x)); });
  in_list("TensorListSplit", [&](Graph& g, Value x) {
    return g.add("TensorListSplit", {row(g, x), shape(g), constant(g, Tensor::vector<std::int64_t>({1}))});
  });
  in_list("TensorListScatterV2", [&](Graph& g, Value x) {
    return g.add("TensorListScatterV2", {row(g, x), first(g), shape(g), shape(g)});
  });
  in_list("TensorListScatterIntoExistingList", [&](Graph& g, Value x) {
    return g.add("TensorListScatterIntoExistingList", {variants(g), row(g, x), first(g)});
  });
}

// A list that only grows is as deep as its elements.
TEST_F(Lists, GrowWithoutBeingNested) {
  const auto at = [](int nesting) {
    auto list = std::make_shared<TensorList>(DType::kFloat32, PartialShape::unknown());
    list->set_nesting(nesting);
    return Element{Tensor::scalar(Variant(std::move(list))), &host_allocator()};
  };
  std::shared_ptr<TensorList> list = std::make_shared<TensorList>(DType::kVariant, PartialShape::scalar());
  for (int i = 0; i < 2000; ++i) list = list->pushed(at(1 + i % 3));
  EXPECT_EQ(list->nesting(), 4);
  EXPECT_EQ(list->with(0, at(7), false)->nesting(), 8);
  EXPECT_EQ(list->resized(1)->nesting(), 4);
  EXPECT_EQ(list->popped(false)->nesting(), 4);
}

}  // namespace
}  // namespace argosy
