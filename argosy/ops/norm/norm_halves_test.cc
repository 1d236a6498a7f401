// Normalisation of bfloat16: float32's arithmetic, rounded once.
#include <gtest/gtest.h>

#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor random(const Shape& shape, std::uint64_t seed = 1) { return random_tensor(DType::kFloat32, shape, seed, -2, 2); }
Tensor positive(const Shape& shape) { return random_tensor(DType::kFloat32, shape, 9, 0.5, 2); }

// Inputs `narrow` are bfloat16, in one run, and the same numbers as float32, in the other.
void expect_rounded_once(const std::string& op, const AttrMap& attrs, const std::vector<Tensor>& inputs,
                         const std::vector<int>& narrow, double tolerance) {
  SCOPED_TRACE(str_cat(op, " of ", inputs[0].shape()));
  std::vector<Tensor> halves = inputs, wide = inputs;
  for (const int i : narrow) {
    halves[i] = cast_to(inputs[i], DType::kBfloat16);
    wide[i] = cast_to(halves[i], DType::kFloat32);
  }
  const OpDef& def = *builtin_ops().find(op);
  const auto got = evaluate_op(def, attrs, halves), want = evaluate_op(def, attrs, wide);
  ASSERT_TRUE(got.ok() && want.ok()) << got.status().to_string() << want.status().to_string();
  for (std::size_t i = 0; i < got->size(); ++i) {
    EXPECT_EQ(difference((*got)[i], cast_to((*want)[i], (*got)[i].dtype()), tolerance), "") << "output " << i;
  }
}

TEST(LayerNorm, OfBfloat16IsRoundedOnce) {
  for (const std::int64_t n : {5, 8, 16, 32, 64, 83, 128}) {
    const Tensor x = random({40, n}), dy = random({40, n}, 2), scale = random({n}, 3), offset = random({n}, 4);
    expect_rounded_once("_LayerNorm", {}, {x, scale, offset}, {0, 1, 2}, 4e-3);
    expect_rounded_once("_LayerNormGrad", {}, {dy, x, scale}, {0, 1, 2}, 4e-3);
  }
}

TEST(BatchNorm, OfBfloat16IsRoundedOnce) {
  for (const std::int64_t n : {5, 16, 64, 83}) {
    const Tensor x = random({3, 5, 6, n}), dy = random({3, 5, 6, n}, 2), scale = positive({n});
    const Tensor offset = random({n}, 4), none = Tensor::zeros(DType::kFloat32, {0}), side = random({3, 5, 6, n}, 5);
    expect_rounded_once("FusedBatchNormV3", {{"epsilon", 0.1}}, {x, scale, offset, none, none}, {0}, 4e-3);
    const AttrMap relu = {{"epsilon", 0.1}, {"activation_mode", "Relu"}, {"num_side_inputs", 1}};
    expect_rounded_once("_FusedBatchNormEx", relu, {x, scale, offset, none, none, side}, {0, 5}, 4e-3);
    expect_rounded_once("FusedBatchNormGradV3", {{"epsilon", 0.1}}, {dy, x, scale, offset, scale, none}, {0, 1}, 4e-3);
  }
}

}  // namespace
}  // namespace argosy
