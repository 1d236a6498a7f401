#include "argosy/ops/conv3d/conv3d_geometry.h"

namespace argosy::windows3d {

using Sizes = std::vector<std::int64_t>;

namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 31;

Status check_spatial(std::string_view op, const char* attr, const Sizes& v, int spatial) {
  if (static_cast<int>(v.size()) != spatial + 2) {
    return invalid_argument(op, ": ", attr, " must hold ", spatial + 2, " numbers, not ", v.size());
  }
  for (const std::int64_t n : v) {
    if (n < 1 || n > kMost) return invalid_argument(op, ": ", attr, " must be positive: ", n);
  }
  if (v.front() != 1 || v.back() != 1) {
    return invalid_argument(op, ": ", attr, " over the batch or the channels are not supported");
  }
  return ok_status();
}

}  // namespace

Result<Attributes> read_attributes(std::string_view op, const AttrMap& attrs) {
  Attributes a;
  a.spatial = op.starts_with("Dilation2D") ? 2 : 3;
  a.same = attrs.get_string("padding") == "SAME";
  a.channels_first = attrs.get_or<std::string>("data_format", "NDHWC") == "NCDHW";
  const auto read = [&](const char* name, const Sizes& given, Sizes& to) -> Status {
    const bool turned = a.channels_first && given.size() == static_cast<std::size_t>(a.spatial) + 2;
    to = turned ? channels_last(given) : given;
    return check_spatial(op, name, to, a.spatial);
  };
  ARGOSY_RETURN_IF_ERROR(read("strides", attrs.get<Sizes>("strides"), a.strides));
  a.rates = Sizes(static_cast<std::size_t>(a.spatial + 2), 1);
  for (const char* name : {"dilations", "rates"}) {
    if (const auto* rates = attrs.find_as<Sizes>(name)) ARGOSY_RETURN_IF_ERROR(read(name, *rates, a.rates));
  }
  if (const auto* window = attrs.find_as<Sizes>("ksize")) ARGOSY_RETURN_IF_ERROR(read("ksize", *window, a.window));
  return a;
}

Result<Geometry> place_windows(std::string_view op, const Attributes& a, const Sizes& sizes, const Sizes& filter) {
  Geometry g{.batch = sizes.front(), .channels = sizes.back()};
  g.axes[0] = {.size = 1};
  g.axes[0].place(false);
  for (int i = 0; i < a.spatial; ++i) {
    const auto k = static_cast<std::size_t>(i);
    Windows w{.size = sizes[k + 1],
              .window = a.window.empty() ? filter[k] : a.window[k + 1],
              .stride = a.strides[k + 1],
              .rate = a.rates[k + 1]};
    if (w.window > kMost) return invalid_argument(op, ": a window of ", w.window, " is too large");
    if (w.size >= 0 && w.window >= 0) {
      if (w.window == 0) return invalid_argument(op, ": the filter must not be empty");
      w.place(a.same);
      if (!a.same && w.count == 0 && !op.starts_with("Dilation") && op.find("Backprop") == std::string_view::npos &&
          w.size < w.reach() && w.size > 0) {
        return invalid_argument(op, ": a window of ", w.reach(), " does not fit the axis of size ", w.size);
      }
    } else {
      w.count = -1;
    }
    g.axes[static_cast<std::size_t>(3 - a.spatial + i)] = w;
  }
  return g;
}

Sizes output_sizes(const Geometry& g, const Attributes& a, std::int64_t channels) {
  Sizes sizes = {g.batch};
  for (int i = 3 - a.spatial; i < 3; ++i) {
    const std::int64_t count = g.axes[static_cast<std::size_t>(i)].count;
    sizes.push_back(count < 0 ? PartialShape::kUnknown : count);
  }
  sizes.push_back(channels);
  return sizes;
}

}  // namespace argosy::windows3d
