#include "argosy/ops/ragged/ragged_rows.h"

#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor ints(const std::vector<std::int64_t>& v) { return Tensor::vector(v); }
Tensor i32(std::initializer_list<std::int32_t> v) { return Tensor::vector<std::int32_t>(v); }
Tensor number(std::int64_t v) { return Tensor::scalar(v); }
Tensor words(const std::vector<std::string>& v) { return Tensor::vector(v); }

void fails(const char* op, std::vector<Tensor> x, const char* why, const AttrMap& attrs = {}, std::string unlike = "") {
  check({.op = op,
         .inputs = std::move(x),
         .attrs = attrs,
         .error = Code::kInvalidArgument,
         .error_contains = why,
         .unlike_tensorflow = std::move(unlike)});
}

TEST(RaggedRows, Filled) {
  check({.op = "RaggedFillEmptyRows",
         .inputs = {ints({0, 2, 2}), i32({7, 8, 9}), number(4), Tensor::scalar(-1)},
         .expect = {ints({0, 1, 2, 2, 3}), i32({7, -1, 8, 9, -1}), Tensor::vector<bool>({false, true, false, true}),
                    ints({0, 2, 3})}});
  for (const auto& ids : {ints({0, 2, 2}), ints({2, 0, 2}), ints({3, 3, 3})}) {
    check({.op = "RaggedFillEmptyRows",
           .inputs = {ids, Tensor::vector<float>({7, 8, 9}), number(4), Tensor::scalar(-1.f)}});
  }
  check({.op = "RaggedFillEmptyRows",
         .inputs = {ints({}), words({}), number(2), Tensor::scalar("-")},
         .expect = {ints({0, 1}), words({"-", "-"}), Tensor::vector<bool>({true, true}), ints({})},
         .other_dtypes = false});
  check({.op = "RaggedFillEmptyRows",
         .inputs = {ints({}), i32({}), number(0), Tensor::scalar(1)},
         .other_dtypes = false,
         .unlike_tensorflow = "gives row numbers of shape [0,1]"});
  check_gradients({.ops = {"RaggedFillEmptyRows"},
                   .at = {Tensor::vector<double>({1, 2, 3}), Tensor::scalar(0.5)},
                   .f = [](Graph& graph, const std::vector<Value>& xs) {
                     const Value y = graph.add("RaggedFillEmptyRows", {constant(graph, ints({2, 0, 2})), xs[0],
                                                                       constant(graph, std::int64_t{4}), xs[1]});
                     return std::vector<Value>{y.output(1)};
                   }});
}

TEST(RaggedRows, FilledRefuses) {
  const auto refuses = [](Tensor ids, Tensor values, Tensor rows, Tensor fallback, const char* why) {
    fails("RaggedFillEmptyRows", {ids, values, rows, fallback}, why);
  };
  const Tensor ids = ints({0, 2, 2}), values = i32({7, 8, 9}), four = number(4), one = Tensor::scalar(-1);
  refuses(ints({0, 5, 2}), values, four, one, "indices(1, 0) is invalid: 5 >= 4");
  refuses(ints({-1, 0, 2}), values, four, one, "indices(0, 0) is invalid: -1 >= 4");
  refuses(ids, values, number(0), one, "Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = 3");
  refuses(ids, values, number(-1), one, "Expected shape dimensions to be non-negative, got -1");
  refuses(ids, values, ints({4}), one, "");
  refuses(ids, values, four, i32({1}), "");
  refuses(ints({0, 1}), values, four, one, "");
  refuses(ids, Tensor::of<std::int32_t>({3, 1}, {7, 8, 9}), four, one, "");
}

TEST(RaggedRows, FilledBack) {
  const char* op = "RaggedFillEmptyRowsGrad";
  const Tensor dy = Tensor::vector<float>({1, 2, 4, 8});
  check({.op = op, .inputs = {ints({0, 2, 1}), dy}, .expect = {Tensor::vector<float>({1, 4, 2}), Tensor::scalar(8.f)}});
  check({.op = op, .inputs = {ints({0, 0, 1}), dy}});
  check({.op = op, .inputs = {ints({}), dy}});
  fails(op, {ints({0, 7}), dy}, "Elements in reverse index must be in [0, 4) but got 7");
  fails(op, {ints({-1}), dy}, "Elements in reverse index must be in [0, 4) but got -1");
}

using Kinds = std::vector<DType>;
constexpr DType kText = DType::kString, kNumber = DType::kInt64, kSmall = DType::kInt32;

// What the inputs are: dtypes of ragged values and splits, of sparse values, of dense ones.
struct Inputs {
  Kinds ragged = {}, splits = {}, sparse = {}, dense = {};
};
AttrMap cross(const char* order, const Inputs& inputs, bool hashed = false, std::int64_t buckets = 0) {
  return {{"ragged_values_types", inputs.ragged},
          {"ragged_splits_types", inputs.splits},
          {"sparse_values_types", inputs.sparse},
          {"dense_types", inputs.dense},
          {"input_order", order},
          {"Nsparse", static_cast<std::int64_t>(inputs.sparse.size())},
          {"hashed_output", hashed},
          {"num_buckets", buckets},
          {"hash_key", std::int64_t{956888297470}},
          {"out_values_type", hashed ? DType::kInt64 : DType::kString},
          {"out_row_splits_type", DType::kInt64}};
}

TEST(RaggedRows, Crossed) {
  const Tensor abc = words({"a", "b", "c"}), splits = ints({0, 2, 3});
  const Tensor xy = Tensor::of<std::string>({2, 1}, {"x", "y"}), numbers = Tensor::of<std::int64_t>({2, 1}, {4, 5});
  const Tensor at = Tensor::of<std::int64_t>({3, 2}, {0, 0, 1, 0, 1, 1}), two = ints({2, 2});
  check({.op = "RaggedCross",
         .inputs = {abc, splits, xy},
         .attrs = cross("RD", {{kText}, {kNumber}, {}, {kText}}),
         .expect = {words({"a_X_x", "b_X_x", "c_X_y"}), splits},
         .other_dtypes = false});
  const auto is = [](std::vector<Tensor> x, const AttrMap& attrs) {
    check({.op = "RaggedCross", .inputs = std::move(x), .attrs = attrs, .other_dtypes = false});
  };
  is({abc, splits, xy}, cross("DR", {{kText}, {kNumber}, {}, {kText}}, true));
  AttrMap small = cross("DR", {{kNumber}, {kSmall}, {}, {kNumber}}, true, 100);
  small.set("out_row_splits_type", kSmall);  // its process ends where they differ
  is({ints({1, 2, 3}), i32({0, 2, 3}), numbers}, small);
  is({ints({1, -2, 3}), splits, xy}, cross("RD", {{kNumber}, {kNumber}, {}, {kText}}));
  is({ints({1, 2, 3}), splits, at, words({"p", "q", "r"}), two}, cross("SR", {{kNumber}, {kNumber}, {kText}, {}}));
  is({ints({1, 2, 3}), splits, at, ints({7, 8, 9}), two, xy},
     cross("DSR", {{kNumber}, {kNumber}, {kNumber}, {kText}}, true));
  is({ints({1, 2}), ints({0, 0, 2}), xy}, cross("RD", {{kNumber}, {kNumber}, {}, {kText}}));
}

TEST(RaggedRows, CrossedRefuses) {
  // TensorFlow's process dies of some of these.
  const char* kDies = "splits that are wrong end its process";
  const Tensor splits = ints({0, 2, 3}), three = ints({1, 2, 3});
  const auto refuses = [&](std::vector<Tensor> x, const AttrMap& attrs, const char* why) {
    fails("RaggedCross", std::move(x), why, attrs, kDies);
  };
  const Inputs ragged = {{kNumber}, {kNumber}, {}, {}}, sparse = {{}, {}, {kNumber}, {}};
  refuses({three, splits}, cross("X", ragged), "input_order");
  refuses({three, splits}, cross("RR", ragged), "input_order");
  refuses({three, splits}, cross("", ragged), "input_order");
  refuses({three, ints({0, 2, 5})}, cross("R", ragged), "row splits end at 5");
  refuses({three, ints({1, 2, 3})}, cross("R", ragged), "must start with 0");
  refuses({three, ints({0, 2, 1, 3})}, cross("R", ragged), "must ascend");
  refuses({ints({1, 2})}, cross("D", {{}, {}, {}, {kNumber}}), "rank=2");
  refuses({three, splits, Tensor::of<std::int64_t>({3, 1}, {1, 2, 3})},
          cross("RD", {{kNumber}, {kNumber}, {}, {kNumber}}), "same batch dimension size");
  refuses({Tensor::of<std::int64_t>({2, 2}, {1, 0, 0, 0}), three.rows(0, 2), ints({2, 2})}, cross("S", sparse),
          "ascend");
  refuses({Tensor::of<std::int64_t>({1, 2}, {4, 0}), ints({1}), ints({2, 2})}, cross("S", sparse), "out of bounds");
}

}  // namespace
}  // namespace argosy
