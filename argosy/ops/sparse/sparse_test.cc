#include "argosy/ops/sparse/sparse.h"

#include <gtest/gtest.h>

#include "argosy/formats/proto/serialized_tensor.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Numbers = std::vector<std::int64_t>;
Tensor ints(const Numbers& v) { return Tensor::vector(v); }
Tensor floats(const std::vector<float>& v) { return Tensor::vector(v); }
Tensor rows(std::int64_t rank, const Numbers& v) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size()) / rank, rank}, std::span<const std::int64_t>(v));
}
Tensor random(const Shape& shape, std::uint64_t seed = 1) { return random_tensor(DType::kFloat32, shape, seed, .5, 2); }

// [4, 5] with six entries in order.
const Numbers kIndices = {0, 1, 0, 4, 1, 0, 3, 0, 3, 2, 3, 3};
Tensor indices() { return rows(2, kIndices); }
Tensor values(std::uint64_t seed = 1) { return random({6}, seed); }
const Numbers kShape = {4, 5};

// In other dtypes too where what comes out is not said.
void is(const char* op, std::vector<Tensor> x, std::vector<Tensor> y = {}, const AttrMap& attrs = {}) {
  const bool open = y.empty();
  check({.op = op, .inputs = std::move(x), .attrs = attrs, .expect = std::move(y), .other_dtypes = open});
}
void fails(const char* op, std::vector<Tensor> x, const AttrMap& attrs = {}, std::string unlike = "") {
  check({.op = op,
         .inputs = std::move(x),
         .attrs = attrs,
         .error = Code::kInvalidArgument,
         .unlike_tensorflow = std::move(unlike)});
}

TEST(SparseForm, ReorderAndReshape) {
  const Numbers mixed = {3, 2, 0, 4, 1, 0, 0, 1, 3, 0, 3, 3};
  is("SparseReorder", {rows(2, mixed), values(), ints(kShape)});
  is("SparseReorder", {rows(2, {1, 1, 0, 0}), Tensor::vector<std::string>({"b", "a"}), ints({2, 2})},
     {rows(2, {0, 0, 1, 1}), Tensor::vector<std::string>({"a", "b"})});
  fails("SparseReorder", {rows(2, mixed), values(), ints({4, 4})}, {}, "does not ask whether indices are inside");
  fails("SparseReorder", {rows(2, mixed), random({5}), ints(kShape)});
  is("SparseReshape", {indices(), ints(kShape), ints({2, -1})},
     {rows(2, {0, 1, 0, 4, 0, 5, 1, 5, 1, 7, 1, 8}), ints({2, 10})});
  is("SparseReshape", {indices(), ints(kShape), ints({5, 2, 2})});
  fails("SparseReshape", {indices(), ints(kShape), ints({-1, -1})});
  fails("SparseReshape", {indices(), ints(kShape), ints({3, 7})});
  fails("SparseReshape", {indices(), ints(kShape), ints({-2, 10})});
}

TEST(SparseForm, ConcatSplitSlice) {
  const Tensor other = rows(2, {0, 0, 2, 1});
  for (const std::int64_t axis : {0, -1}) {
    const Numbers shape = axis == 0 ? Numbers{3, 5} : Numbers{4, 2};
    check({.op = "SparseConcat",
           .inputs = {indices(), other, values(), random({2}), ints(kShape), ints(shape)},
           .attrs = {{"concat_dim", axis}}});
  }
  fails("SparseConcat", {indices(), other, values(), random({2}), ints(kShape), ints({3, 4})}, {{"concat_dim", 0}});
  fails("SparseConcat", {indices(), other, values(), random({2}), ints(kShape), ints({3, 5})}, {{"concat_dim", 2}});
  for (const std::int64_t axis : {0, 1}) {
    for (const std::int64_t n : {1, 2, 3}) {
      is("SparseSplit", {Tensor::scalar(axis), indices(), values(), ints(kShape)}, {}, {{"num_split", n}});
    }
  }
  fails("SparseSplit", {Tensor::scalar(std::int64_t{0}), indices(), values(), ints(kShape)}, {{"num_split", 5}});
  fails("SparseSplit", {Tensor::scalar(std::int64_t{2}), indices(), values(), ints(kShape)}, {{"num_split", 2}});
  for (const auto& [start, size] :
       {std::pair{Numbers{0, 1}, Numbers{2, 4}}, {Numbers{1, 0}, Numbers{9, 3}}, {Numbers{4, 0}, Numbers{1, 1}}}) {
    is("SparseSlice", {indices(), values(), ints(kShape), ints(start), ints(size)});
  }
  is("SparseSliceGrad", {random({2}), indices(), ints({0, 1}), rows(2, {0, 0, 0, 3})});
  fails("SparseSlice", {indices(), values(), ints(kShape), ints({0}), ints({2, 4})});
  check({.op = "SparseSliceGrad",
         .inputs = {random({1}), indices(), ints({0, 1}), rows(2, {2, 2})},
         .error = Code::kInternal});
}

TEST(SparseForm, FillEmptyRows) {
  const Tensor d = Tensor::scalar(.3f);
  is("SparseFillEmptyRows", {indices(), values(), ints({6, 5}), d});
  is("SparseFillEmptyRows", {rows(2, {2, 1, 0, 3, 2, 0}), random({3}), ints({3, 5}), d});
  is("SparseFillEmptyRows", {rows(2, {1, 1}), Tensor::vector<std::string>({"a"}), ints({2, 2}), Tensor::scalar("-")},
     {rows(2, {0, 0, 1, 1}), Tensor::vector<std::string>({"-", "a"}), Tensor::vector<bool>({true, false}), ints({1})});
  is("SparseFillEmptyRowsGrad", {ints({2, 0}), random({4})});
  fails("SparseFillEmptyRows", {rows(2, {4, 1}), random({1}), ints({4, 5}), d});
  fails("SparseFillEmptyRows", {indices(), values(), ints(kShape), random({1})});
  fails("SparseFillEmptyRowsGrad", {ints({4}), random({4})});
}

TEST(SparseMath, MatMul) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const std::int64_t inner = ta ? 4 : 5;
      const AttrMap attrs = {{"adjoint_a", ta}, {"adjoint_b", tb}};
      const Tensor b = random(tb ? Shape{3, inner} : Shape{inner, 3}, 2);
      check({.op = "SparseTensorDenseMatMul",
             .inputs = {indices(), values(), ints(kShape), b},
             .attrs = attrs,
             .tolerance = 1e-4});
      check({.op = "SparseMatMul",
             .inputs = {random(ta ? Shape{5, 4} : Shape{4, 5}), random(tb ? Shape{3, 5} : Shape{5, 3}, 2)},
             .attrs = {{"transpose_a", ta}, {"transpose_b", tb}, {"a_is_sparse", true}},
             .check_gradient = false});
    }
  }
  fails("SparseTensorDenseMatMul", {indices(), values(), ints(kShape), random({4, 3})});
  fails("SparseTensorDenseMatMul", {rows(2, {0, 5}), random({1}), ints(kShape), random({5, 3})});
  fails("SparseTensorDenseMatMul", {rows(3, {0, 0, 0}), random({1}), ints({1, 1, 1}), random({1, 3})});
  fails("SparseMatMul", {random({2, 3}), random({2, 3})});
}

TEST(SparseMath, DenseMatMulGradient) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const AttrMap attrs = {{"transpose_a", ta}, {"transpose_b", tb}};
      // In float32, so with a long step: it is linear in each.
      check_gradients({.ops = {"SparseMatMul"},
                       .at = {cast_to(random(ta ? Shape{3, 2} : Shape{2, 3}), DType::kFloat64),
                              cast_to(random(tb ? Shape{2, 3} : Shape{3, 2}, 2), DType::kFloat64)},
                       .f =
                           [&](Graph& graph, const std::vector<Value>& xs) {
                             const Value y = graph.add(
                                 "SparseMatMul", {cast(xs[0], DType::kFloat32), cast(xs[1], DType::kFloat32)}, attrs);
                             return std::vector<Value>{cast(y, DType::kFloat64)};
                           },
                       .step = .25,
                       .tolerance = 1e-4});
    }
  }
}

TEST(SparseMath, Sums) {
  const Tensor more = rows(2, {0, 1, 0, 3, 3, 3});
  is("SparseTensorDenseAdd", {indices(), values(), ints(kShape), random({4, 5}, 3)});
  fails("SparseTensorDenseAdd", {indices(), values(), ints(kShape), random({4, 4}, 3)});
  check({.op = "SparseAdd",
         .inputs = {indices(), values(), ints(kShape), more, random({3}, 4), ints(kShape), Tensor::scalar(0.f)},
         .constant_inputs = {6}});
  is("SparseAdd",
     {rows(1, {0, 2}), ints({3, -2}), ints({3}), rows(1, {2}), ints({2}), ints({3}), Tensor::scalar(std::int64_t{1})},
     {rows(1, {0}), ints({3}), ints({3})});
  is("SparseAddGrad", {random({8}), indices(), more, rows(2, {0, 1, 0, 3, 0, 4, 1, 0, 3, 0, 3, 2, 3, 3, 3, 4})});
  for (const char* op : {"SparseSparseMaximum", "SparseSparseMinimum"}) {
    is(op, {indices(), random_tensor(DType::kFloat32, {6}), ints(kShape), more, random_tensor(DType::kFloat32, {3}, 4),
            ints(kShape)});
    fails(op, {indices(), values(), ints(kShape), more, random({3}), ints({5, 5})});
  }
  fails("SparseAdd", {indices(), values(), ints(kShape), more, random({3}), ints({5, 5}), Tensor::scalar(0.f)});
  fails("SparseAdd", {indices(), values(), ints(kShape), more, random({3}), ints(kShape), random({1})});
}

TEST(SparseMath, BesideDense) {
  for (const char* op : {"SparseDenseCwiseAdd", "SparseDenseCwiseMul", "SparseDenseCwiseDiv"}) {
    for (const Shape& shape : {Shape{4, 5}, Shape{5}, Shape{4, 1}, Shape{1}, Shape{}}) {
      is(op, {indices(), values(), ints(kShape), random(shape, 5)});
    }
    fails(op, {indices(), values(), ints(kShape), random({4})});
    fails(op, {indices(), values(), ints(kShape), random({2, 4, 5})});
  }
}

TEST(SparseMath, Reductions) {
  for (const char* op : {"SparseReduceSum", "SparseReduceMax", "SparseReduceSumSparse", "SparseReduceMaxSparse"}) {
    for (const bool keep : {false, true}) {
      for (const auto& axes : {std::vector<std::int32_t>{0}, {-1}, {0, 1}, {1, -2}}) {
        is(op, {indices(), values(), ints(kShape), Tensor::vector(axes)}, {}, {{"keep_dims", keep}});
      }
      is(op, {rows(3, {0, 0, 1, 0, 2, 1, 1, 0, 0}), random({3}), ints({2, 3, 2}), Tensor::vector<std::int32_t>({1})},
         {}, {{"keep_dims", keep}});
    }
    fails(op, {indices(), values(), ints(kShape), Tensor::vector<std::int32_t>({2})});
  }
  is("SparseSoftmax", {indices(), values(), ints(kShape)});
  is("SparseSoftmax", {rows(3, {0, 0, 0, 0, 0, 2, 1, 1, 1}), random({3}), ints({2, 2, 3})});
  fails("SparseSoftmax", {rows(1, {0}), random({1}), ints({2})});
}

TEST(SparseMath, Segments) {
  const Tensor data = random({5, 2});
  const auto i32 = [](std::initializer_list<std::int32_t> v) { return Tensor::vector<std::int32_t>(v); };
  const Tensor chosen = i32({4, 0, 0, 2}), ids = i32({0, 0, 1, 3});
  for (const std::string kind : {"Sum", "Mean", "SqrtN"}) {
    const std::string op = "SparseSegment" + kind;
    is(op.c_str(), {data, chosen, ids});
    is(op.c_str(), {random({5, 2, 3}), ints({4, 0}), ints({0, 1})});
    is((op + "WithNumSegments").c_str(), {data, chosen, ids, Tensor::scalar(6)});
    is((op + "Grad").c_str(), {random({4, 2}), chosen, ids, Tensor::scalar(5)});
    is((op + "GradV2").c_str(), {random({4, 2}), chosen, ids, Tensor::scalar(5)});
    fails(op.c_str(), {data, i32({5}), i32({0})});
    fails(op.c_str(), {data, i32({1, 1}), i32({1, 0})});
    fails(op.c_str(), {data, i32({1, 1}), i32({0})});
    fails((op + "WithNumSegments").c_str(), {data, chosen, ids, Tensor::scalar(3)});
    fails((op + "Grad").c_str(), {random({4, 2}), chosen, ids, Tensor::scalar(4)});
    fails((op + "Grad").c_str(), {random({3, 2}), chosen, ids, Tensor::scalar(5)});
  }
}

std::string bytes(const Tensor& t) { return tf::serialize_tensor(t).value_or(""); }
Tensor serialized(const std::vector<std::array<Tensor, 3>>& all) {
  Tensor t = Tensor::zeros(DType::kString, {static_cast<std::int64_t>(all.size()), 3});
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = 0; k < 3; ++k) t.data<std::string>()[3 * i + k] = bytes(all[i][k]);
  }
  return t;
}

TEST(SparseSerial, Strings) {
  is("SerializeSparse", {indices(), values(), ints(kShape)});
  is("SerializeManySparse", {indices(), values(), ints(kShape)});
  fails("SerializeManySparse", {rows(1, {0}), random({1}), ints({2})});
  const Tensor two = serialized({{rows(1, {0, 3}), floats({1, 2}), ints({4})}, {rows(1, {1}), floats({3}), ints({6})}});
  const AttrMap dtype = {{"dtype", DType::kFloat32}};
  const std::vector<Tensor> joined = {rows(2, {0, 0, 0, 3, 1, 1}), floats({1, 2, 3}), ints({2, 6})};
  is("DeserializeManySparse", {two}, joined, dtype);
  is("DeserializeSparse", {two}, joined, dtype);
  is("DeserializeSparse", {two.rows(0, 1).reshaped({3})}, {rows(1, {0, 3}), floats({1, 2}), ints({4})}, dtype);
  is("DeserializeSparse", {two.reshaped({1, 2, 3})},
     {rows(3, {0, 0, 0, 0, 0, 3, 0, 1, 1}), floats({1, 2, 3}), ints({1, 2, 6})}, dtype);
  for (const char* op : {"DeserializeManySparse", "DeserializeSparse"}) {
    fails(op, {two}, {{"dtype", DType::kInt64}});
    fails(op, {two.reshaped({3, 2})}, dtype);
    fails(op, {serialized({{ints({0}), floats({1}), ints({4})}})}, dtype);
    fails(op, {serialized({{rows(1, {0}), floats({1}), ints({4})}, {rows(2, {0, 0}), floats({1}), ints({4, 4})}})},
          dtype);
  }
}

// Runs `fetch`es of a graph with one set of resources.
std::vector<Tensor> run(const Graph& graph, const std::vector<Value>& fetch, ResourceManager& resources) {
  EXPECT_TRUE(graph.status().ok()) << graph.status().to_string();
  std::vector<Endpoint> endpoints;
  for (const Value& v : fetch) endpoints.push_back(v.endpoint());
  const auto outputs = evaluate(graph, {}, endpoints, {.resources = &resources});
  EXPECT_TRUE(outputs.ok()) << outputs.status().to_string();
  return outputs.ok() ? *outputs : std::vector<Tensor>(fetch.size());
}

TEST(SparseSerial, Variants) {
  Graph graph;
  ResourceManager resources;
  const std::vector<Value> x = {constant(graph, indices()), constant(graph, values()), constant(graph, ints(kShape))};
  const Value rows_of_x = graph.add("SerializeManySparse", x, {{"out_type", DType::kVariant}});
  const Value y = graph.add("DeserializeSparse", {rows_of_x}, {{"dtype", DType::kFloat32}});
  const auto got = run(graph, {y, y.output(1), y.output(2)}, resources);
  EXPECT_EQ(difference(got[0], indices(), 0), "");
  EXPECT_EQ(difference(got[1], values(), 0), "");
  EXPECT_EQ(difference(got[2], ints(kShape), 0), "");
}

TEST(SparseSerial, Maps) {
  Graph graph;
  ResourceManager resources;
  const std::vector<Value> x = {constant(graph, indices()), constant(graph, values()), constant(graph, ints(kShape))};
  const AttrMap named = {{"shared_name", "kept"}};
  const Value one = graph.add("AddSparseToTensorsMap", x, named);
  const auto first = run(graph, {one}, resources);
  EXPECT_EQ(first[0].to_string(), Tensor::scalar(std::int64_t{0}).to_string());
  const Value many = graph.add("AddManySparseToTensorsMap", x, named);
  const auto handles = run(graph, {many}, resources);
  EXPECT_EQ(difference(handles[0], ints({1, 2, 3, 4}), 0), "");
  const auto take = [&](const Numbers& which) {
    return graph.add("TakeManySparseFromTensorsMap", {constant(graph, ints(which))},
                     {{"shared_name", "kept"}, {"dtype", DType::kFloat32}});
  };
  const Value back = take({1, 2, 3, 4});
  const auto got = run(graph, {back, back.output(1), back.output(2)}, resources);
  EXPECT_EQ(difference(got[0], indices(), 0), "");
  EXPECT_EQ(difference(got[1], values(), 0), "");
  EXPECT_EQ(difference(got[2], ints(kShape), 0), "");
  // What was taken is gone.
  const auto again = evaluate(graph, {}, {take({1}).endpoint()}, {.resources = &resources});
  EXPECT_EQ(again.status().code(), Code::kInvalidArgument);
}

TEST(SparseBuilders, GiveShapes) {
  Graph graph;
  const SparseValue x = {constant(graph, indices()), constant(graph, values()), constant(graph, ints(kShape))};
  EXPECT_EQ(sparse_to_dense(x, constant(graph, 0.f)).shape(), PartialShape(Shape{4, 5}));
  EXPECT_EQ(sparse_dense_matmul(sparse_reorder(x), constant(graph, random({5, 3}))).shape(), PartialShape(Shape{4, 3}));
  EXPECT_EQ(sparse_softmax(x).shape(), PartialShape(Shape{6}));
}

}  // namespace
}  // namespace argosy
