#include "argosy/ops/conv/composed.h"

#include <algorithm>

#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/conv/conv_geometry.h"

namespace argosy {

AttrMap attrs_of_plain_conv(const AttrMap& conv, int spatial) {
  const bool first = conv.get_string("data_format") == "CHANNELS_FIRST";
  auto dilations = conv.get<std::vector<std::int64_t>>("dilations");
  if (dilations.empty()) dilations.assign(static_cast<std::size_t>(spatial) + 2, 1);
  AttrMap attrs = {{"T", conv.get_type("T")},
                   {"strides", conv.get<std::vector<std::int64_t>>("strides")},
                   {"padding", conv.get_string("padding")},
                   {"dilations", dilations}};
  if (spatial == 2) {
    attrs.set("explicit_paddings", conv.get<std::vector<std::int64_t>>("explicit_paddings"));
    attrs.set("data_format", first ? "NCHW" : "NHWC");
  } else {
    attrs.set("data_format", first ? "NCDHW" : "NDHWC");
  }
  return attrs;
}

Result<int> spatial_axes(const AttrMap& conv, int input_rank, int filter_rank) {
  const std::int64_t batch_dims = conv.get_int("batch_dims");
  if (filter_rank != 4 && filter_rank != 5)
    return invalid_argument("The filter must be rank 4 or 5 but got ", filter_rank);
  const std::int64_t spatial = input_rank - std::clamp<std::int64_t>(batch_dims, -(1 << 20), input_rank) - 1;
  if (batch_dims < 0 || (spatial != 2 && spatial != 3))
    return invalid_argument("The input must have 2 or 3 spatial dimensions but got ", spatial);
  if (filter_rank != spatial + 2) {
    return invalid_argument("Conv: a filter of rank ", filter_rank, " for an input of ", spatial,
                            " spatial dimensions: its rank must be ", spatial + 2);
  }
  const auto& strides = conv.get<std::vector<std::int64_t>>("strides");
  if (static_cast<std::int64_t>(strides.size()) != spatial + 2)
    return invalid_argument("Sliding window strides field must specify ", spatial + 2, " dimensions");
  const bool first = conv.get_string("data_format") == "CHANNELS_FIRST";
  if (strides[0] != 1 || strides[first ? 1 : strides.size() - 1] != 1)
    return invalid_argument("Current implementation does not support strides in the batch and depth dimensions.");
  const auto& dilations = conv.get<std::vector<std::int64_t>>("dilations");
  if (!dilations.empty() && static_cast<std::int64_t>(dilations.size()) != spatial + 2)
    return invalid_argument("Dilation rates field must specify", spatial + 2, "dimensions");
  if (!dilations.empty() && (dilations[0] != 1 || dilations[first ? 1 : dilations.size() - 1] != 1)) {
    return invalid_argument(
        "Current implementation does not support dilation rates in the batch and depth dimensions.");
  }
  if (spatial == 3 && conv.get_string("padding") == "EXPLICIT")
    return invalid_argument("Conv: explicit padding is for 2 spatial dimensions");
  if (conv.get_int("groups") < 1)
    return invalid_argument("Conv: groups must be positive, not ", conv.get_int("groups"));
  return static_cast<int>(spatial);
}

Result<std::array<std::int64_t, 4>> mirrored_sizes(std::span<const std::int64_t> sizes,
                                                   std::span<const std::int64_t> paddings, bool reflect) {
  std::array<std::int64_t, 4> padded{};
  for (std::size_t k = 0; k < 4; ++k) {
    const std::int64_t before = paddings[2 * k], after = paddings[2 * k + 1];
    if (before < 0 || after < 0) return invalid_argument("paddings must be non-negative: ", before, " ", after);
    if ((k == 0 || k == 3) && (before != 0 || after != 0)) {
      return invalid_argument("Fused mirror padding only support spatial padding, not ",
                              k == 0 ? "batches" : "channels", ": ", before, " ", after);
    }
    if (sizes[k] >= 0 && (reflect ? before >= sizes[k] || after >= sizes[k] : before > sizes[k] || after > sizes[k]) &&
        before + after > 0) {
      return invalid_argument("paddings must be ", reflect ? "less than" : "no greater than",
                              " the dimension size: ", before, ", ", after,
                              reflect ? " not less than " : " greater than ", sizes[k]);
    }
    padded[k] = sizes[k] < 0 ? PartialShape::kUnknown : sizes[k] + before + after;
  }
  return padded;
}

namespace {

Status conv_shape(ShapeContext& c) {
  const PartialShape &x = c.input(0), &f = c.input(1);
  if (f.has_rank() && f.rank() != 4 && f.rank() != 5)
    return invalid_argument("The filter must be rank 4 or 5 but got ", f.rank());
  if (!x.has_rank() || !f.has_rank()) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const int spatial, spatial_axes(c.attrs(), x.rank(), f.rank()));
  PartialShape::Sizes sizes(static_cast<std::size_t>(x.rank()), kUnknownSize);
  const int batch_dims = x.rank() - spatial - 1;
  for (int k = 0; k < batch_dims; ++k) sizes[k] = x[k];
  if (spatial == 2 && x.is_full() && f.is_full()) {
    std::vector<std::int64_t> image = {1};
    for (int k = 0; k < 3; ++k) image.push_back(x[batch_dims + k]);
    ARGOSY_ASSIGN_OR_RETURN(const Shape one, Shape::make(image));
    ARGOSY_ASSIGN_OR_RETURN(const Shape filter, f.full());
    ARGOSY_ASSIGN_OR_RETURN(const ConvAttrs attrs, read_conv("Conv2D", attrs_of_plain_conv(c.attrs(), 2)));
    ARGOSY_ASSIGN_OR_RETURN(const ConvGeometry g, conv_geometry(attrs, one, filter));
    const Shape y = conv_output_shape(attrs, g);
    for (int k = 0; k < 3; ++k) sizes[batch_dims + k] = y[k + 1];
  }
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

// Inputs after the images: `size` if they are resized, then paddings and filter.
Status padded_shape(ShapeContext& c) {
  const bool resized = c.num_inputs() == 4;
  const int at = resized ? 2 : 1;
  ARGOSY_ASSIGN_OR_RETURN(PartialShape x, c.with_rank(0, 4));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape paddings, c.with_rank(at, 2));
  if (const PartialShape& f = c.input(at + 1); f.has_rank() && f.rank() != 4)
    return invalid_argument("filter must be 4-dimensional: ", f);
  const PartialShape f = c.input(at + 1);
  if ((paddings[0] >= 0 && paddings[0] != 4) || (paddings[1] >= 0 && paddings[1] != 2)) {
    return invalid_argument("The first dimension of paddings must be the rank of inputs: 4 ", paddings, " ", x);
  }
  c.set_output(0, {x[0], kUnknownSize, kUnknownSize, f.has_rank() ? f[3] : kUnknownSize});
  if (resized) {
    ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 1).status());
    x = {x[0], c.int_at(1, 0).value_or(kUnknownSize), c.int_at(1, 1).value_or(kUnknownSize), x[3]};
  }
  std::array<std::int64_t, 8> known{};
  for (int k = 0; k < 8; ++k) {
    const auto one = c.int_at(at, k);
    if (!one) return ok_status();
    known[static_cast<std::size_t>(k)] = *one;
  }
  if (!x.is_full() || !f.is_full()) return ok_status();
  if (x[3] != f[2]) return invalid_argument("input and filter must have the same depth: ", x[3], " vs ", f[2]);
  const std::array<std::int64_t, 4> sizes = {x[0], x[1], x[2], x[3]};
  ARGOSY_ASSIGN_OR_RETURN(const auto padded, mirrored_sizes(sizes, known, c.attrs().get_string("mode") == "REFLECT"));
  ARGOSY_ASSIGN_OR_RETURN(const Shape image, Shape::make(padded));
  ARGOSY_ASSIGN_OR_RETURN(const Shape filter, f.full());
  ARGOSY_ASSIGN_OR_RETURN(const ConvAttrs attrs, read_conv("Conv2D", c.attrs()));
  ARGOSY_ASSIGN_OR_RETURN(const ConvGeometry g, conv_geometry(attrs, image, filter));
  c.set_output(0, conv_output_shape(attrs, g));
  return ok_status();
}

}  // namespace

void define_composed_convolutions(OpRegistry& ops) {
  ops.add({.name = "Conv",
           .doc = "Convolution over 2 or 3 axes, behind any number of batch axes.",
           .inputs = {"input: T", "filter: T"},
           .outputs = {"output: T"},
           .attrs = {"T: {half, bfloat16, float, double, int32}", "strides: list(int)",
                     "padding: {'SAME', 'VALID', 'EXPLICIT'}", "explicit_paddings: list(int) = []",
                     "data_format: {'CHANNELS_FIRST', 'CHANNELS_LAST'} = 'CHANNELS_LAST'", "dilations: list(int) = []",
                     "batch_dims: int = 1", "groups: int = 1"},
           .shape = conv_shape,
           .gradient = kNotDifferentiable,
           .sharding = "whole: attributes say which of its dimensions are the batch"});
  const auto add = [&](const char* name, const char* doc, bool resized) {
    OpSpec op{.name = name, .doc = doc, .inputs = {"input: T"}, .outputs = {"output: T"}};
    if (resized) op.inputs.emplace_back("size: int32");
    op.inputs.emplace_back("paddings: int32");
    op.inputs.emplace_back("filter: T");
    op.attrs = {resized ? "T: {half, float, double}" : "T: {half, bfloat16, float, double}",
                "mode: {'REFLECT', 'SYMMETRIC'}", "strides: list(int)", "padding: {'SAME', 'VALID'}"};
    if (resized) op.attrs.emplace_back("resize_align_corners: bool = false");
    op.shape = padded_shape;
    op.gradient = kNotDifferentiable;
    op.cpu_only = true;
    ops.add(std::move(op));
  };
  add("FusedPadConv2D", "Images padded by mirroring, then convolved.", false);
  add("FusedResizeAndPadConv2D", "Images resized (bilinear), padded by mirroring, then convolved.", true);
}

}  // namespace argosy
