// bfloat16 through vector registers: the bits that plain arithmetic in float32 gives, rounded once.
#include <gtest/gtest.h>

#include <hwy/targets.h>

#include <cmath>

#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"

namespace argosy {
namespace {

constexpr std::int64_t kPatterns = 1 << 16;

// Every bit pattern: NaN, infinities and numbers below the normal ones among them. `step` is odd: another order of
// them.
Tensor every_bfloat16(std::uint32_t step) {
  Tensor t = Tensor::zeros(DType::kBfloat16, {kPatterns});
  for (std::int64_t i = 0; i < kPatterns; ++i) {
    t.data<bfloat16>()[i] = bfloat16::from_bits(static_cast<std::uint16_t>(static_cast<std::uint32_t>(i) * step + 77));
  }
  return t;
}

std::uint16_t bits_at(const Tensor& t, std::int64_t i) {
  if (t.dtype() == DType::kBool) return t.raw_as<const bool>()[i] ? 1 : 0;
  const bfloat16 x = t.raw_as<const bfloat16>()[i];
  return std::isnan(static_cast<float>(x)) ? 0x7fc0 : x.bits;
}

void expect_reference_bits(const char* op, const AttrMap& attrs, const std::vector<Tensor>& inputs) {
  SCOPED_TRACE(str_cat(op, " of ", inputs[0].shape()));
  const OpDef& def = *builtin_ops().find(op);
  const auto got = evaluate_op(def, attrs, inputs);
  const auto want = evaluate_op(def, attrs, inputs, {.reference = true});
  ASSERT_TRUE(got.ok() && want.ok()) << got.status().to_string() << want.status().to_string();
  for (std::int64_t i = 0; i < (*want)[0].elements(); ++i) {
    ASSERT_EQ(bits_at((*got)[0], i), bits_at((*want)[0], i)) << "element " << i;
  }
}

TEST(Halves, RoundAsTheReferenceDoesOnEveryVectorUnit) {
  const Tensor x = every_bfloat16(1), y = every_bfloat16(40503);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    for (const char* op : {"Neg", "Abs", "Square", "Relu"}) expect_reference_bits(op, {}, {x});
    for (const char* op : {"Add", "Sub", "Mul", "Div", "Maximum", "Minimum", "SquaredDifference", "Equal", "NotEqual",
                           "Less", "LessEqual", "Greater", "GreaterEqual", "ReluGrad"}) {
      expect_reference_bits(op, {}, {x, y});
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(Halves, OfLengthsThatFillNoVector) {
  const Tensor x = every_bfloat16(257), y = every_bfloat16(40503);
  for (const std::int64_t n : {1, 3, 15, 17, 31, 33, 65, 127}) {
    const Tensor a(DType::kBfloat16, {n}, x.buffer()), b(DType::kBfloat16, {n}, y.buffer());
    for (const char* op : {"Add", "Mul", "ReluGrad", "Greater"}) expect_reference_bits(op, {}, {a, b});
    expect_reference_bits("Relu", {}, {a});
  }
}

}  // namespace
}  // namespace argosy
