// Definitions of ops on boxes: drawing, suppression, sampling.
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/image/image_registration.h"

namespace argosy::image {

namespace {

Status draw_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 4).status());
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape boxes, c.with_rank(1, 3));
  if (boxes[2] >= 0 && boxes[2] != 4)
    return invalid_argument(c.op().name, ": boxes must have 4 columns, not shape ", boxes);
  if (c.num_inputs() > 2) ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 2).status());
  return same_as_input(c);
}

Status suppression_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape boxes, c.with_rank(0, 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape scores, c.with_rank(1, 1));
  ARGOSY_RETURN_IF_ERROR(PartialShape{boxes[0]}.merge(scores).status());
  for (int i = 2; i < c.num_inputs(); ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
  const bool overlaps = c.op().name.ends_with("WithOverlaps");
  if (boxes[1] >= 0 && !overlaps && boxes[1] != 4) {
    return invalid_argument(c.op().name, ": boxes must have 4 columns, not shape ", boxes);
  }
  if (overlaps && boxes[0] >= 0 && boxes[1] >= 0 && boxes[0] != boxes[1]) {
    return invalid_argument(c.op().name, ": overlaps must be square, not of shape ", boxes);
  }
  const auto most = c.input_as_int(2);
  const bool padded = c.attrs().get_or<bool>("pad_to_max_output_size", false);
  const std::int64_t count = padded && most && *most >= 0 ? *most : kUnknownSize;
  for (int i = 0; i + 1 < c.num_outputs() || i == 0; ++i) c.set_output(i, PartialShape{count});
  if (c.num_outputs() > 1) c.set_output(c.num_outputs() - 1, PartialShape::scalar());
  return ok_status();
}

Status combined_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape boxes, c.with_rank(0, 4));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape scores, c.with_rank(1, 3));
  for (int i = 2; i < 6; ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
  if (boxes[3] >= 0 && boxes[3] != 4) return invalid_argument("boxes must have 4 columns, not shape ", boxes);
  const auto per_class = c.input_as_int(2), total = c.input_as_int(3);
  std::int64_t count = total && *total > 0 ? *total : kUnknownSize;
  if (count >= 0 && c.attrs().get_bool("pad_per_class")) {
    count = per_class && *per_class >= 0 && scores[2] >= 0 ? std::min(count, *per_class * scores[2]) : kUnknownSize;
  }
  c.set_output(0, PartialShape{boxes[0], count, 4});
  c.set_output(1, PartialShape{boxes[0], count});
  c.set_output(2, PartialShape{boxes[0], count});
  c.set_output(3, PartialShape{boxes[0]});
  return ok_status();
}

Status sample_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 1).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 3).status());
  c.set_output(0, PartialShape{3});
  c.set_output(1, PartialShape{3});
  c.set_output(2, PartialShape{1, 1, 4});
  return ok_status();
}

}  // namespace

void define_boxes(OpRegistry& ops) {
  ops.add({.name = "DrawBoundingBoxes",
           .doc = "Boxes drawn on images, in the colours of a cycle.",
           .inputs = {"images: T", "boxes: float"},
           .outputs = {"output: T"},
           .attrs = {"T: {float, half} = float"},
           .shape = draw_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "n h w c, n b 1 -> n h w c; whole h w c b"});
  ops.add({.name = "DrawBoundingBoxesV2",
           .doc = "Boxes drawn on images.",
           .inputs = {"images: T", "boxes: float", "colors: float"},
           .outputs = {"output: T"},
           .attrs = {"T: {float, half} = float"},
           .shape = draw_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "n h w c, n b 1, . -> n h w c; whole h w c b"});
  ops.add({.name = "NonMaxSuppression",
           .doc = "The best boxes that overlap little.",
           .inputs = {"boxes: float", "scores: float", "max_output_size: int32"},
           .outputs = {"selected_indices: int32"},
           .attrs = {"iou_threshold: float = 0.5"},
           .shape = suppression_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "whole: it compares all boxes with all others",
           .host_inputs = {2}});
  ops.add({.name = "NonMaxSuppressionV2",
           .doc = "The best boxes that overlap little.",
           .inputs = {"boxes: T", "scores: T", "max_output_size: int32", "iou_threshold: T_threshold"},
           .outputs = {"selected_indices: int32"},
           .attrs = {"T: {half, float} = float", "T_threshold: {half, float} = float"},
           .shape = suppression_shape,
           .gradient = kNotDifferentiable,
           .blocks_gradient = true,
           .sharding = "whole: it compares all boxes with all others",
           .host_inputs = {2, 3}});
  ops.add({.name = "NonMaxSuppressionV3",
           .doc = "The best boxes that overlap little.",
           .inputs = {"boxes: T", "scores: T", "max_output_size: int32", "iou_threshold: T_threshold",
                      "score_threshold: T_threshold"},
           .outputs = {"selected_indices: int32"},
           .attrs = {"T: {half, float} = float", "T_threshold: {half, float} = float"},
           .shape = suppression_shape,
           .gradient = kNotDifferentiable,
           .sharding = "whole: it compares all boxes with all others",
           .host_inputs = {2, 3, 4}});
  ops.add({.name = "NonMaxSuppressionV4",
           .doc = "The best boxes that overlap little, and how many they are.",
           .inputs = {"boxes: T", "scores: T", "max_output_size: int32", "iou_threshold: T_threshold",
                      "score_threshold: T_threshold"},
           .outputs = {"selected_indices: int32", "valid_outputs: int32"},
           .attrs = {"T: {half, float} = float", "T_threshold: {half, float} = float",
                     "pad_to_max_output_size: bool = false"},
           .shape = suppression_shape,
           .gradient = kNotDifferentiable,
           .sharding = "whole: it compares all boxes with all others",
           .host_inputs = {2, 3, 4}});
  ops.add(
      {.name = "NonMaxSuppressionV5",
       .doc =
           "The best boxes that overlap little, or count for less where they do; their scores, and how many they are.",
       .inputs = {"boxes: T", "scores: T", "max_output_size: int32", "iou_threshold: T", "score_threshold: T",
                  "soft_nms_sigma: T"},
       .outputs = {"selected_indices: int32", "selected_scores: T", "valid_outputs: int32"},
       .attrs = {"T: {half, float} = float", "pad_to_max_output_size: bool = false"},
       .shape = suppression_shape,
       .gradient = kNotDifferentiable,
       .cpu_only = true,
       .sharding = "whole: it compares all boxes with all others",
       .host_inputs = {2, 3, 4, 5}});
  ops.add({.name = "NonMaxSuppressionWithOverlaps",
           .doc = "The best boxes that overlap little, from given overlaps.",
           .inputs = {"overlaps: float", "scores: float", "max_output_size: int32", "overlap_threshold: float",
                      "score_threshold: float"},
           .outputs = {"selected_indices: int32"},
           .shape = suppression_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "whole: it compares all boxes with all others",
           .host_inputs = {2, 3, 4}});
  ops.add({.name = "CombinedNonMaxSuppression",
           .doc = "The best boxes of each image of a batch over all classes.",
           .inputs = {"boxes: float", "scores: float", "max_output_size_per_class: int32", "max_total_size: int32",
                      "iou_threshold: float", "score_threshold: float"},
           .outputs = {"nmsed_boxes: float", "nmsed_scores: float", "nmsed_classes: float", "valid_detections: int32"},
           .attrs = {"pad_per_class: bool = false", "clip_boxes: bool = true"},
           .shape = combined_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "n b q 1, n b k, ., ., ., . -> n 1 1, n 1, n 1, n; whole b q k",
           .host_inputs = {2, 3, 4, 5}});
  ops.add({.name = "SampleDistortedBoundingBox",
           .doc = "A random box of an image that covers enough of some given box.",
           .inputs = {"image_size: T", "bounding_boxes: float"},
           .outputs = {"begin: T", "size: T", "bboxes: float"},
           .attrs = {"T: {uint8, int8, int16, int32, int64}", "seed: int = 0", "seed2: int = 0",
                     "min_object_covered: float = 0.100000001", "aspect_ratio_range: list(float) = [0.75, 1.33]",
                     "area_range: list(float) = [0.05, 1]", "max_attempts: int = 100",
                     "use_image_if_no_bounding_boxes: bool = false"},
           .shape = sample_shape,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "whole: it may draw random numbers"});
  ops.add({.name = "SampleDistortedBoundingBoxV2",
           .doc = "A random box of an image that covers enough of some given box.",
           .inputs = {"image_size: T", "bounding_boxes: float", "min_object_covered: float"},
           .outputs = {"begin: T", "size: T", "bboxes: float"},
           .attrs = {"T: {uint8, int8, int16, int32, int64}", "seed: int = 0", "seed2: int = 0",
                     "aspect_ratio_range: list(float) = [0.75, 1.33]", "area_range: list(float) = [0.05, 1]",
                     "max_attempts: int = 100", "use_image_if_no_bounding_boxes: bool = false"},
           .shape = sample_shape,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "whole: it may draw random numbers",
           .host_inputs = {2}});
  ops.add({.name = "StatelessSampleDistortedBoundingBox",
           .doc = "A random box of an image that covers enough of some given box.",
           .inputs = {"image_size: T", "bounding_boxes: float", "min_object_covered: float", "seed: Tseed"},
           .outputs = {"begin: T", "size: T", "bboxes: float"},
           .attrs = {"T: {uint8, int8, int16, int32, int64}", "Tseed: index",
                     "aspect_ratio_range: list(float) = [0.75, 1.33]", "area_range: list(float) = [0.05, 1]",
                     "max_attempts: int = 100", "use_image_if_no_bounding_boxes: bool = false"},
           .shape = sample_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "whole: it may draw random numbers",
           .host_inputs = {2, 3}});
}

}  // namespace argosy::image
