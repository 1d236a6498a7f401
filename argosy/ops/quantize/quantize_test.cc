#include "argosy/ops/quantize/quantize.h"

#include <gtest/gtest.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor numbers(const Shape& shape, std::uint64_t seed = 1) {
  return random_tensor(DType::kFloat32, shape, seed, -8, 8);
}
const Tensor kLow = Tensor::scalar(-3.0f), kHigh = Tensor::scalar(5.3f);

TEST(QuantizeOps, FakeQuant) {
  for (const int bits : {2, 8, 16}) {
    for (const bool narrow : {false, true}) {
      const AttrMap attrs = {{"num_bits", bits}, {"narrow_range", narrow}};
      check({.op = "FakeQuantWithMinMaxArgs", .inputs = {numbers({40})}, .attrs = attrs, .check_gradient = false});
      check({.op = "FakeQuantWithMinMaxArgsGradient", .inputs = {numbers({40}), numbers({40}, 2)}, .attrs = attrs});
      for (const auto& [low, high] : {std::pair{-3.0f, 5.3f}, {0.5f, 4.0f}, {-7.0f, -1.0f}, {0.0f, 0.0f}}) {
        const Tensor min = Tensor::scalar(low), max = Tensor::scalar(high);
        check({.op = "FakeQuantWithMinMaxVars",
               .inputs = {numbers({40}), min, max},
               .attrs = attrs,
               .check_gradient = false});
        check({.op = "FakeQuantWithMinMaxVarsGradient",
               .inputs = {numbers({4, 10}), numbers({4, 10}, 2), min, max},
               .attrs = attrs,
               .tolerance = 1e-4});
      }
      const Tensor mins = Tensor::vector<float>({-3, -1, 0}), maxs = Tensor::vector<float>({2, 7, 4});
      check({.op = "FakeQuantWithMinMaxVarsPerChannel",
             .inputs = {numbers({2, 5, 3}), mins, maxs},
             .attrs = attrs,
             .check_gradient = false});
      check({.op = "FakeQuantWithMinMaxVarsPerChannelGradient",
             .inputs = {numbers({6, 3}), numbers({6, 3}, 2), mins, maxs},
             .attrs = attrs,
             .tolerance = 1e-4});
    }
  }
  const auto refuses = [](const char* op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
    check({.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs), .error = Code::kInvalidArgument});
  };
  refuses("FakeQuantWithMinMaxArgs", {numbers({4})}, {{"num_bits", 17}});
  refuses("FakeQuantWithMinMaxArgs", {numbers({4})}, {{"min", 3.0f}, {"max", 2.0f}});
  refuses("FakeQuantWithMinMaxVars", {numbers({4}), Tensor::vector<float>({1}), kHigh});
  refuses("FakeQuantWithMinMaxVarsPerChannel",
          {numbers({4, 3}), Tensor::vector<float>({1}), Tensor::vector<float>({2})});
}

TEST(QuantizeOps, Levels) {
  for (const bool with_sign : {true, false}) {
    for (const bool given : {true, false}) {
      AttrMap attrs = {{"signed_input", with_sign}, {"range_given", given}};
      const Tensor low = Tensor::scalar(with_sign ? -3.0f : 0.0f);
      check({.op = "QuantizeAndDequantizeV3",
             .inputs = {numbers({40}), low, kHigh, Tensor::scalar(6)},
             .attrs = attrs,
             .tolerance = 1e-4,
             .other_dtypes = false,
             .check_gradient = false});
      AttrMap first = attrs;
      first.set("input_min", with_sign ? -3.0f : 0.0f);
      first.set("input_max", 5.0f);
      check({.op = "QuantizeAndDequantize",
             .inputs = {numbers({40})},
             .attrs = first,
             .tolerance = 1e-4,
             .other_dtypes = false,
             .check_gradient = false,
             .unlike_tensorflow = "it left the op behind with GraphDef version 22"});
      for (const char* mode : {"HALF_TO_EVEN", "HALF_UP"}) {
        for (const bool narrow : {false, true}) {
          attrs.set("round_mode", std::string(mode));
          attrs.set("narrow_range", narrow);
          for (const char* op : {"QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"}) {
            check({.op = op,
                   .inputs = {numbers({40}), low, kHigh},
                   .attrs = attrs,
                   .tolerance = 1e-4,
                   .other_dtypes = false,
                   .check_gradient = false});
          }
        }
      }
    }
  }
  const Tensor lows = Tensor::vector<float>({-3, -1, -2}), highs = Tensor::vector<float>({2, 7, 4});
  check({.op = "QuantizeAndDequantizeV4",
         .inputs = {numbers({2, 3, 5}), lows, highs},
         .attrs = {{"axis", 1}, {"range_given", true}},
         .tolerance = 1e-4,
         .other_dtypes = false,
         .check_gradient = false,
         .unlike_tensorflow = "refuses limits per slice"});
  check({.op = "QuantizeAndDequantizeV4Grad", .inputs = {numbers({40}), numbers({40}, 2), kLow, kHigh}});
  check({.op = "QuantizeAndDequantizeV4Grad",
         .inputs = {numbers({4, 3}), numbers({4, 3}, 2), lows, highs},
         .attrs = {{"axis", 1}}});
  check({.op = "QuantizeAndDequantizeV2",
         .inputs = {numbers({4}), kHigh, kLow},
         .attrs = {{"range_given", true}},
         .error = Code::kInvalidArgument});
}

// Stairs have no slope: gradients are those of what the stairs stand for.
TEST(QuantizeOps, GradientsAreThoseOfTheIdentity) {
  const Tensor x = Tensor::vector<float>({-7, -2, 0.3f, 4, 7});
  Graph graph;
  const Value v = constant(graph, x), low = constant(graph, kLow), high = constant(graph, kHigh);
  const Value channel_low = constant(graph, Tensor::vector<float>({-3, -3, -3, -3, -3}));
  const Value channel_high = constant(graph, Tensor::vector<float>({5, 5, 5, 5, 5}));
  const AttrMap given = {{"range_given", true}};
  const Value six = constant(graph, 6);
  const std::vector<std::pair<Value, bool>> ys = {
      {graph.add("FakeQuantWithMinMaxArgs", {v}, {{"min", -3.0f}, {"max", 5.0f}}), true},
      {fake_quant(v, low, high), true},
      {fake_quant(v, channel_low, channel_high), true},
      {graph.add("QuantizeAndDequantizeV4", {v, low, high}, given), true},
      {graph.add("QuantizeAndDequantizeV3", {v, low, high, six}), false},
      {graph.add("QuantizeAndDequantizeV2", {v, low, high}, given), false},
      {graph.add("QuantizeAndDequantize", {v}, {{"input_min", -3.0f}, {"input_max", 5.0f}, {"range_given", true}}),
       false}};
  for (const auto& [y, clips] : ys) {
    const Value dx = gradients(graph, {y}, {v})[0];
    ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
    const auto values = evaluate(graph, {}, {dx.endpoint()});
    ASSERT_TRUE(values.ok()) << values.status().to_string();
    const float edge = clips ? 0.0f : 1.0f;
    EXPECT_EQ(difference((*values)[0], Tensor::vector<float>({edge, 1, 1, 1, edge}), 0), "") << y.node_name();
  }
}

}  // namespace
}  // namespace argosy
