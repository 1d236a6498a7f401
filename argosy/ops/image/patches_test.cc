#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Ints = std::vector<std::int64_t>;

TEST(PatchOps, ImagePatches) {
  const Tensor x = random_tensor(DType::kFloat32, {2, 6, 7, 2});
  for (const char* padding : {"SAME", "VALID"}) {
    for (const Ints& strides : {Ints{1, 1, 1, 1}, {1, 2, 3, 1}}) {
      for (const Ints& rates : {Ints{1, 1, 1, 1}, {1, 2, 1, 1}}) {
        const AttrMap attrs = {
            {"ksizes", Ints{1, 3, 2, 1}}, {"strides", strides}, {"rates", rates}, {"padding", padding}};
        check({.op = "ExtractImagePatches", .inputs = {x}, .attrs = attrs, .other_dtypes = strides[1] == 1});
      }
    }
    const Tensor volume = random_tensor(DType::kFloat32, {2, 3, 4, 5, 2});
    check({.op = "ExtractVolumePatches",
           .inputs = {volume},
           .attrs = {{"ksizes", Ints{1, 2, 3, 2, 1}}, {"strides", Ints{1, 1, 2, 1, 1}}, {"padding", padding}}});
  }
  check({.op = "ExtractImagePatches",
         .inputs = {Tensor::of<std::int32_t>({1, 2, 2, 1}, {1, 2, 3, 4})},
         .attrs = {{"ksizes", Ints{1, 2, 2, 1}},
                   {"strides", Ints{1, 1, 1, 1}},
                   {"rates", Ints{1, 1, 1, 1}},
                   {"padding", "SAME"}},
         .expect = {Tensor::of<std::int32_t>({1, 2, 2, 4}, {1, 2, 3, 4, 2, 0, 4, 0, 3, 4, 0, 0, 4, 0, 0, 0})}});
  const auto fails = [&](const Tensor& images, const Ints& sizes, const Ints& strides) {
    check({.op = "ExtractImagePatches",
           .inputs = {images},
           .attrs = {{"ksizes", sizes}, {"strides", strides}, {"rates", Ints{1, 1, 1, 1}}, {"padding", "VALID"}},
           .error = Code::kInvalidArgument});
  };
  fails(x, {2, 1, 1, 1}, {1, 1, 1, 1});
  fails(x, {1, 0, 1, 1}, {1, 1, 1, 1});
  fails(x, {1, 1, 1, 1}, {1, 1, 0, 1});
  fails(x, {1, 9, 1, 1}, {1, 1, 1, 1});
  fails(random_tensor(DType::kFloat32, {6, 7, 2}), {1, 1, 1, 1}, {1, 1, 1, 1});
}

TEST(PatchOps, Glimpses) {
  const Tensor x = random_tensor(DType::kFloat32, {2, 6, 7, 2});
  const Tensor size = Tensor::vector<std::int32_t>({3, 4});
  for (const char* op : {"ExtractGlimpse", "ExtractGlimpseV2"}) {
    for (const bool centered : {false, true}) {
      for (const bool normalized : {false, true}) {
        const float unit = normalized ? .2f : 1.3f;
        for (const float far : {1.f, 4.f}) {
          check({.op = op,
                 .inputs = {x, size, Tensor::of<float>({2, 2}, {unit * far, -unit, 0, unit})},
                 .attrs = {
                     {"centered", centered}, {"normalized", normalized}, {"uniform_noise", false}, {"noise", "zero"}}});
        }
      }
    }
    const auto fails = [&](const Tensor& to, const Tensor& offsets, const AttrMap& attrs = {}) {
      check({.op = op, .inputs = {x, to, offsets}, .attrs = attrs, .error = Code::kInvalidArgument});
    };
    fails(Tensor::vector<std::int32_t>({-1, 4}), Tensor::zeros(DType::kFloat32, {2, 2}));
    fails(size, Tensor::zeros(DType::kFloat32, {3, 2}));
    fails(size, Tensor::zeros(DType::kFloat32, {2, 2}), {{"noise", "gaussian"}});
  }
}

TEST(PatchOps, RandomCrop) {
  const Tensor x = random_tensor(DType::kFloat32, {6, 7, 2});
  for (const std::int64_t seed : {1, 2, 3}) {
    check({.op = "RandomCrop",
           .inputs = {x, Tensor::vector<std::int64_t>({3, 2})},
           .attrs = {{"seed", seed}, {"seed2", 4}},
           .other_dtypes = false});
  }
  check({.op = "RandomCrop",
         .inputs = {x, Tensor::vector<std::int64_t>({6, 7})},
         .attrs = {{"seed", 1}},
         .expect = {x},
         .other_dtypes = false});
  check({.op = "RandomCrop", .inputs = {x, Tensor::vector<std::int64_t>({7, 2})}, .error = Code::kFailedPrecondition});
  check({.op = "RandomCrop", .inputs = {x, Tensor::vector<std::int64_t>({2})}, .error = Code::kInvalidArgument});
}

TEST(PatchOps, ProjectiveTransforms) {
  const Tensor x = random_tensor(DType::kFloat32, {2, 5, 6, 2});
  const Tensor each =
      Tensor::of<float>({2, 8}, {.9f, .1f, -.4f, -.2f, 1.1f, .6f, .01f, .02f, 1, 0, -7.3f, 0, 1, 9.2f, 0, 0});
  const Tensor size = Tensor::vector<std::int32_t>({4, 7});
  for (const char* interpolation : {"NEAREST", "BILINEAR"}) {
    for (const char* fill : {"CONSTANT", "REFLECT", "WRAP", "NEAREST"}) {
      const AttrMap attrs = {{"interpolation", interpolation}, {"fill_mode", fill}};
      for (const DType d : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kUint8, DType::kBfloat16}) {
        const Tensor images = cast_to(random_tensor(DType::kFloat32, {2, 5, 6, 2}, 1, 0, 99), d);
        check({.op = "ImageProjectiveTransformV2",
               .inputs = {images, each, size},
               .attrs = attrs,
               .other_dtypes = false,
               .check_gradient = false});
        check({.op = "ImageProjectiveTransformV3",
               .inputs = {images, each, size, Tensor::scalar(7.f)},
               .attrs = attrs,
               .other_dtypes = false,
               .check_gradient = false});
      }
    }
  }
  // A move by whole pixels, whose gradient is the move back.
  const Tensor move = Tensor::of<float>({1, 8}, {1, 0, 2, 0, 1, -1, 0, 0});
  check({.op = "ImageProjectiveTransformV2",
         .inputs = {cast_to(x, DType::kFloat64), move, Tensor::vector<std::int32_t>({5, 6})},
         .attrs = {{"interpolation", "NEAREST"}},
         .other_dtypes = false,
         .constant_inputs = {1}});
  check({.op = "ImageProjectiveTransformV3",
         .inputs = {cast_to(x, DType::kFloat64), move, Tensor::vector<std::int32_t>({5, 6}), Tensor::scalar(0.f)},
         .attrs = {{"interpolation", "BILINEAR"}},
         .other_dtypes = false,
         .constant_inputs = {1, 3}});
  const auto fails = [&](const Tensor& t, const Tensor& to, const char* interpolation, const char* fill,
                         const char* unlike = "") {
    check({.op = "ImageProjectiveTransformV2",
           .inputs = {x, t, to},
           .attrs = {{"interpolation", interpolation}, {"fill_mode", fill}},
           .error = Code::kInvalidArgument,
           .unlike_tensorflow = unlike});
  };
  fails(each, size, "CUBIC", "WRAP", "writes nothing");
  fails(each, size, "NEAREST", "NOWHERE", "takes what it does not know for NEAREST");
  fails(Tensor::zeros(DType::kFloat32, {3, 8}), size, "NEAREST", "WRAP");
  fails(Tensor::zeros(DType::kFloat32, {2, 7}), size, "NEAREST", "WRAP");
  fails(each, Tensor::vector<std::int32_t>({0, 7}), "NEAREST", "WRAP");
}

}  // namespace
}  // namespace argosy
