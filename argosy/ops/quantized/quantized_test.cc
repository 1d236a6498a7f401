#include "argosy/ops/quantized/quantized.h"

#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/testing/op_cases/op_case.h"

// The integers themselves are TensorFlow's: tests/oracle/ops/compare_ops.py holds every case against it.
namespace argosy {
namespace {

using Ints = std::vector<std::int64_t>;
constexpr DType kKinds[] = {DType::kQint8, DType::kQuint8, DType::kQint16, DType::kQuint16, DType::kQint32};

Tensor number(float v) { return Tensor::scalar(v); }

Tensor integers(DType dtype, const Shape& shape, const Ints& values) {
  Tensor t = Tensor::zeros(dtype, shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    switch (element_bytes(dtype)) {
      case 1: t.raw_as<std::uint8_t>()[i] = static_cast<std::uint8_t>(values[i]); break;
      case 2: t.raw_as<std::uint16_t>()[i] = static_cast<std::uint16_t>(values[i]); break;
      default: t.raw_as<std::uint32_t>()[i] = static_cast<std::uint32_t>(values[i]);
    }
  }
  return t;
}

// Any integers, the same for the same seed.
Tensor some(DType dtype, const Shape& shape, std::uint64_t seed = 1) {
  Ints values;
  std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back(static_cast<std::int64_t>(state >> 32));
  }
  return integers(dtype, shape, values);
}

TEST(Quantized, ThereAndBack) {
  const Tensor x = Tensor::vector<float>({-4, -1.5f, -0.26f, 0, 0.1f, 0.74f, 1, 2.5f, 9});
  const float ranges[][2] = {{-1, 1}, {0, 10}, {-3, 0.5f}, {1, 5}, {-5, -1}, {0, 0}, {2, 2}};
  for (const DType dtype : kKinds) {
    const bool wide = dtype == DType::kQint32;
    for (const char* mode : {"MIN_COMBINED", "MIN_FIRST", "SCALED"}) {
      for (const auto& [least, greatest] : ranges) {
        for (const bool narrow : {false, true}) {
          const bool scaled = mode[0] == 'S';
          if (narrow && (!scaled || greatest <= 0)) continue;  // what is left then is smaller than normal numbers
          for (const char* round : {"HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"}) {
            if (!scaled && round[5] == 'T') continue;
            check({.op = "QuantizeV2",
                   .inputs = {x, number(least), number(greatest)},
                   .attrs = {{"T", dtype}, {"mode", mode}, {"round_mode", round}, {"narrow_range", narrow}},
                   .other_dtypes = false,
                   .unlike_tensorflow = wide && mode[4] != 'F' ? "the top of 32 bits overflows to the bottom" : ""});
          }
          check({.op = "Dequantize",
                 .inputs = {some(dtype, {12}), number(least), number(greatest)},
                 .attrs = {{"mode", mode}, {"narrow_range", narrow}},
                 .other_dtypes = false});
        }
      }
    }
    check({.op = "Dequantize",
           .inputs = {some(dtype, {3, 2}), number(-2), number(6)},
           .attrs = {{"dtype", DType::kBfloat16}},
           .other_dtypes = false});
    for (const int axis : {0, 1}) {
      const Tensor least = axis == 0 ? Tensor::vector<float>({-1, 0}) : Tensor::vector<float>({-1, 0, -4});
      const Tensor greatest = axis == 0 ? Tensor::vector<float>({1, 2}) : Tensor::vector<float>({1, 2, 0.5f});
      if (!wide) {
        check({.op = "QuantizeV2",
               .inputs = {random_tensor(DType::kFloat32, {2, 3}), least, greatest},
               .attrs = {{"T", dtype}, {"axis", axis}},
               .other_dtypes = false});
      }
      check({.op = "Dequantize",
             .inputs = {some(dtype, {2, 3}), least, greatest},
             .attrs = {{"axis", axis}},
             .other_dtypes = false});
    }
  }
  check({.op = "QuantizeV2",
         .inputs = {Tensor::vector<float>({-1, 0, 1}), number(-1), number(1)},
         .attrs = {{"T", DType::kQuint8}},
         .expect = {integers(DType::kQuint8, {3}, {0, 128, 255}), number(-1), number(1)},
         .other_dtypes = false});
}

TEST(Quantized, RefusedConversions) {
  const auto refuse = [](const char* op, std::vector<Tensor> inputs, AttrMap attrs) {
    check({.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs), .error = Code::kInvalidArgument});
  };
  const Tensor x = Tensor::vector<float>({1, 2}), pair = Tensor::vector<float>({0, 0});
  refuse("QuantizeV2", {x, number(1), number(-1)}, {{"T", DType::kQuint8}});
  refuse("QuantizeV2", {x, pair, pair}, {{"T", DType::kQuint8}});
  refuse("QuantizeV2", {x, number(0), number(1)}, {{"T", DType::kQuint8}, {"round_mode", "HALF_TO_EVEN"}});
  refuse("QuantizeV2", {x, number(0), number(1)}, {{"T", DType::kQuint8}, {"axis", 0}});
  check({.op = "QuantizeV2",
         .inputs = {x, number(0), number(1)},
         .attrs = {{"T", DType::kQuint8}, {"axis", -2}},
         .error = Code::kInvalidArgument,
         .unlike_tensorflow = "TensorFlow looks at its shape in graphs alone"});
  const Tensor q = some(DType::kQint8, {2});
  refuse("Dequantize", {q, number(0), number(1)}, {{"dtype", DType::kBfloat16}, {"mode", "SCALED"}});
  refuse("Dequantize", {q, pair, number(1)}, {});
}

TEST(Quantized, OtherRanges) {
  const Tensor x = some(DType::kQint32, {5, 9});
  const float pairs[][4] = {
      {-1, 1, -1, 1}, {-100, 100, 0, 6}, {-50, 20, -3, 4}, {-1000, 1000, -0.5f, 300}, {0, 1, 0, 0}};
  for (const auto& [a, b, least, greatest] : pairs) {
    for (const DType to : {DType::kQuint8, DType::kQint8}) {
      check({.op = "Requantize",
             .inputs = {x, number(a), number(b), number(least), number(greatest)},
             .attrs = {{"out_type", to}},
             .other_dtypes = false});
    }
  }
  // Steps too small for single precision: all is nearly 0, and not NaN.
  check({.op = "Requantize",
         .inputs = {integers(DType::kQint32, {3}, {0, 1, 1 << 30}), number(0), number(1e-36f), number(-1), number(1)},
         .attrs = {{"out_type", DType::kQint8}},
         .expect = {integers(DType::kQint8, {3}, {0, 0, 0}), number(-1), number(1)},
         .other_dtypes = false});
  for (const auto& [a, b] : {std::pair{-1.0f, 1.0f}, {-100.0f, 20.0f}, {3.0f, 9.0f}, {-5.0f, -4.0f}}) {
    check({.op = "RequantizationRange", .inputs = {x, number(a), number(b)}, .other_dtypes = false});
    check({.op = "QuantizeDownAndShrinkRange",
           .inputs = {x, number(a), number(b)},
           .attrs = {{"out_type", DType::kQuint8}},
           .other_dtypes = false});
  }
  check({.op = "Requantize",
         .inputs = {x, number(0), number(1), number(1), number(2)},
         .attrs = {{"out_type", DType::kQuint8}},
         .error = Code::kInvalidArgument});
  check({.op = "RequantizationRange",
         .inputs = {Tensor::zeros(DType::kQint32, {0}), number(0), number(1)},
         .error = Code::kInvalidArgument,
         .unlike_tensorflow = "gives a range of nothing"});
}

TEST(Quantized, Products) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      for (const auto& [a, b] : {std::pair{-1.0f, 1.0f}, {-3.0f, 5.0f}, {0.0f, 1.0f}, {1.0f, 2.0f}}) {
        check({.op = "QuantizedMatMul",
               .inputs = {some(DType::kQuint8, ta ? Shape{7, 4} : Shape{4, 7}),
                          some(DType::kQuint8, tb ? Shape{5, 7} : Shape{7, 5}, 2), number(a), number(b), number(-2),
                          number(6)},
               .attrs = {{"transpose_a", ta}, {"transpose_b", tb}},
               .other_dtypes = false});
      }
    }
  }
  const Tensor two = integers(DType::kQuint8, {1, 2}, {255, 0}), column = integers(DType::kQuint8, {2, 1}, {255, 255});
  check({.op = "QuantizedMatMul",  // 255 and 0 stand for 1 and 0
         .inputs = {two, column, number(0), number(1), number(0), number(1)},
         .expect = {integers(DType::kQint32, {1, 1}, {65025})},
         .other_dtypes = false});
  const auto refuse = [&](const Tensor& b, float least, float greatest) {
    check({.op = "QuantizedMatMul",
           .inputs = {two, b, number(least), number(greatest), number(0), number(1)},
           .error = Code::kInvalidArgument});
  };
  refuse(column, 1, 0);
  refuse(column, 1, 1);
  refuse(two, 0, 1);
}

TEST(Quantized, Convolutions) {
  const Tensor x = some(DType::kQuint8, {2, 5, 4, 3});
  for (const DType kind : {DType::kQuint8, DType::kQint8}) {
    const Tensor filter = some(kind, {2, 3, 3, 2}, 2);
    for (const char* padding : {"SAME", "VALID"}) {
      for (const std::int64_t stride : {1, 2}) {
        check({.op = "QuantizedConv2D",
               .inputs = {x, filter, number(-1), number(2), number(-3), number(5)},
               .attrs = {{"strides", Ints{1, stride, stride, 1}}, {"padding", padding}},
               .other_dtypes = false,
               .unlike_tensorflow =
                   kind == DType::kQint8 ? "TensorFlow's kernel for it does nothing without oneDNN" : ""});
      }
    }
  }
  check({.op = "QuantizedConv2D",
         .inputs = {x, some(DType::kQuint8, {2, 2, 2, 2}), number(0), number(1), number(0), number(1)},
         .attrs = {{"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}},
         .error = Code::kInvalidArgument});
}

TEST(Quantized, SumsAndReLUs) {
  for (const DType kind : {DType::kQuint8, DType::kQint8}) {
    for (const auto& [a, b] : {std::pair{-1.0f, 1.0f}, {-3.0f, 5.0f}, {0.0f, 6.0f}, {-100.0f, 7.0f}}) {
      check({.op = "QuantizedBiasAdd",
             .inputs = {some(kind, {2, 3, 4}), some(kind, {4}, 2), number(a), number(b), number(-1), number(0.25f)},
             .attrs = {{"out_type", DType::kQint32}},
             .other_dtypes = false});
    }
  }
  check({.op = "QuantizedBiasAdd",
         .inputs = {some(DType::kQuint8, {4}), some(DType::kQuint8, {4}), number(0), number(1), number(0), number(1)},
         .attrs = {{"out_type", DType::kQint32}},
         .error = Code::kInvalidArgument});
  for (const char* op : {"QuantizedRelu", "QuantizedRelu6"}) {
    for (const DType kind : {DType::kQuint8, DType::kQint32}) {
      for (const auto& [a, b] :
           {std::pair{-1.0f, 1.0f}, {0.0f, 6.0f}, {-3.0f, 12.0f}, {1.0f, 2.0f}, {-5.0f, -2.0f}, {0.0f, 0.0f}}) {
        check({.op = op,
               .inputs = {some(kind, {3, 5}), number(a), number(b)},
               .attrs = {{"out_type", kind}},
               .other_dtypes = false});
      }
    }
    check({.op = op,
           .inputs = {some(DType::kQuint8, {3}), Tensor::vector<float>({0, 1}), number(1)},
           .error = Code::kInvalidArgument});
  }
}

TEST(Quantized, Pairs) {
  using Shapes = std::pair<Shape, Shape>;
  for (const char* op : {"QuantizedAdd", "QuantizedMul"}) {
    for (const auto& [x, y] : {Shapes{{4}, {4}}, {{4}, {}}, {{1}, {5}}, {{2, 3}, {3}}, {{3}, {2, 3}}, {{0}, {1}}}) {
      for (const auto& [a, b] : {std::pair{-1.0f, 1.0f}, {-3.0f, 5.0f}, {0.0f, 6.0f}, {1.0f, 7.0f}}) {
        check({.op = op,
               .inputs = {some(DType::kQuint8, x), some(DType::kQuint8, y, 2), number(a), number(b), number(-1),
                          number(0.25f)},
               .other_dtypes = false});
      }
    }
    check({.op = op,
           .inputs = {some(DType::kQuint8, {3}), some(DType::kQuint8, {2}), number(0), number(1), number(0), number(1)},
           .error = Code::kInvalidArgument});
  }
  const Tensor ends = integers(DType::kQuint8, {2}, {255, 0});  // 1 and 0
  check({.op = "QuantizedMul",
         .inputs = {ends, ends, number(0), number(1), number(0), number(1)},
         .expect = {integers(DType::kQint32, {2}, {65025, 0})},
         .other_dtypes = false});
  check({.op = "QuantizedAdd",
         .inputs = {integers(DType::kQuint8, {4}, {0, 255, 7, 128}), integers(DType::kQuint8, {4}, {3, 200, 9, 254}),
                    number(-1), number(2), number(-3), number(0.25f)},
         .expect = {integers(DType::kQint32, {4}, {-172878, 67921, -165938, 32721}), number(-49152), number(49152)},
         .other_dtypes = false});
  check({.op = "QuantizedAdd",  // 2^14 times the range is no float
         .inputs = {ends, ends, number(0), number(3e34f), number(0), number(1)},
         .error = Code::kInvalidArgument});
  for (const char* op : {"QuantizedAdd", "QuantizedMul"}) {
    check({.op = op,
           .inputs = {ends, ends, number(1), number(1), number(0), number(1)},
           .error = Code::kInvalidArgument});
  }
}

TEST(Quantized, Moved) {
  check({.op = "QuantizedReshape",
         .inputs = {some(DType::kQuint8, {2, 3}), Tensor::vector<std::int32_t>({3, -1}), number(-1), number(1)},
         .other_dtypes = false});
  check({.op = "QuantizedReshape",
         .inputs = {some(DType::kQint32, {2, 3}), Tensor::vector<std::int64_t>({6}), number(-1), number(1)},
         .other_dtypes = false});
  check({.op = "QuantizedReshape",
         .inputs = {some(DType::kQuint8, {2, 3}), Tensor::vector<std::int32_t>({4, 2}), number(-1), number(1)},
         .error = Code::kInvalidArgument});
  for (const char* op : {"QuantizedMaxPool", "QuantizedAvgPool"}) {
    for (const DType kind : {DType::kQuint8, DType::kQint8}) {
      for (const char* padding : {"SAME", "VALID"}) {
        for (const std::int64_t window : {2, 3}) {
          check({.op = op,
                 .inputs = {some(kind, {2, 5, 7, 3}), number(-1), number(2)},
                 .attrs = {{"ksize", Ints{1, window, window, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"padding", padding}},
                 .other_dtypes = false});
        }
      }
    }
    check({.op = op,
           .inputs = {some(DType::kQuint8, {5, 7, 3}), number(-1), number(2)},
           .attrs = {{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"padding", "SAME"}},
           .error = Code::kInvalidArgument});
  }
  for (const int axis : {0, 1}) {
    const Shape second = axis == 0 ? Shape{1, 3} : Shape{2, 2};
    for (const auto& [a, b] : {std::pair{-1.0f, 1.0f}, {-3.0f, 5.0f}, {1.0f, 2.0f}}) {
      check({.op = "QuantizedConcat",
             .inputs = {Tensor::scalar(axis), some(DType::kQuint8, {2, 3}), some(DType::kQuint8, second, 2), number(-1),
                        number(a), number(1), number(b)},
             .attrs = {{"N", 2}, {"T", DType::kQuint8}},
             .other_dtypes = false});
    }
    check({.op = "QuantizedConcat",
           .inputs = {Tensor::scalar(axis), some(DType::kQint32, {2, 3}), some(DType::kQint32, second, 2), number(-1),
                      number(-1), number(1), number(1)},
           .attrs = {{"N", 2}, {"T", DType::kQint32}},
           .other_dtypes = false});
  }
  check({.op = "QuantizedConcat",
         .inputs = {Tensor::scalar(2), some(DType::kQuint8, {2, 3}), some(DType::kQuint8, {2, 3}), number(0), number(0),
                    number(1), number(1)},
         .attrs = {{"N", 2}, {"T", DType::kQuint8}},
         .error = Code::kInvalidArgument});
}

// A little network: what it computes is near what it stands for.
TEST(Quantized, FromCpp) {
  Graph g;
  const Value least = constant(g, -1.0f), greatest = constant(g, 1.0f);
  const Tensor a = random_tensor(DType::kFloat32, {4, 6}), b = random_tensor(DType::kFloat32, {6, 3}, 2);
  const Quantized qa = quantize(constant(g, a), least, greatest, DType::kQuint8, "MIN_FIRST");
  const Quantized qb = quantize(constant(g, b), least, greatest, DType::kQuint8, "MIN_FIRST");
  const Value product = g.add("QuantizedMatMul", {qa.values, qb.values, qa.least, qa.greatest, qb.least, qb.greatest});
  const Value back = dequantize({product.output(0), product.output(1), product.output(2)}, "MIN_FIRST");
  const Value exact = g.add("MatMul", {constant(g, a), constant(g, b)});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto out = evaluate(g, {}, {back.endpoint(), exact.endpoint()});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], (*out)[1], 0.05), "");
}

}  // namespace
}  // namespace argosy
