#include <gtest/gtest.h>

#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor floats(std::initializer_list<float> v) { return Tensor::vector<float>(v); }

TEST(AddN, SumsItsInputs) {
  const auto add_n = [](std::vector<Tensor> inputs) {
    const auto n = inputs.size();
    return OpCase{.op = "AddN", .inputs = std::move(inputs), .attrs = {{"N", n}}};
  };
  OpCase three = add_n({floats({1, 2}), floats({10, 20}), floats({100, 200})});
  three.expect = {floats({111, 222})};
  check(three);
  check(add_n({floats({1, 2})}));
  check(add_n({Tensor::zeros(DType::kFloat32, {0, 2}), Tensor::zeros(DType::kFloat32, {0, 2})}));
  OpCase many = add_n(std::vector<Tensor>(9, random_tensor(DType::kFloat32, {41, 101})));
  many.check_gradient = false;
  check(many);
  check(add_n({Tensor::scalar(3), Tensor::scalar(4)}));
  check(add_n(std::vector<Tensor>(10, Tensor::vector<std::complex<float>>({{1, 2}, {0.5F, -3}, {0, 7}}))));
  check(add_n(std::vector<Tensor>(3, Tensor::vector<std::complex<double>>({{1, 2}, {0.5, -3}}))));
  OpCase ragged = add_n({floats({1, 2}), floats({1, 2, 3})});
  ragged.error = Code::kInvalidArgument;
  check(ragged);
}

TEST(CheckNumerics, RefusesWhatIsNoNumber) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* op : {"CheckNumerics", "CheckNumericsV2"}) {
    const AttrMap attrs = {{"message", "weights"}};
    check({.op = op, .inputs = {floats({1, -2, 0})}, .attrs = attrs, .expect = {floats({1, -2, 0})}});
    check({.op = op, .inputs = {Tensor::zeros(DType::kFloat32, {0})}, .attrs = attrs});
    for (const float bad : {inf, -inf, nan}) {
      check({.op = op, .inputs = {floats({1, bad, 0})}, .attrs = attrs, .error = Code::kInvalidArgument});
    }
  }
  const OpDef& op = *Graph().ops().find("CheckNumerics");
  const auto out = evaluate_op(op, {{"message", "loss"}}, {floats({1, inf, nan})});
  EXPECT_EQ(out.status().id(), "ARG-NUM-001");
  EXPECT_NE(out.status().message().find("loss : Tensor had Inf and NaN values"), std::string::npos);
}

TEST(ApproximateEqual, WithinItsTolerance) {
  check({.op = "ApproximateEqual",
         .inputs = {floats({1, 1, 1}), floats({1.000001f, 1.1f, 0.9f})},
         .expect = {Tensor::vector<bool>({true, false, false})},
         .other_dtypes = false});
  check({.op = "ApproximateEqual",
         .inputs = {floats({1, 1, 1}), floats({1.25f, 1.75f, 0.5f})},
         .attrs = {{"tolerance", 0.5}},
         .expect = {Tensor::vector<bool>({true, false, true})}});
  // Farther apart than the type can say.
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  check({.op = "ApproximateEqual",
         .inputs = {Tensor::vector<std::int64_t>({0, kLeast, 5, kMost}),
                    Tensor::vector<std::int64_t>({kLeast, kMost, 5, kMost})},
         .expect = {Tensor::vector<bool>({false, false, true, true})},
         .other_dtypes = false,
         .unlike_tensorflow = "TensorFlow has no kernel of int64"});
  check({.op = "ApproximateEqual", .inputs = {floats({1}), floats({1, 2})}, .error = Code::kInvalidArgument});
}

}  // namespace
}  // namespace argosy
