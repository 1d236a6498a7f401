#include <gtest/gtest.h>

#include "argosy/ops/image/image.h"
#include "argosy/testing/op_cases/gradient_case.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor size(std::int32_t height, std::int32_t width) { return Tensor::vector<std::int32_t>({height, width}); }
Tensor image(const Shape& shape, std::uint64_t seed = 1) { return random_tensor(DType::kFloat32, shape, seed, 0, 8); }
AttrMap how(bool corners, bool centers) { return {{"align_corners", corners}, {"half_pixel_centers", centers}}; }
const std::pair<bool, bool> kHow[] = {{false, false}, {true, false}, {false, true}};

TEST(ResizeOps, EveryKindAndSize) {
  for (const auto& [corners, centers] : kHow) {
    for (const auto& [height, width] : {std::pair{6, 9}, {2, 3}, {1, 1}, {4, 5}, {3, 11}}) {
      const Tensor x = image({2, 4, 5, 3});
      for (const char* op : {"ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic"}) {
        // Results are rounded to float32, whose steps the differences see.
        check({.op = op,
               .inputs = {x, size(height, width)},
               .attrs = how(corners, centers),
               .other_dtypes = height == 6,
               .check_gradient = op == std::string_view("ResizeNearestNeighbor")});
      }
      const Tensor dy = image({2, height, width, 3}, 2);
      for (const char* op : {"ResizeBilinearGrad", "ResizeBicubicGrad"}) {
        check({.op = op, .inputs = {dy, x}, .attrs = how(corners, centers), .other_dtypes = false});
      }
      check({.op = "ResizeNearestNeighborGrad", .inputs = {dy, size(4, 5)}, .attrs = how(corners, centers)});
      if (!centers) {
        check({.op = "ResizeArea",
               .inputs = {x, size(height, width)},
               .attrs = {{"align_corners", corners}},
               .other_dtypes = height == 6});
      }
    }
  }
  check({.op = "ResizeBilinear",
         .inputs = {Tensor::of<std::uint8_t>({1, 1, 2, 1}, {10, 20}), size(1, 4)},
         .expect = {Tensor::of<float>({1, 1, 4, 1}, {10, 15, 20, 20})}});
  check({.op = "ResizeArea",  // one pixel, its corners aligned
         .inputs = {Tensor::of<float>({1, 1, 2, 1}, {1, 3}), Tensor::vector<std::int32_t>({3, 2})},
         .attrs = {{"align_corners", true}},
         .other_dtypes = false,
         .check_gradient = false});
  check({.op = "ResizeArea",
         .inputs = {Tensor::of<float>({1, 2, 2, 1}, {1, 2, 3, 4}), size(1, 1)},
         .expect = {Tensor::of<float>({1, 1, 1, 1}, {2.5})},
         .other_dtypes = false});
  check({.op = "ResizeBilinear",
         .inputs = {image({0, 4, 5, 3}), size(2, 2)},
         .other_dtypes = false,
         .check_gradient = false});
}

TEST(ResizeOps, Gradients) {
  // Linear in x: the float32 in between costs digits, not correctness.
  for (const char* op : {"ResizeBilinear", "ResizeBicubic"}) {
    for (const auto& [corners, centers] : kHow) {
      check({.op = op,
             .inputs = {cast_to(image({1, 3, 4, 2}), DType::kFloat64), size(5, 3)},
             .attrs = how(corners, centers),
             .tolerance = 1e-5,
             .other_dtypes = false,
             .gradient_tolerance = 5e-2});
    }
  }
  check({.op = "ScaleAndTranslate",
         .inputs = {cast_to(image({1, 3, 4, 2}), DType::kFloat64), size(5, 3), Tensor::vector<float>({1.5, .7f}),
                    Tensor::vector<float>({.2f, -.3f})},
         .other_dtypes = false,
         .constant_inputs = {2, 3},
         .gradient_tolerance = 5e-2});
}

TEST(ResizeOps, ScaleAndTranslate) {
  const Tensor x = image({2, 4, 5, 3});
  for (const char* kernel :
       {"lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"}) {
    for (const bool antialias : {false, true}) {
      for (const float scale : {.6f, 1.7f}) {
        const AttrMap attrs = {{"kernel_type", kernel}, {"antialias", antialias}};
        const Tensor scales = Tensor::vector<float>({scale, 1.2f}), moves = Tensor::vector<float>({.5f, -2});
        check({.op = "ScaleAndTranslate",
               .inputs = {x, size(5, 4), scales, moves},
               .attrs = attrs,
               .other_dtypes = false,
               .check_gradient = false});
        check({.op = "ScaleAndTranslateGrad",
               .inputs = {image({2, 5, 4, 3}, 2), x, scales, moves},
               .attrs = attrs,
               .other_dtypes = false});
      }
    }
  }
  const Tensor ones = Tensor::vector<float>({1, 1});
  const auto fails = [&](const Tensor& images, const Tensor& scale, const char* kernel) {
    check({.op = "ScaleAndTranslate",
           .inputs = {images, size(2, 2), scale, ones},
           .attrs = {{"kernel_type", kernel}},
           .error = Code::kInvalidArgument});
  };
  fails(x, ones, "nonsense");
  fails(x, Tensor::vector<float>({0, 1}), "box");
  fails(image({4, 5, 3}), ones, "box");
}

TEST(ResizeOps, Refused) {
  for (const char* op : {"ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"}) {
    const auto fails = [&](const Tensor& x, const Tensor& to) {
      check({.op = op, .inputs = {x, to}, .error = Code::kInvalidArgument});
    };
    fails(image({4, 5, 3}), size(2, 2));
    fails(image({1, 0, 5, 3}), size(2, 2));
    fails(image({1, 4, 5, 3}), size(0, 2));
    fails(image({1, 4, 5, 3}), size(2, -1));
    fails(image({1, 4, 5, 3}), Tensor::vector<std::int32_t>({2}));
  }
  check({.op = "ResizeBilinear",
         .inputs = {image({1, 4, 5, 3}), size(2, 2)},
         .attrs = how(true, true),
         .error = Code::kInvalidArgument});
}

TEST(CropOps, CropAndResize) {
  const Tensor x = image({2, 5, 6, 3});
  const Tensor boxes = Tensor::of<float>(
      {4, 4}, {0.1f, .2f, .83f, .97f, .93f, .91f, .11f, .05f, -.4f, 0.1f, 1.3f, 1.2f, .33f, .27f, .61f, .44f});
  const Tensor index = Tensor::vector<std::int32_t>({0, 1, 1, 0});
  for (const char* method : {"bilinear", "nearest"}) {
    for (const auto& [height, width] : {std::pair{3, 4}, {1, 1}, {7, 2}}) {
      const AttrMap attrs = {{"method", method}, {"extrapolation_value", 2.5f}};
      for (const DType d : {DType::kFloat32, DType::kFloat64, DType::kUint8, DType::kInt32, DType::kFloat16}) {
        check({.op = "CropAndResize",
               .inputs = {cast_to(x, d), boxes, index, size(height, width)},
               .attrs = attrs,
               .other_dtypes = false,
               .check_gradient = false});
      }
      check({.op = "CropAndResizeGradImage",
             .inputs = {image({4, height, width, 3}), boxes, index, Tensor::vector<std::int32_t>({2, 5, 6, 3})},
             .attrs = {{"method", method}, {"T", DType::kFloat32}},
             .other_dtypes = false});
    }
  }
  check({.op = "CropAndResizeGradBoxes",
         .inputs = {image({4, 3, 4, 3}, 3), x, boxes, index},
         .tolerance = 1e-3,
         .other_dtypes = false});
  check({.op = "CropAndResizeGradBoxes", .inputs = {image({4, 1, 1, 3}, 3), x, boxes, index}, .other_dtypes = false});
  // Held against differences in the image; results are float32.
  check({.op = "CropAndResize",
         .inputs = {cast_to(image({1, 4, 4, 2}), DType::kFloat64), Tensor::of<float>({1, 4}, {.1f, .2f, .8f, .9f}),
                    Tensor::vector<std::int32_t>({0}), size(3, 3)},
         .other_dtypes = false,
         .constant_inputs = {1},
         .gradient_tolerance = 5e-2});
  const auto fails = [&](const Tensor& b, const Tensor& i, const Tensor& to, Code code = Code::kInvalidArgument) {
    check({.op = "CropAndResize", .inputs = {x, b, i, to}, .error = code});
  };
  fails(boxes, Tensor::vector<std::int32_t>({0, 1, 2, 0}), size(2, 2), Code::kOutOfRange);
  fails(boxes, Tensor::vector<std::int32_t>({0, 1}), size(2, 2));
  fails(boxes, index, size(0, 2));
  fails(Tensor::zeros(DType::kFloat32, {4, 3}), index, size(2, 2));
}

TEST(ColourOps, HueSaturationValue) {
  const Tensor x = random_tensor(DType::kFloat32, {2, 5, 3}, 3, 0, 1);
  check({.op = "RGBToHSV", .inputs = {x}, .gradient_tolerance = 1e-4});
  check({.op = "HSVToRGB", .inputs = {x}});
  check({.op = "RGBToHSV",
         .inputs = {Tensor::of<float>({5, 3}, {0, 0, 0, 1, 0, 0, 0, .5, 0, 0, 0, 1, .5, .5, .5})},
         .expect = {Tensor::of<float>({5, 3}, {0, 0, 0, 0, 1, 1, 1 / 3.f, 1, .5, 2 / 3.f, 1, 1, 0, 0, .5})},
         .check_gradient = false});
  for (const char* op : {"RGBToHSV", "HSVToRGB"}) {
    check({.op = op, .inputs = {Tensor::zeros(DType::kFloat32, {2, 4})}, .error = Code::kFailedPrecondition});
    check({.op = op, .inputs = {Tensor::scalar(1.0f)}, .error = Code::kInvalidArgument});
  }
}

TEST(ColourOps, Adjustments) {
  const Tensor x = random_tensor(DType::kFloat32, {2, 3, 4, 3}, 3, 0, 1);
  for (const float by : {-.3f, 0.f, .6f, 2.4f}) {
    check({.op = "AdjustHue", .inputs = {x, Tensor::scalar(by)}, .tolerance = 1e-4, .other_dtypes = false});
    check({.op = "AdjustSaturation", .inputs = {x, Tensor::scalar(by)}, .tolerance = 1e-4, .other_dtypes = false});
    check({.op = "AdjustContrastv2", .inputs = {x, Tensor::scalar(by)}, .other_dtypes = false});
    check({.op = "AdjustContrast",
           .inputs = {x, Tensor::scalar(by), Tensor::scalar(.2f), Tensor::scalar(.7f)},
           .other_dtypes = false});
  }
  check({.op = "AdjustHue", .inputs = {cast_to(x, DType::kFloat16), Tensor::scalar(.1f)}, .other_dtypes = false});
  check({.op = "AdjustContrast",
         .inputs = {Tensor::of<std::uint8_t>({1, 2, 1}, {10, 20}), Tensor::scalar(2.f), Tensor::scalar(0.f),
                    Tensor::scalar(24.f)},
         .expect = {Tensor::of<float>({1, 2, 1}, {5, 24})},
         .other_dtypes = false});
  for (const char* op : {"AdjustHue", "AdjustSaturation", "AdjustContrastv2"}) {
    check({.op = op,
           .inputs = {Tensor::zeros(DType::kFloat32, {4, 3}), Tensor::scalar(1.0f)},
           .error = Code::kInvalidArgument});
    check({.op = op, .inputs = {x, Tensor::vector<float>({1})}, .error = Code::kInvalidArgument});
  }
}

TEST(ImageBuilders, GiveShapes) {
  Graph graph;
  const Value x = graph.add("Const", {}, {{"value", image({2, 4, 5, 3})}, {"dtype", DType::kFloat32}});
  const Value to = graph.add("Const", {}, {{"value", size(6, 7)}, {"dtype", DType::kInt32}});
  for (const Value& y :
       {resize_bilinear(x, to), resize_nearest_neighbor(x, to), resize_bicubic(x, to), resize_area(x, to)}) {
    EXPECT_EQ(y.shape(), PartialShape(Shape{2, 6, 7, 3}));
  }
  EXPECT_EQ(hsv_to_rgb(rgb_to_hsv(x)).shape(), PartialShape(Shape{2, 4, 5, 3}));
}

}  // namespace
}  // namespace argosy
