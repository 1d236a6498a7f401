#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor floats(std::initializer_list<float> v) { return Tensor::vector<float>(v); }
Tensor ints(std::initializer_list<std::int32_t> v) { return Tensor::vector<std::int32_t>(v); }

TEST(BoxOps, Draw) {
  const Tensor boxes = Tensor::of<float>({2, 3, 4}, {.1f, .2f, .8f, .9f, -.5f, .3f, .4f,  1.5f, .9f, .1f, .2f, .3f,
                                                     0,   0,   1,   1,   1.2f, .1f, 1.5f, .2f,  .5f, .5f, .5f, .5f});
  const Tensor colours = Tensor::of<float>({2, 4}, {.1f, .2f, .3f, .4f, .5f, .6f, .7f, .8f});
  for (const std::int64_t depth : {1, 3, 4}) {
    const Tensor x = random_tensor(DType::kFloat32, {2, 7, 9, depth});
    check({.op = "DrawBoundingBoxes", .inputs = {x, boxes}, .other_dtypes = false});
    check({.op = "DrawBoundingBoxesV2", .inputs = {x, boxes, colours}, .other_dtypes = false});
    check({.op = "DrawBoundingBoxesV2",
           .inputs = {x, boxes, Tensor::zeros(DType::kFloat32, {0, 4})},
           .other_dtypes = false});
  }
  const Tensor x = random_tensor(DType::kFloat32, {2, 7, 9, 3});
  const auto fails = [&](const Tensor& images, const Tensor& b) {
    check({.op = "DrawBoundingBoxes", .inputs = {images, b}, .error = Code::kInvalidArgument});
  };
  fails(random_tensor(DType::kFloat32, {2, 7, 9, 2}), boxes);
  fails(x, Tensor::zeros(DType::kFloat32, {1, 3, 4}));
  fails(x, Tensor::zeros(DType::kFloat32, {2, 3, 5}));
  fails(random_tensor(DType::kFloat32, {7, 9, 3}), boxes);
}

const Tensor kBoxes = Tensor::of<float>(
    {6, 4}, {0, 0, 1, 1, 0, .1f, 1, 1.1f, 0, -.1f, 1, .9f, 0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 1, 101, 0, 100});
const Tensor kScores = floats({.9f, .75f, .6f, .95f, .5f, .3f});

TEST(BoxOps, NonMaxSuppression) {
  check({.op = "NonMaxSuppression", .inputs = {kBoxes, kScores, Tensor::scalar(3)}, .expect = {ints({3, 0, 5})}});
  for (const float threshold : {0.f, .5f, .85f, 1.f}) {
    for (const std::int32_t most : {0, 2, 30}) {
      const Tensor limit = Tensor::scalar(threshold), score = Tensor::scalar(.55f), n = Tensor::scalar(most);
      check({.op = "NonMaxSuppressionV2", .inputs = {kBoxes, kScores, n, limit}, .other_dtypes = false});
      check({.op = "NonMaxSuppressionV3", .inputs = {kBoxes, kScores, n, limit, score}, .other_dtypes = false});
      for (const bool pad : {false, true}) {
        const AttrMap attrs = {{"pad_to_max_output_size", pad}};
        check({.op = "NonMaxSuppressionV4",
               .inputs = {kBoxes, kScores, n, limit, score},
               .attrs = attrs,
               .other_dtypes = false});
        for (const float sigma : {0.f, .5f}) {
          check({.op = "NonMaxSuppressionV5",
                 .inputs = {kBoxes, kScores, n, limit, Tensor::scalar(.1f), Tensor::scalar(sigma)},
                 .attrs = attrs,
                 .other_dtypes = false});
        }
      }
      check({.op = "NonMaxSuppressionWithOverlaps",
             .inputs = {random_tensor(DType::kFloat32, {6, 6}, 4, 0, 1), kScores, n, limit, score}});
    }
  }
  check({.op = "NonMaxSuppression",
         .inputs = {Tensor::zeros(DType::kFloat32, {0, 4}), floats({}), Tensor::scalar(3)},
         .expect = {ints({})}});
  const auto fails = [](const Tensor& boxes, const Tensor& scores, const Tensor& n, float threshold) {
    check({.op = "NonMaxSuppressionV2",
           .inputs = {boxes, scores, n, Tensor::scalar(threshold)},
           .error = Code::kInvalidArgument});
  };
  fails(kBoxes, kScores, Tensor::scalar(3), -.1f);
  fails(kBoxes, kScores, Tensor::scalar(3), 1.1f);
  fails(kBoxes, floats({1, 2}), Tensor::scalar(3), .5f);
  fails(kBoxes, kScores, ints({3}), .5f);
  fails(Tensor::zeros(DType::kFloat32, {6, 5}), kScores, Tensor::scalar(3), .5f);
}

TEST(BoxOps, CombinedNonMaxSuppression) {
  const Tensor boxes = random_tensor(DType::kFloat32, {2, 5, 1, 4}, 6, -.2, 1.2);
  const Tensor each = random_tensor(DType::kFloat32, {2, 5, 3, 4}, 7, 0, 1);
  const Tensor scores = random_tensor(DType::kFloat32, {2, 5, 3}, 8, 0, 1);
  for (const bool pad : {false, true}) {
    for (const bool clip : {false, true}) {
      for (const Tensor& b : {boxes, each}) {
        for (const auto& [per_class, total] : {std::pair{2, 4}, {1, 10}, {5, 3}}) {
          check({.op = "CombinedNonMaxSuppression",
                 .inputs = {b, scores, Tensor::scalar(per_class), Tensor::scalar(total), Tensor::scalar(.4f),
                            Tensor::scalar(.3f)},
                 .attrs = {{"pad_per_class", pad}, {"clip_boxes", clip}}});
        }
      }
    }
  }
  const auto fails = [&](const Tensor& b, std::int32_t per_class, std::int32_t total, float overlap) {
    check({.op = "CombinedNonMaxSuppression",
           .inputs = {b, scores, Tensor::scalar(per_class), Tensor::scalar(total), Tensor::scalar(overlap),
                      Tensor::scalar(.3f)},
           .error = Code::kInvalidArgument});
  };
  fails(boxes, 0, 3, .5f);
  fails(boxes, 3, 0, .5f);
  fails(boxes, 3, 3, 1.5f);
  fails(random_tensor(DType::kFloat32, {2, 5, 2, 4}), 3, 3, .5f);
}

TEST(BoxOps, SampleDistortedBoundingBox) {
  const Tensor boxes = Tensor::of<float>({1, 2, 4}, {.1f, .2f, .6f, .7f, .5f, .5f, .9f, .9f});
  const Tensor none = Tensor::zeros(DType::kFloat32, {1, 0, 4});
  for (const std::int64_t seed : {1, 2, 3, 4, 5}) {
    const AttrMap seeds = {{"seed", seed}, {"seed2", 17}};
    for (const Tensor& size :
         {ints({50, 70, 3}), Tensor::vector<std::int64_t>({480, 640, 3}), Tensor::vector<std::uint8_t>({13, 9, 1})}) {
      check({.op = "SampleDistortedBoundingBox", .inputs = {size, boxes}, .attrs = seeds, .other_dtypes = false});
      check({.op = "SampleDistortedBoundingBoxV2",
             .inputs = {size, boxes, Tensor::scalar(.5f)},
             .attrs = seeds,
             .other_dtypes = false});
      check({.op = "StatelessSampleDistortedBoundingBox",
             .inputs = {size, boxes, Tensor::scalar(.3f), Tensor::vector<std::int64_t>({seed, 9})},
             .other_dtypes = false});
    }
  }
  AttrMap open = {{"seed", 1}, {"seed2", 2}, {"use_image_if_no_bounding_boxes", true}};
  check(
      {.op = "SampleDistortedBoundingBox", .inputs = {ints({50, 70, 3}), none}, .attrs = open, .other_dtypes = false});
  const auto fails = [&](const Tensor& size, const Tensor& b, const AttrMap& attrs = {}) {
    check({.op = "SampleDistortedBoundingBox", .inputs = {size, b}, .attrs = attrs, .error = Code::kInvalidArgument});
  };
  fails(ints({50, 70, 3}), none);
  fails(ints({50, 70}), boxes);
  check({.op = "SampleDistortedBoundingBox",
         .inputs = {ints({0, 70, 3}), boxes},
         .error = Code::kInvalidArgument,
         .unlike_tensorflow = "divides by the height of 0"});
  fails(ints({50, 70, 3}), Tensor::of<float>({1, 1, 4}, {0, 0, 1, 1.5}));
  fails(ints({50, 70, 3}), boxes, {{"max_attempts", 0}});
  fails(ints({50, 70, 3}), boxes, {{"area_range", std::vector<float>{.5f, 2}}});
  fails(ints({50, 70, 3}), boxes, {{"min_object_covered", -.5f}});
}

}  // namespace
}  // namespace argosy
