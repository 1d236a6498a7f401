#include "argosy/ops/softmax/softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor random(Shape shape, std::uint64_t seed = 1) { return random_tensor(DType::kFloat32, shape, seed, -3, 3); }

TEST(Softmax, Values) {
  check({.op = "Softmax",
         .inputs = {Tensor::of<float>({1, 2}, {1000, 1000})},
         .expect = {Tensor::of<float>({1, 2}, {.5, .5})}});
  check({.op = "LogSoftmax",
         .inputs = {Tensor::of<float>({2}, {0, 200})},
         .expect = {Tensor::of<float>({2}, {-200, 0})},
         .other_dtypes = false});
  check({.op = "SparseSoftmaxCrossEntropyWithLogits",
         .inputs = {Tensor::of<float>({2, 3}, {1, 1, 1, 0, 0, 100}), Tensor::vector<std::int64_t>({2, 0})},
         .expect = {Tensor::vector<float>({1.0986123f, 100}),
                    Tensor::of<float>({2, 3}, {1 / 3.f, 1 / 3.f, -2 / 3.f, -1, 0, 1})},
         .check_gradient = false});
  check({.op = "SoftmaxCrossEntropyWithLogits",
         .inputs = {Tensor::of<float>({1, 2}, {0, 0}), Tensor::of<float>({1, 2}, {3, 0.5})},
         .expect = {Tensor::vector<float>({2.4260151f}), Tensor::of<float>({1, 2}, {-2.5, 0})},
         .check_gradient = false});
}

TEST(Softmax, Shapes) {
  for (const Shape& shape :
       {Shape{1}, Shape{3, 5}, Shape{2, 3, 16}, Shape{2, 37}, Shape{4, 1}, Shape{0, 3}, Shape{2, 0}}) {
    SCOPED_TRACE(shape.to_string());
    check({.op = "Softmax", .inputs = {random(shape)}});
    check({.op = "LogSoftmax", .inputs = {random(shape)}});
  }
  check({.op = "Softmax", .inputs = {random({})}, .error = Code::kInvalidArgument});
}

// As the nodes that it stands for.
TEST(Softmax, GradientInOne) {
  for (const Shape& shape : {Shape{1}, Shape{3, 5}, Shape{2, 3, 16}, Shape{2, 300}, Shape{0, 3}, Shape{2, 0}}) {
    for (const bool logarithm : {false, true}) {
      SCOPED_TRACE(str_cat(shape, logarithm));
      const Tensor y = random_tensor(DType::kFloat32, shape, 1, logarithm ? -2 : 0, logarithm ? 0 : 0.5);
      const Tensor dy = random_tensor(DType::kFloat32, shape, 2);
      Tensor expected = Tensor::zeros(DType::kFloat32, shape);
      const std::int64_t n = shape.back();
      for (std::int64_t r = 0; n > 0 && r < y.elements() / n; ++r) {
        double sum = 0;
        for (std::int64_t i = r * n; i < (r + 1) * n; ++i) {
          sum += logarithm ? dy.data<float>()[i] : dy.data<float>()[i] * y.data<float>()[i];
        }
        for (std::int64_t i = r * n; i < (r + 1) * n; ++i) {
          const double p = y.data<float>()[i], g = dy.data<float>()[i];
          expected.data<float>()[i] = static_cast<float>(logarithm ? g - std::exp(p) * sum : (g - sum) * p);
        }
      }
      check({.op = "_SoftmaxGrad",
             .inputs = {y, dy},
             .attrs = {{"logarithm", logarithm}},
             .expect = {expected},
             .tolerance = 1e-4,
             .other_dtypes = n < 100});
    }
  }
  check({.op = "_SoftmaxGrad", .inputs = {random({2, 3}), random({3})}, .error = Code::kInvalidArgument});
  check({.op = "_SoftmaxGrad", .inputs = {random({}), random({})}, .error = Code::kInvalidArgument});
}

// Rows that sum to one: the gradient is softmax - labels whatever they are, but right only then.
Tensor probabilities(const Shape& shape) {
  Tensor p = random_tensor(DType::kFloat32, shape, 2, 0.1, 1);
  for (std::int64_t r = 0; r < shape[0]; ++r) {
    float sum = 0;
    for (std::int64_t i = 0; i < shape[1]; ++i) sum += p.data<float>()[r * shape[1] + i];
    for (std::int64_t i = 0; i < shape[1]; ++i) p.data<float>()[r * shape[1] + i] /= sum;
  }
  return p;
}

TEST(CrossEntropy, Shapes) {
  for (const std::int64_t n : {1, 3, 10, 16, 37}) {
    SCOPED_TRACE(n);
    check({.op = "SoftmaxCrossEntropyWithLogits", .inputs = {random({3, n}), probabilities({3, n})}});
    check({.op = "SparseSoftmaxCrossEntropyWithLogits",
           .inputs = {random({2, n}), Tensor::vector<std::int32_t>({0, static_cast<std::int32_t>(n - 1)})}});
  }
  for (const auto& [x, labels] : {std::pair{Shape{1, 3}, Shape{2, 3}},
                                  {Shape{2, 3}, Shape{1, 3}},
                                  {Shape{2, 3}, Shape{2, 1}},
                                  {Shape{2, 1}, Shape{1, 3}},
                                  {Shape{0, 3}, Shape{0, 3}},
                                  {Shape{2, 0}, Shape{2, 0}}}) {
    SCOPED_TRACE(str_cat(x, labels));
    Tensor p = probabilities(labels);
    if (labels[1] == 1) std::fill_n(p.data<float>(), p.elements(), 1 / 3.f);
    check({.op = "SoftmaxCrossEntropyWithLogits", .inputs = {random(x), p}});
  }
}

// Rows that fill vectors, and that do not: as float32 gives it, rounded once.
TEST(Softmax, OfBfloat16IsRoundedOnce) {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (const std::int64_t n : {1, 7, 16, 33, 200}) {
      SCOPED_TRACE(str_cat(op, " of ", n));
      const Tensor x = cast_to(random({5, n}), DType::kBfloat16);
      const OpDef& def = *builtin_ops().find(op);
      const auto got = evaluate_op(def, {}, {x}), want = evaluate_op(def, {}, {cast_to(x, DType::kFloat32)});
      ASSERT_TRUE(got.ok() && want.ok()) << got.status().to_string() << want.status().to_string();
      EXPECT_EQ(difference((*got)[0], cast_to((*want)[0], DType::kBfloat16), 4e-3), "");
    }
  }
}

TEST(CrossEntropy, Refusals) {
  const auto sparse = [](Shape x, std::initializer_list<std::int64_t> labels, const char* contains) {
    check({.op = "SparseSoftmaxCrossEntropyWithLogits",
           .inputs = {random(std::move(x)), Tensor::vector<std::int64_t>(labels)},
           .error = Code::kInvalidArgument,
           .error_contains = contains});
  };
  sparse({2, 3}, {0, 3}, "");
  sparse({2, 3}, {0, -1}, "");
  sparse({2, 3}, {0}, "1 labels for 2 rows");
  sparse({2, 0}, {0, 0}, "class");
  sparse({3}, {0}, "rank 2");
  check({.op = "SoftmaxCrossEntropyWithLogits",
         .inputs = {random({2, 3}), random({3, 3})},
         .error = Code::kInvalidArgument});
  check({.op = "SoftmaxCrossEntropyWithLogits", .inputs = {random({3}), random({3})}, .error = Code::kInvalidArgument});
}

TEST(CrossEntropy, RowsOfAnyRank) {
  Graph g;
  const Value logits = placeholder(g, DType::kFloat32, {-1, 3, 5});
  const Value loss = sparse_softmax_cross_entropy_with_logits(placeholder(g, DType::kInt32, {-1, 3}, "labels"), logits);
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  EXPECT_EQ(loss.shape().to_string(), "[?,3]");
  const auto out = evaluate(
      g, {{logits.endpoint(), random({2, 3, 5})}, {{*g.find("labels"), 0}, Tensor::zeros(DType::kInt32, {2, 3})}},
      {loss.endpoint()});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(out->at(0).shape().to_string(), "[2,3]");
}

}  // namespace
}  // namespace argosy
