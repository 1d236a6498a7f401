#include "argosy/ops/conv/host_conv.h"

#include "argosy/ops/conv/winograd/winograd.h"

namespace argosy {

using onednn::ConvKind;

Result<HostConv> HostConv::read(const KernelInit& init) {
  HostConv o;
  const std::string& op = init.op.name;
  o.kind = op.ends_with("BackpropInput")    ? ConvKind::kBackwardInput
           : op.ends_with("BackpropFilter") ? ConvKind::kBackwardFilter
                                            : ConvKind::kForward;
  ARGOSY_ASSIGN_OR_RETURN(o.attrs, read_conv(op, init.attrs));
  o.winograd = init.attrs.get_or(kWinogradAttr, false);
  o.batch = ReductionChunks::of(init.attrs);
  if (init.attrs.find("fused_ops") != nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(o.fused, parse_fused_ops(op, init.attrs, static_cast<int>(init.input_dtypes.size()) - 2));
  }
  return o;
}

Result<HostConvCall> HostConvCall::prepare(KernelContext& c, const HostConv& o) {
  HostConvCall call;
  switch (o.kind) {
    case ConvKind::kForward: {
      const Tensor &image = c.input(0), &filter = c.input(1);
      ARGOSY_ASSIGN_OR_RETURN(call.g, conv_geometry(o.attrs, image.shape(), filter.shape()));
      call.first = image.raw();
      call.second = filter.raw();
      if (o.fused.bias) {
        const Tensor& bias = c.input(2);
        if (bias.shape().rank() != 1 || bias.elements() != call.g.out_c) {
          return invalid_argument(o.attrs.op, ": bias of shape ", bias.shape(), " does not fit ", call.g.out_c,
                                  " channels");
        }
        call.bias = bias.raw();
      }
      ARGOSY_ASSIGN_OR_RETURN(call.result, c.output(0, conv_output_shape(o.attrs, call.g)));
      return call;
    }
    case ConvKind::kBackwardInput: {
      const Tensor &filter = c.input(1), &dy = c.input(2);
      ARGOSY_ASSIGN_OR_RETURN(const Shape sizes, conv_input_sizes(o.attrs, c.input(0), filter.shape(), dy.shape()));
      ARGOSY_ASSIGN_OR_RETURN(call.g, conv_geometry(o.attrs, sizes, filter.shape()));
      ARGOSY_RETURN_IF_ERROR(check_out_backprop(o.attrs, call.g, dy.shape()));
      call.first = dy.raw();
      call.second = filter.raw();
      ARGOSY_ASSIGN_OR_RETURN(call.result, c.output(0, sizes));
      return call;
    }
    case ConvKind::kBackwardFilter: {
      const Tensor &image = c.input(0), &dy = c.input(2);
      ARGOSY_ASSIGN_OR_RETURN(const Shape sizes, to_shape(c.input(1), str_cat(o.attrs.op, ": filter_sizes")));
      ARGOSY_ASSIGN_OR_RETURN(call.g, conv_geometry(o.attrs, image.shape(), sizes));
      ARGOSY_RETURN_IF_ERROR(check_out_backprop(o.attrs, call.g, dy.shape()));
      call.first = image.raw();
      call.second = dy.raw();
      ARGOSY_ASSIGN_OR_RETURN(call.result, c.output(0, sizes));
      return call;
    }
  }
  return internal_error("unknown kind of convolution");
}

std::optional<ConvGeometry> HostConvCall::geometry(const KernelInit& init, const HostConv& o) {
  const PartialShape& image = o.kind == ConvKind::kBackwardInput ? init.output_shapes[0] : init.input_shapes[0];
  const PartialShape& filter = o.kind == ConvKind::kBackwardFilter ? init.output_shapes[0] : init.input_shapes[1];
  const auto images = image.full(), filters = filter.full();
  if (!images.ok() || !filters.ok()) return std::nullopt;
  auto g = conv_geometry(o.attrs, *images, *filters);
  return g.ok() ? std::optional(*std::move(g)) : std::nullopt;
}

}  // namespace argosy
