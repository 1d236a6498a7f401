// Convolutions of integers, for Conv alone: the plain sums, which wrap around as integers do.
#include <array>

#include "argosy/ops/conv/composed.h"

namespace argosy {

namespace {

// One spatial axis.
struct Axis {
  std::int64_t in = 1, filter = 1, out = 1, stride = 1, dilation = 1, before = 0;
};

Result<Axis> axis_of(const AttrMap& attrs, std::int64_t in, std::int64_t filter, std::size_t at) {
  Axis a{.in = in, .filter = filter};
  a.stride = attrs.get<std::vector<std::int64_t>>("strides")[at];
  a.dilation = attrs.get<std::vector<std::int64_t>>("dilations")[at];
  if (a.stride < 1 || a.dilation < 1)
    return invalid_argument("Conv: strides and dilations must be positive, not ", a.stride, " and ", a.dilation);
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (a.stride > kMost || a.dilation > kMost || filter > kMost || in > kMost)
    return invalid_argument("Conv: sizes, strides and dilations must stay below 2^31");
  if (filter == 0) return invalid_argument("Conv: a window of a size of 0 is empty");
  const std::int64_t reach = (filter - 1) * a.dilation + 1;
  const std::string& padding = attrs.get_string("padding");
  std::int64_t padded = in;
  if (padding == "SAME") {
    a.out = (in + a.stride - 1) / a.stride;
    a.before = std::max<std::int64_t>(0, (a.out - 1) * a.stride + reach - in) / 2;
    return a;
  }
  if (padding == "EXPLICIT") {
    const auto& pads = attrs.get<std::vector<std::int64_t>>("explicit_paddings");
    if (pads.size() < 2 * at + 2) return invalid_argument("Conv: explicit_paddings has ", pads.size(), " numbers");
    a.before = pads[2 * at];
    if (a.before < 0 || pads[2 * at + 1] < 0 || a.before > kMost || pads[2 * at + 1] > kMost)
      return invalid_argument("Conv: explicit_paddings must be in [0, 2^31]");
    padded += a.before + pads[2 * at + 1];
  }
  if (padded < reach)
    return invalid_argument("Computed output size would be negative: Conv: a filter that reaches over ", reach,
                            " of an axis of ", padded);
  a.out = (padded - reach) / a.stride + 1;
  return a;
}

}  // namespace

Result<Tensor> integer_conv(const Tensor& x, const Tensor& f, const AttrMap& plain, int spatial, bool channels_first,
                            Allocator& memory) {
  std::array<Axis, 3> axes;  // the first is of size 1 where there are two
  const std::size_t skipped = spatial == 2 ? 1 : 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(spatial); ++k) {
    const std::size_t at = k + (channels_first ? 2 : 1);
    ARGOSY_ASSIGN_OR_RETURN(axes[k + skipped],
                            axis_of(plain, x.shape()[static_cast<int>(at)], f.shape()[static_cast<int>(k)], at));
  }
  const std::int64_t batch = x.shape()[0], channels = x.shape()[channels_first ? 1 : spatial + 1];
  const std::int64_t group_in = f.shape()[spatial], outputs = f.shape()[spatial + 1];
  const std::int64_t groups = group_in == 0 ? 1 : channels / group_in;
  if (groups < 1 || outputs % groups != 0)
    return invalid_argument("Conv: ", outputs, " output channels do not divide into ", groups, " groups");
  std::vector<std::int64_t> sizes = {batch};
  if (channels_first) sizes.push_back(outputs);
  for (std::size_t k = skipped; k < 3; ++k) sizes.push_back(axes[k].out);
  if (!channels_first) sizes.push_back(outputs);
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor y, Tensor::allocate(DType::kInt32, shape, memory));
  const auto place = [&](bool of_output, std::int64_t b, const std::array<std::int64_t, 3>& at, std::int64_t channel) {
    const std::int64_t depth = of_output ? outputs : channels;
    std::int64_t i = channels_first ? b * depth + channel : b;
    for (std::size_t k = 0; k < 3; ++k) i = i * (of_output ? axes[k].out : axes[k].in) + at[k];
    return channels_first ? i : i * depth + channel;
  };
  const std::int64_t per_group = outputs / groups;
  std::array<std::int64_t, 3> o{}, w{}, i{};
  for (std::int64_t b = 0; b < batch; ++b)
    for (o[0] = 0; o[0] < axes[0].out; ++o[0])
      for (o[1] = 0; o[1] < axes[1].out; ++o[1])
        for (o[2] = 0; o[2] < axes[2].out; ++o[2])
          for (std::int64_t n = 0; n < outputs; ++n) {
            std::uint32_t sum = 0;
            for (w[0] = 0; w[0] < axes[0].filter; ++w[0])
              for (w[1] = 0; w[1] < axes[1].filter; ++w[1])
                for (w[2] = 0; w[2] < axes[2].filter; ++w[2]) {
                  bool inside = true;
                  for (std::size_t k = 0; k < 3; ++k) {
                    i[k] = o[k] * axes[k].stride + w[k] * axes[k].dilation - axes[k].before;
                    inside = inside && i[k] >= 0 && i[k] < axes[k].in;
                  }
                  if (!inside) continue;
                  const std::int64_t row = (w[0] * axes[1].filter + w[1]) * axes[2].filter + w[2];
                  for (std::int64_t m = 0; m < group_in; ++m) {
                    const std::int64_t from = place(false, b, i, n / per_group * group_in + m);
                    sum += static_cast<std::uint32_t>(x.data<std::int32_t>()[from]) *
                           static_cast<std::uint32_t>(f.data<std::int32_t>()[(row * group_in + m) * outputs + n]);
                  }
                }
            y.data<std::int32_t>()[place(true, b, o, n)] = static_cast<std::int32_t>(sum);
          }
  return y;
}

}  // namespace argosy
