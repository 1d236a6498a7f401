// Winograd's products against sliding windows, for every vector unit this machine has.
#include "argosy/ops/conv/winograd/winograd.h"

#include <gtest/gtest.h>

#include <hwy/targets.h>
#include <cmath>
#include <limits>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Ints = std::vector<std::int64_t>;

struct Window {
  std::int64_t batch, height, width, in, out, size;
  std::string padding = "SAME";
  Ints pads = {};
};

Shape image_of(const Window& w) { return {w.batch, w.height, w.width, w.in}; }
Shape filter_of(const Window& w) { return {w.size, w.size, w.in, w.out}; }

AttrMap attrs_of(const Window& w) {
  return {{"strides", Ints{1, 1, 1, 1}}, {"padding", w.padding}, {"explicit_paddings", w.pads}};
}

Tensor numbers(const Shape& shape, std::uint64_t seed, DType dtype = DType::kFloat32) {
  return cast_to(random_tensor(DType::kFloat32, shape, seed), dtype);
}
Tensor sizes(const Shape& shape) {
  return Tensor::vector(std::vector<std::int32_t>(shape.sizes().begin(), shape.sizes().end()));
}

// Both ways: what they differ by, or "".
std::string differs(const std::string& op, AttrMap attrs, const std::vector<Tensor>& inputs, double tolerance) {
  const OpDef& def = *builtin_ops().find(op);
  const auto slid = evaluate_op(def, attrs, inputs);
  attrs.set(kWinogradAttr, true);
  const auto got = evaluate_op(def, attrs, inputs);
  if (!slid.ok() || !got.ok()) return str_cat(slid.status().to_string(), "; ", got.status().to_string());
  return difference((*got)[0], (*slid)[0], tolerance);
}

// Edges inside tiles, channels that fill no whole panel or block, padding of every kind.
const Window kWindows[] = {
    {4, 16, 16, 32, 64, 3},
    {5, 15, 17, 48, 80, 3},
    {4, 18, 19, 96, 32, 3, "VALID"},
    {6, 14, 15, 32, 48, 3, "EXPLICIT", {0, 0, 2, 0, 1, 2, 0, 0}},
    {4, 14, 14, 32, 64, 5},
    {3, 13, 16, 80, 48, 5, "VALID"},
    {2, 12, 11, 32, 112, 5, "EXPLICIT", {0, 0, 4, 1, 0, 3, 0, 0}},
    // Filters that outweigh their images.
    {4, 8, 8, 144, 80, 3},
    {1, 15, 17, 96, 208, 3},
    {2, 9, 10, 80, 128, 5},
};

void check_all_products(DType dtype, double tolerance) {
  for (const Window& w : kWindows) {
    SCOPED_TRACE(str_cat(image_of(w), filter_of(w), " ", w.padding));
    const Tensor x = numbers(image_of(w), 1, dtype), f = numbers(filter_of(w), 2, dtype);
    const auto y = evaluate_op(*builtin_ops().find("Conv2D"), attrs_of(w), {x, f});
    ASSERT_TRUE(y.ok()) << y.status().to_string();
    const Tensor dy = numbers((*y)[0].shape(), 3, dtype);
    EXPECT_EQ(differs("Conv2D", attrs_of(w), {x, f}, tolerance), "");
    EXPECT_EQ(differs("Conv2DBackpropInput", attrs_of(w), {sizes(image_of(w)), f, dy}, tolerance), "");
    EXPECT_EQ(differs("Conv2DBackpropFilter", attrs_of(w), {x, sizes(filter_of(w)), dy}, tolerance), "");
  }
}

TEST(Winograd, MultipliesAsSlidingDoesOnEveryVectorUnit) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    check_all_products(DType::kFloat32, 1e-3);  // of sums of a thousand numbers
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(Winograd, SixteenBitFloatsAreMultipliedInThirtyTwo) {
  check_all_products(DType::kBfloat16, 0.05);
  check_all_products(DType::kFloat16, 0.01);
}

TEST(Winograd, FinishesWithBiasAndActivation) {
  const Window w{4, 15, 14, 32, 48, 5};
  for (const char* activation : {"", "Relu", "Relu6", "Elu", "LeakyRelu", "Sigmoid", "Tanh"}) {
    std::vector<std::string> ops = {"BiasAdd"};
    if (*activation != 0) ops.emplace_back(activation);
    AttrMap attrs = attrs_of(w);
    attrs.set("num_args", std::int64_t{1});
    attrs.set("fused_ops", ops);
    const std::vector<Tensor> inputs = {numbers(image_of(w), 1), numbers(filter_of(w), 2), numbers({w.out}, 3)};
    EXPECT_EQ(differs("_FusedConv2D", attrs, inputs, 1e-3), "") << activation;
  }
}

// Of pixels in a pattern of stripes and blocks, all channels are zero: background, or what a ReLU has shut.
Tensor with_blanks(Tensor image) {
  const Shape& s = image.shape();
  const auto values = image.values<float>();
  for (std::int64_t i = 0; i < image.elements(); ++i) {
    const std::int64_t pixel = i / s[3], x = pixel % s[2], y = pixel / s[2] % s[1];
    if (x < 5 || y % 9 < 6) values[static_cast<std::size_t>(i)] = 0;
  }
  return image;
}

TEST(Winograd, OutputsThatSeeZerosAloneAreZero) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    for (const Window& w : kWindows) {
      SCOPED_TRACE(str_cat(image_of(w), filter_of(w), " ", w.padding));
      const Tensor x = with_blanks(numbers(image_of(w), 1)), f = numbers(filter_of(w), 2);
      const auto y = evaluate_op(*builtin_ops().find("Conv2D"), attrs_of(w), {x, f});
      ASSERT_TRUE(y.ok()) << y.status().to_string();
      const Tensor dy = with_blanks(numbers((*y)[0].shape(), 3));
      for (const auto& [op, inputs] : {std::pair<std::string, std::vector<Tensor>>{"Conv2D", {x, f}},
                                       {"Conv2DBackpropInput", {sizes(image_of(w)), f, dy}}}) {
        AttrMap attrs = attrs_of(w);
        const auto slid = evaluate_op(*builtin_ops().find(op), attrs, inputs);
        attrs.set(kWinogradAttr, true);
        const auto got = evaluate_op(*builtin_ops().find(op), attrs, inputs);
        ASSERT_TRUE(slid.ok() && got.ok());
        int zeros = 0, kept = 0;
        for (std::int64_t i = 0; i < (*slid)[0].elements(); ++i) {
          if ((*slid)[0].data<float>()[i] != 0) continue;
          ++zeros;
          kept += (*got)[0].data<float>()[i] == 0 ? 1 : 0;
        }
        EXPECT_GT(zeros, 0) << op;
        EXPECT_EQ(kept, zeros) << op;
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(Winograd, IsDeterministicOnAnyNumberOfThreads) {
  const int before = thread_budget();
  for (const Window& w : kWindows) {
    AttrMap attrs = attrs_of(w);
    attrs.set(kWinogradAttr, true);
    const Tensor x = numbers(image_of(w), 1), f = numbers(filter_of(w), 2);
    std::vector<std::vector<Tensor>> results;
    for (const int threads : {1, 2, 3, 7}) {
      set_thread_budget(threads);
      const auto y = evaluate_op(*builtin_ops().find("Conv2D"), attrs, {x, f});
      ASSERT_TRUE(y.ok()) << y.status().to_string();
      const Tensor dy = numbers((*y)[0].shape(), 3);
      const auto dx = evaluate_op(*builtin_ops().find("Conv2DBackpropInput"), attrs, {sizes(image_of(w)), f, dy});
      const auto df = evaluate_op(*builtin_ops().find("Conv2DBackpropFilter"), attrs, {x, sizes(filter_of(w)), dy});
      ASSERT_TRUE(dx.ok() && df.ok());
      results.push_back({(*y)[0], (*dx)[0], (*df)[0]});
      for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(difference(results.back()[i], results[0][i], 0), "") << threads;
    }
  }
  set_thread_budget(before);
}

// A few images are computed another way than many, where the filter outweighs them: to the same bits.
TEST(Winograd, ImagesDoNotDependOnOthers) {
  const Window many{16, 16, 16, 96, 112, 3}, few{4, 16, 16, 96, 112, 3};
  AttrMap attrs = attrs_of(many);
  attrs.set(kWinogradAttr, true);
  const Tensor x = numbers(image_of(many), 1), f = numbers(filter_of(many), 2), dy = numbers({16, 16, 16, 112}, 3);
  const OpDef &forward = *builtin_ops().find("Conv2D"), &backward = *builtin_ops().find("Conv2DBackpropInput");
  const auto y = evaluate_op(forward, attrs, {x, f}), of_few = evaluate_op(forward, attrs, {x.rows(4, 8), f});
  ASSERT_TRUE(y.ok() && of_few.ok());
  EXPECT_EQ(difference((*of_few)[0], (*y)[0].rows(4, 8), 0), "");
  const auto dx = evaluate_op(backward, attrs, {sizes(image_of(many)), f, dy});
  const auto dx_of_few = evaluate_op(backward, attrs, {sizes(image_of(few)), f, dy.rows(4, 8)});
  ASSERT_TRUE(dx.ok() && dx_of_few.ok());
  EXPECT_EQ(difference((*dx_of_few)[0], (*dx)[0].rows(4, 8), 0), "");
}

// One number that is not finite: sliding spoils the outputs whose windows see it, Winograd's products those of the
// tiles that see it, and nothing else.
TEST(Winograd, SpoilsTilesByWhatIsNotFinite) {
  const Window w{4, 16, 16, 32, 64, 3};
  AttrMap attrs = attrs_of(w), by_tiles = attrs;
  by_tiles.set(kWinogradAttr, true);
  const OpDef& conv = *builtin_ops().find("Conv2D");
  const Tensor x = numbers(image_of(w), 1), f = numbers(filter_of(w), 2);
  const auto whole = evaluate_op(conv, by_tiles, {x, f});
  ASSERT_TRUE(whole.ok());
  const auto at = [&](std::int64_t image, std::int64_t row, std::int64_t column) {
    return (image * w.height + row) * w.width + column;
  };
  // Outputs [4t, 4t + 4) are of inputs [4t - 1, 4t + 5).
  const auto tile_sees = [](std::int64_t output, std::int64_t input) {
    return input >= output / 4 * 4 - 1 && input < output / 4 * 4 + 5;
  };
  for (const float number : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const auto& [row, column] : {std::pair<std::int64_t, std::int64_t>{5, 6}, {8, 3}, {0, 15}}) {
      const Tensor spoilt = x.clone();
      spoilt.data<float>()[at(1, row, column) * w.in + 7] = number;
      const auto slid = evaluate_op(conv, attrs, {spoilt, f}), got = evaluate_op(conv, by_tiles, {spoilt, f});
      ASSERT_TRUE(slid.ok() && got.ok());
      int beyond = 0;
      for (std::int64_t i = 0; i < (*got)[0].elements(); ++i) {
        const std::int64_t pixel = i / w.out, out_row = pixel / w.width % w.height, out_column = pixel % w.width;
        const bool seen = pixel / (w.width * w.height) == 1 && tile_sees(out_row, row) && tile_sees(out_column, column);
        const bool finite = std::isfinite((*got)[0].data<float>()[i]);
        EXPECT_FALSE(finite && !std::isfinite((*slid)[0].data<float>()[i])) << i;
        ASSERT_TRUE(seen || (*got)[0].data<float>()[i] == (*whole)[0].data<float>()[i]) << i;
        beyond += !finite && std::isfinite((*slid)[0].data<float>()[i]) ? 1 : 0;
      }
      EXPECT_GT(beyond, 0) << "as local as sliding: say so in docs/tensorflow.md";
    }
  }
  // In the filter: all outputs of its channel, and no others, as where windows slide.
  const Tensor spoilt = f.clone();
  spoilt.data<float>()[(4 * w.in + 3) * w.out + 9] = std::numeric_limits<float>::quiet_NaN();
  const auto got = evaluate_op(conv, by_tiles, {x, spoilt});
  ASSERT_TRUE(got.ok());
  for (std::int64_t i = 0; i < (*got)[0].elements(); ++i) {
    ASSERT_EQ(std::isnan((*got)[0].data<float>()[i]), i % w.out == 9) << i;
  }
}

TEST(Winograd, TakesWhatItsProductsCan) {
  const auto pays = [](const Window& w) {
    const ConvAttrs attrs = read_conv("Conv2D", attrs_of(w)).value();
    return winograd_pays(attrs, conv_geometry(attrs, image_of(w), filter_of(w)).value());
  };
  for (const Window& w : kWindows) EXPECT_TRUE(pays(w)) << str_cat(image_of(w), filter_of(w));
  EXPECT_FALSE(pays({4, 16, 16, 32, 64, 3, "EXPLICIT", {0, 0, 3, 0, 0, 0, 0, 0}}));  // padding beyond the window
  EXPECT_FALSE(pays({4, 16, 16, 24, 64, 3}));
  EXPECT_FALSE(pays({3, 16, 16, 64, 64, 3}));  // few tiles, and a filter too small to be worth a way of its own
  EXPECT_FALSE(pays({1, 12, 16, 128, 128, 3}));
  EXPECT_FALSE(pays({4, 16, 16, 32, 64, 4}));
}

}  // namespace
}  // namespace argosy
