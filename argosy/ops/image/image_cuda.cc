// Ops on images on a GPU: resizing, crops, colours.
#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/image/crop_inputs.h"
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
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, check_crop(c));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  const std::int64_t n = y->elements();
  if (n == 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const cuda::OnGpu index, cuda::OnGpu::of(c, 2));
  return cuda::launch(c, {"crop", str_cat("crop_", type_suffix(x.dtype()))}, grid_for(n), n, x.raw(), boxes.raw(),
                      index.data(), y->raw(), crops_of(attrs, x.shape(), shape));
}

Status crop_back(KernelContext& c, const AttrMap& attrs) {
  const Tensor &dy = c.input(0), &boxes = c.input(1);
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, check_crop_grad_image(c));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, shape));
  const std::int64_t n = dx->elements();
  if (n == 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const cuda::OnGpu index, cuda::OnGpu::of(c, 2));
  return cuda::launch(c, {"crop", str_cat("crop_back_", type_suffix(dx->dtype()))}, grid_for(n), n, dy.raw(),
                      boxes.raw(), index.data(), dx->raw(), crops_of(attrs, shape, dy.shape()));
}

Status crop_back_boxes(KernelContext& c, const AttrMap& attrs) {
  const Tensor &dy = c.input(0), &x = c.input(1), &boxes = c.input(2);
  ARGOSY_RETURN_IF_ERROR(check_crop_grad_boxes(c));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dboxes, c.output(0, boxes.shape()));
  if (dboxes->elements() == 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const cuda::OnGpu index, cuda::OnGpu::of(c, 3));
  return cuda::launch(c, {"crop", str_cat("crop_back_boxes_", type_suffix(x.dtype()))},
                      grid_for(boxes.shape()[0] * cuda::kBlock), dy.raw(), x.raw(), boxes.raw(), index.data(),
                      dboxes->raw(), crops_of(attrs, x.shape(), dy.shape()));
}

// --- colours ---------------------------------------------------------------------------------------------------------

enum class Colours { kRgbToHsv, kHsvToRgb, kHue, kSaturation };

template <Colours kColours>
Status colours(KernelContext& c) {
  constexpr const char* kOps[] = {"RGBToHSV", "HSVToRGB", "AdjustHue", "AdjustSaturation"};
  constexpr const char* kKernels[] = {"rgb_to_hsv_", "hsv_to_rgb_", "adjust_hue_", "adjust_saturation_"};
  constexpr auto kWhich = static_cast<std::size_t>(kColours);
  constexpr bool kAdjusts = kColours == Colours::kHue || kColours == Colours::kSaturation;
  const Tensor& x = c.input(0);
  if constexpr (kAdjusts) ARGOSY_RETURN_IF_ERROR(check_adjusted(c, {kColours == Colours::kHue ? "delta" : "scale"}));
  ARGOSY_RETURN_IF_ERROR(check_three_channels(x.shape(), kOps[kWhich]));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  const std::int64_t n = x.elements() / 3;
  const void* by = nullptr;
  if constexpr (kAdjusts) by = c.input(1).raw();
  return cuda::launch(c, {"colour", str_cat(kKernels[kWhich], type_suffix(x.dtype()))}, grid_for(n), n, x.raw(),
                      y->raw(), by);
}

Status contrast(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_RETURN_IF_ERROR(check_adjusted(c, {"contrast_factor"}));
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
