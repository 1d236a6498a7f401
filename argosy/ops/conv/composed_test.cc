#include "argosy/ops/conv/composed.h"

#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using List = std::vector<std::int64_t>;
Tensor numbers(const Shape& shape, std::uint64_t seed = 1) { return random_tensor(DType::kFloat32, shape, seed); }
Tensor pads(std::initializer_list<std::int32_t> v) {
  return Tensor::of<std::int32_t>({static_cast<std::int64_t>(v.size()) / 2, 2}, v);
}
const Tensor kX = numbers({2, 5, 6, 4}), kF = numbers({3, 3, 4, 8}, 2);
const List kOnes = {1, 1, 1, 1};

void fails(const char* op, std::vector<Tensor> x, const AttrMap& attrs, const char* why, std::string unlike = "") {
  check({.op = op,
         .inputs = std::move(x),
         .attrs = attrs,
         .error = Code::kInvalidArgument,
         .error_contains = why,
         .unlike_tensorflow = std::move(unlike)});
}

TEST(ComposedConv, AnyBatch) {
  const auto is = [](std::vector<Tensor> x, const AttrMap& attrs, std::string unlike = "") {
    check({.op = "Conv",
           .inputs = std::move(x),
           .attrs = attrs,
           .tolerance = 1e-4,
           .other_dtypes = false,
           .unlike_tensorflow = std::move(unlike)});
  };
  is({kX, kF}, {{"strides", kOnes}, {"padding", "SAME"}});
  is({kX, kF}, {{"strides", List{1, 2, 2, 1}}, {"padding", "VALID"}});
  is({kX, kF}, {{"strides", kOnes}, {"padding", "SAME"}, {"dilations", List{1, 2, 2, 1}}});
  is({kX, kF}, {{"strides", kOnes}, {"padding", "EXPLICIT"}, {"explicit_paddings", List{0, 0, 1, 2, 0, 1, 0, 0}}});
  is({numbers({2, 3, 5, 6, 4}), kF}, {{"strides", kOnes}, {"padding", "SAME"}, {"batch_dims", 2}});
  is({numbers({2, 3, 5, 6, 4}), numbers({2, 3, 3, 4, 8})}, {{"strides", List{1, 1, 1, 1, 1}}, {"padding", "SAME"}});
  is({numbers({5, 6, 4}), kF}, {{"strides", kOnes}, {"padding", "SAME"}, {"batch_dims", 0}});
  is({kX, numbers({3, 3, 2, 8})}, {{"strides", kOnes}, {"padding", "SAME"}, {"groups", 2}}, "has no groups here");
  is({numbers({2, 4, 5, 6}), kF}, {{"strides", kOnes}, {"padding", "SAME"}, {"data_format", "CHANNELS_FIRST"}});
}

TEST(ComposedConv, Integers) {
  const auto whole = [](const Shape& shape, std::uint64_t seed) {
    return cast_to(random_tensor(DType::kFloat64, shape, seed, -100, 100), DType::kInt32);
  };
  const auto is = [&](const Shape& x, const Shape& f, const AttrMap& attrs, std::string unlike = "") {
    check({.op = "Conv",
           .inputs = {whole(x, 1), whole(f, 2)},
           .attrs = attrs,
           .other_dtypes = false,
           .unlike_tensorflow = std::move(unlike)});
  };
  check({.op = "Conv",
         .inputs = {Tensor::of<std::int32_t>({1, 1, 3, 1}, {1, 2, 1 << 30}),
                    Tensor::of<std::int32_t>({1, 2, 1, 1}, {10, 4})},
         .attrs = {{"strides", kOnes}, {"padding", "VALID"}},
         .expect = {Tensor::of<std::int32_t>({1, 1, 2, 1}, {18, 20})},
         .other_dtypes = false});
  is({2, 5, 6, 4}, {3, 3, 4, 8}, {{"strides", kOnes}, {"padding", "SAME"}});
  is({2, 5, 6, 4}, {3, 2, 4, 8}, {{"strides", List{1, 2, 3, 1}}, {"padding", "SAME"}});
  is({2, 7, 6, 4}, {3, 2, 4, 8}, {{"strides", kOnes}, {"padding", "VALID"}, {"dilations", List{1, 2, 3, 1}}});
  is({2, 5, 6, 4}, {3, 3, 4, 8},
     {{"strides", kOnes}, {"padding", "EXPLICIT"}, {"explicit_paddings", List{0, 0, 1, 2, 0, 1, 0, 0}}});
  is({2, 2, 5, 6, 4}, {3, 3, 4, 8}, {{"strides", kOnes}, {"padding", "SAME"}, {"batch_dims", 2}});
  is({2, 3, 5, 6, 4}, {2, 3, 3, 4, 8}, {{"strides", List{1, 1, 2, 1, 1}}, {"padding", "SAME"}});
  is({2, 5, 6, 4}, {3, 3, 2, 8}, {{"strides", kOnes}, {"padding", "SAME"}, {"groups", 2}}, "has no groups here");
  is({2, 4, 5, 6}, {3, 3, 4, 8}, {{"strides", kOnes}, {"padding", "SAME"}, {"data_format", "CHANNELS_FIRST"}},
     "has no CPU kernel for channels first");
}

TEST(ComposedConv, AnyBatchRefuses) {
  const auto refuses = [](std::vector<Tensor> x, AttrMap attrs, const char* why) {
    attrs.set("padding", "SAME");
    if (attrs.find("strides") == nullptr) attrs.set("strides", kOnes);
    fails("Conv", std::move(x), attrs, why);
  };
  refuses({numbers({2, 3, 4}), numbers({2, 4, 8})}, {{"strides", List{1, 1, 1}}},
          "The filter must be rank 4 or 5 but got 3");
  refuses({kX, kF}, {{"batch_dims", -1}}, "The input must have 2 or 3 spatial dimensions but got 4");
  refuses({kX, kF}, {{"strides", List{1, 1}}}, "Sliding window strides field must specify 4 dimensions");
  refuses({kX, kF}, {{"dilations", List{1, 1}}}, "Dilation rates field must specify4dimensions");
  refuses({kX, kF}, {{"strides", List{2, 1, 1, 1}}}, "strides in the batch and depth dimensions");
  refuses({kX, kF}, {{"dilations", List{1, 1, 1, 2}}}, "dilation rates in the batch and depth dimensions");
  refuses({kX, kF}, {{"batch_dims", std::numeric_limits<std::int64_t>::max()}}, "2 or 3 spatial dimensions");
}

TEST(ComposedConv, Padded) {
  // Of TensorFlow's fused op only the first image is what its MirrorPad and Conv2D give.
  const std::string kFirstOnly = "has other numbers for every image but the first than its own MirrorPad and Conv2D";
  const Tensor kOne = numbers({1, 5, 6, 4});
  const AttrMap attrs = {{"mode", "REFLECT"}, {"strides", kOnes}, {"padding", "VALID"}};
  const Tensor by = pads({0, 0, 1, 1, 2, 1, 0, 0});
  for (const char* mode : {"REFLECT", "SYMMETRIC"}) {
    check({.op = "FusedPadConv2D",
           .inputs = {kX, by, kF},
           .attrs = {{"mode", mode}, {"strides", List{1, 2, 2, 1}}, {"padding", "SAME"}},
           .tolerance = 1e-4,
           .unlike_tensorflow = kFirstOnly});
    check({.op = "FusedPadConv2D",
           .inputs = {kOne, by, kF},
           .attrs = {{"mode", mode}, {"strides", List{1, 2, 2, 1}}, {"padding", "SAME"}},
           .tolerance = 1e-4});
    for (const bool corners : {false, true}) {
      check({.op = "FusedResizeAndPadConv2D",
             .inputs = {kOne, Tensor::vector<std::int32_t>({7, 9}), by, kF},
             .attrs = {{"mode", mode}, {"strides", kOnes}, {"padding", "VALID"}, {"resize_align_corners", corners}},
             .tolerance = 1e-4,
             .other_dtypes = false});
    }
  }
  const auto refuses = [&](Tensor paddings, const char* why, Tensor f = kF) {
    fails("FusedPadConv2D", {kX, std::move(paddings), std::move(f)}, attrs, why);
  };
  refuses(pads({1, 0, 1, 1, 2, 1, 0, 0}), "Fused mirror padding only support spatial padding, not batches");
  refuses(pads({0, 0, 9, 1, 2, 1, 0, 0}), "paddings must be less than the dimension size: 9, 1 not less than 5");
  refuses(pads({0, 0, -1, 1, 2, 1, 0, 0}), "paddings must be non-negative: -1 1");
  refuses(pads({0, 0}), "The first dimension of paddings must be the rank of inputs: 4 [1,2] [2,5,6,4]");
  refuses(by, "input and filter must have the same depth: 4 vs 2", numbers({3, 3, 2, 8}));
  refuses(by, "filter must be 4-dimensional: [3,4,8]", numbers({3, 4, 8}));
  fails("FusedPadConv2D", {numbers({5, 6, 4}), by, kF}, attrs, "", "its process ends");
  fails("FusedResizeAndPadConv2D", {kX, Tensor::vector<std::int32_t>({0, 1}), by, kF}, attrs, "");
}

}  // namespace
}  // namespace argosy
