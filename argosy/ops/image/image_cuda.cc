// Images on a GPU: sizes, boxes, colours.
#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/image/image_checks.h"
#include "argosy/ops/image/image_registration.h"

namespace argosy {

namespace image {

namespace {

using cuda::grid_for;
using cuda::type_suffix;

// --- sizes: as in resize_cuda.cu -------------------------------------------------------------------------------------

struct ResizeAxis {
  std::int64_t from, to;
  float scale;
};
struct Resize {
  ResizeAxis rows, columns;
  std::int64_t channels;
  int corners, centers;

  static Result<Resize> of(const AttrMap& attrs, const Shape& from, const Shape& to) {
    const bool corners = attrs.get_bool("align_corners"), centers = attrs.get_or<bool>("half_pixel_centers", false);
    if (corners && centers) return invalid_argument("If half_pixel_centers is True, align_corners must be False.");
    const auto axis = [&](int i) {
      const std::int64_t a = from[i], b = to[i];
      const float scale = corners && b > 1 ? static_cast<float>(a - 1) / static_cast<float>(b - 1)
                                           : static_cast<float>(a) / static_cast<float>(b);
      return ResizeAxis{a, b, scale};
    };
    return Resize{axis(1), axis(2), from[3], corners ? 1 : 0, centers ? 1 : 0};
  }
};

template <bool kNearest>
Status resize(KernelContext& c, const AttrMap& attrs) {
  const Tensor& x = c.input(0);
  const char* const what = kNearest ? "ResizeNearestNeighbor" : "resize";
  ARGOSY_RETURN_IF_ERROR(check_images(x, what));
  ARGOSY_ASSIGN_OR_RETURN(const auto size, read_size(c.input(1), what));
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape,
                          Shape::make(std::vector<std::int64_t>{x.shape()[0], size[0], size[1], x.shape()[3]}));
  ARGOSY_ASSIGN_OR_RETURN(const Resize r, Resize::of(attrs, x.shape(), shape));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  const std::int64_t n = y->elements();
  const std::string kernel = kNearest ? str_cat("resize_nearest_", cuda::size_suffix(x.dtype()))
                                      : str_cat("resize_bilinear_", type_suffix(x.dtype()));
  return cuda::launch(c, {"resize", kernel}, grid_for(n), n, x.raw(), y->raw(), r);
}

Status bilinear_back(KernelContext& c, const AttrMap& attrs) {
  const Tensor &dy = c.input(0), &x = c.input(1);
  ARGOSY_RETURN_IF_ERROR(check_images(dy, "resize gradient"));
  ARGOSY_RETURN_IF_ERROR(check_images(x, "resize gradient"));
  if (x.shape()[0] != dy.shape()[0] || x.shape()[3] != dy.shape()[3]) {
    return invalid_argument("resize gradient: ", dy.shape(), " does not come from images of ", x.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Resize r, Resize::of(attrs, x.shape(), dy.shape()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, x.shape()));
  const std::int64_t n = dx->elements();
  return cuda::launch(c, {"resize", str_cat("resize_bilinear_back_", type_suffix(dx->dtype()))}, grid_for(n), n,
                      dy.raw(), dx->raw(), r);
}

Status nearest_back(KernelContext& c, const AttrMap& attrs) {
  const Tensor& dy = c.input(0);
  ARGOSY_RETURN_IF_ERROR(check_images(dy, "ResizeNearestNeighborGrad"));
  ARGOSY_ASSIGN_OR_RETURN(const auto size, read_size(c.input(1), "ResizeNearestNeighborGrad"));
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape,
                          Shape::make(std::vector<std::int64_t>{dy.shape()[0], size[0], size[1], dy.shape()[3]}));
  ARGOSY_ASSIGN_OR_RETURN(const Resize r, Resize::of(attrs, shape, dy.shape()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, shape));
  const std::int64_t n = dx->elements();
  return cuda::launch(c, {"resize", str_cat("resize_nearest_back_", type_suffix(dx->dtype()))}, grid_for(n), n,
                      dy.raw(), dx->raw(), r);
}

// --- boxes: as in crop_cuda.cu ---------------------------------------------------------------------------------------

struct Crops {
  std::int64_t boxes, images, height, width, rows, columns, channels;
  int nearest;
  float outside;
};

// What is known on the host: shapes, and which image a box is of. The boxes themselves lie on the GPU.
Status check_boxes(const Tensor& boxes, const Tensor& index, std::int64_t batch) {
  if (boxes.shape().rank() != 2 || boxes.shape()[1] != 4) {
    return invalid_argument("boxes are [n, 4], not of shape ", boxes.shape());
  }
  if (index.shape() != Shape{boxes.shape()[0]}) {
    return invalid_argument("box_index has incompatible shape: ", index.shape(), " for boxes of ", boxes.shape());
  }
  for (const std::int32_t b : index.values<std::int32_t>()) {
    if (b < 0 || b >= batch) return out_of_range("box_index has values outside [0, batch_size): ", b, " of ", batch);
  }
  return ok_status();
}
Crops crops_of(const AttrMap& attrs, const Shape& images, const Shape& crops) {
  return {crops[0],
          images[0],
          images[1],
          images[2],
          crops[1],
          crops[2],
          images[3],
          attrs.get_string("method") == "nearest" ? 1 : 0,
          attrs.get_or<float>("extrapolation_value", 0)};
}

Status crop(KernelContext& c, const AttrMap& attrs) {
  const Tensor &x = c.input(0), &boxes = c.input(1);
  ARGOSY_RETURN_IF_ERROR(check_images(x, "CropAndResize"));
  ARGOSY_RETURN_IF_ERROR(check_boxes(boxes, c.input(2), x.shape()[0]));
  ARGOSY_ASSIGN_OR_RETURN(const auto size, read_size(c.input(3), "CropAndResize"));
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape,
                          Shape::make(std::vector<std::int64_t>{boxes.shape()[0], size[0], size[1], x.shape()[3]}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  const std::int64_t n = y->elements();
  if (n == 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const cuda::OnGpu index, cuda::OnGpu::of(c, 2));
  return cuda::launch(c, {"crop", str_cat("crop_", type_suffix(x.dtype()))}, grid_for(n), n, x.raw(), boxes.raw(),
                      index.data(), y->raw(), crops_of(attrs, x.shape(), shape));
}

Status crop_back(KernelContext& c, const AttrMap& attrs) {
  const Tensor &dy = c.input(0), &boxes = c.input(1);
  ARGOSY_RETURN_IF_ERROR(check_images(dy, "CropAndResizeGradImage", false));
  if (c.input(3).shape() != Shape{4}) {
    return invalid_argument("image_size must have 4 elements, not shape ", c.input(3).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, to_shape(c.input(3), "CropAndResizeGradImage: image_size"));
  if (shape[1] == 0 || shape[2] == 0 || shape[3] != dy.shape()[3]) {
    return invalid_argument("CropAndResizeGradImage: ", dy.shape(), " does not come from images of ", shape);
  }
  ARGOSY_RETURN_IF_ERROR(check_boxes(boxes, c.input(2), shape[0]));
  if (dy.shape()[0] != boxes.shape()[0]) {
    return invalid_argument("CropAndResizeGradImage: ", dy.shape()[0], " crops of ", boxes.shape()[0], " boxes");
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, shape));
  const std::int64_t n = dx->elements();
  if (n == 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const cuda::OnGpu index, cuda::OnGpu::of(c, 2));
  return cuda::launch(c, {"crop", str_cat("crop_back_", type_suffix(dx->dtype()))}, grid_for(n), n, dy.raw(),
                      boxes.raw(), index.data(), dx->raw(), crops_of(attrs, shape, dy.shape()));
}

Status crop_back_boxes(KernelContext& c, const AttrMap& attrs) {
  const Tensor &dy = c.input(0), &x = c.input(1), &boxes = c.input(2);
  ARGOSY_RETURN_IF_ERROR(check_images(dy, "CropAndResizeGradBoxes", false));
  ARGOSY_RETURN_IF_ERROR(check_images(x, "CropAndResizeGradBoxes"));
  ARGOSY_RETURN_IF_ERROR(check_boxes(boxes, c.input(3), x.shape()[0]));
  if (dy.shape()[0] != boxes.shape()[0] || dy.shape()[3] != x.shape()[3]) {
    return invalid_argument("CropAndResizeGradBoxes: ", dy.shape(), " does not come from ", x.shape(), " and ",
                            boxes.shape(), " boxes");
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dboxes, c.output(0, boxes.shape()));
  if (dboxes->elements() == 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const cuda::OnGpu index, cuda::OnGpu::of(c, 3));
  return cuda::launch(c, {"crop", str_cat("crop_back_boxes_", type_suffix(x.dtype()))},
                      grid_for(boxes.shape()[0] * cuda::kBlock), dy.raw(), x.raw(), boxes.raw(), index.data(),
                      dboxes->raw(), crops_of(attrs, x.shape(), dy.shape()));
}

// --- colours ---------------------------------------------------------------------------------------------------------

enum class Colours { kRgbToHsv, kHsvToRgb, kHue, kSaturation };

Status check_adjusted(const KernelContext& c, std::string_view what) {
  if (c.input(0).shape().rank() < 3) {
    return invalid_argument("input must be at least 3-D, got shape ", c.input(0).shape());
  }
  if (c.input(1).shape().rank() == 0) return ok_status();
  return invalid_argument(what, " must be a scalar, not of shape ", c.input(1).shape());
}

template <Colours kColours>
Status colours(KernelContext& c) {
  constexpr const char* kOps[] = {"RGBToHSV", "HSVToRGB", "AdjustHue", "AdjustSaturation"};
  constexpr const char* kKernels[] = {"rgb_to_hsv_", "hsv_to_rgb_", "adjust_hue_", "adjust_saturation_"};
  constexpr auto kWhich = static_cast<std::size_t>(kColours);
  constexpr bool kAdjusts = kColours == Colours::kHue || kColours == Colours::kSaturation;
  const Tensor& x = c.input(0);
  if constexpr (kAdjusts) ARGOSY_RETURN_IF_ERROR(check_adjusted(c, kColours == Colours::kHue ? "delta" : "scale"));
  if (x.shape().rank() == 0) return invalid_argument(kOps[kWhich], ": input must be at least 1D");
  if (x.shape().back() != 3) {
    return Status(kAdjusts ? Code::kInvalidArgument : Code::kFailedPrecondition,
                  str_cat(kOps[kWhich], ": the last axis must be 3 channels, not of shape ", x.shape()));
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  const std::int64_t n = x.elements() / 3;
  const void* by = nullptr;
  if constexpr (kAdjusts) by = c.input(1).raw();
  return cuda::launch(c, {"colour", str_cat(kKernels[kWhich], type_suffix(x.dtype()))}, grid_for(n), n, x.raw(),
                      y->raw(), by);
}

Status contrast(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_RETURN_IF_ERROR(check_adjusted(c, "contrast_factor"));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  if (x.elements() == 0) return ok_status();
  const std::int64_t channels = x.shape().back();
  const std::int64_t pixels = x.shape()[x.shape().rank() - 3] * x.shape()[x.shape().rank() - 2];
  const std::int64_t images = x.elements() / (pixels * channels);
  return cuda::launch(c, {"colour", str_cat("adjust_contrast_", type_suffix(x.dtype()))},
                      grid_for(images * channels * cuda::kBlock), images, pixels, channels, x.raw(), y->raw(),
                      c.input(1).raw());
}

}  // namespace

}  // namespace image

void add_kernels_cuda_image(KernelRegistry& kernels) {
  using enum DType;
  using namespace image;
  std::vector<DType> images = cuda::kFloatingTypes;
  images.push_back(kUint8);
  kernels.add("ResizeBilinear", "cuda", cuda::make_launching<resize<false>>, {{"T", images}});
  kernels.add("ResizeBilinearGrad", "cuda", cuda::make_launching<bilinear_back>, {{"T", cuda::kFloatingTypes}});
  kernels.add("ResizeNearestNeighbor", "cuda", cuda::make_launching<resize<true>>, {{"T", images}});
  kernels.add("ResizeNearestNeighborGrad", "cuda", cuda::make_launching<nearest_back>, {{"T", cuda::kFloatingTypes}});
  const std::vector<DType> floats = {kFloat32, kFloat64, kFloat16};
  kernels.add("CropAndResize", "cuda", cuda::make_launching<crop>, {{"T", {kFloat32, kFloat64, kFloat16, kUint8}}});
  kernels.add("CropAndResizeGradImage", "cuda", cuda::make_launching<crop_back>, {{"T", floats}});
  kernels.add("CropAndResizeGradBoxes", "cuda", cuda::make_launching<crop_back_boxes>,
              {{"T", {kFloat32, kFloat64, kFloat16, kUint8}}});
  kernels.add("RGBToHSV", "cuda", cuda::make_launching<colours<Colours::kRgbToHsv>>, {{"T", cuda::kFloatingTypes}});
  kernels.add("HSVToRGB", "cuda", cuda::make_launching<colours<Colours::kHsvToRgb>>, {{"T", cuda::kFloatingTypes}});
  kernels.add("AdjustHue", "cuda", cuda::make_launching<colours<Colours::kHue>>, {{"T", {kFloat32, kFloat16}}});
  kernels.add("AdjustSaturation", "cuda", cuda::make_launching<colours<Colours::kSaturation>>,
              {{"T", {kFloat32, kFloat16}}});
  kernels.add("AdjustContrastv2", "cuda", cuda::make_launching<contrast>, {{"T", {kFloat32, kFloat16}}});
}

}  // namespace argosy
