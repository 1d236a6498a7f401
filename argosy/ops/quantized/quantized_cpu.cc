#include "argosy/ops/quantized/ranges.h"

namespace argosy {

namespace quantized {

namespace {

constexpr int kPoint = 16;

// As large as fits, for numbers that come of nearly empty ranges.
std::int64_t fixed(double v) { return std::isnan(v) ? 0 : static_cast<std::int64_t>(std::clamp(v, -4e18, 4e18)); }
std::int64_t wrapped(std::uint64_t v) { return static_cast<std::int64_t>(v); }

}  // namespace

Requantizer::Requantizer(Range from, Range to) {
  const float width = to.greatest - to.least;
  if (width == 0) return;
  constexpr double kOne = 1 << kPoint;
  const float middle = (from.least + from.greatest) / 2.0f;
  scale_ = fixed(255.0 * kOne * static_cast<double>(from.greatest - from.least) / static_cast<double>(width));
  from_ = fixed(
      static_cast<double>(middle * static_cast<float>(255.0 / static_cast<double>(width)) * static_cast<float>(kOne)));
  to_ = fixed(kOne * (static_cast<double>(to.least) * 255.0) / static_cast<double>(width));
}

std::uint8_t Requantizer::operator()(std::int32_t q) const {
  // Wraps round as 64-bit integers do, where a range is so narrow that they do not suffice.
  const std::int64_t product =
      wrapped(static_cast<std::uint64_t>(std::int64_t{q}) * static_cast<std::uint64_t>(scale_));
  const std::uint64_t sum = static_cast<std::uint64_t>(product >> 32) + static_cast<std::uint64_t>(from_) -
                            static_cast<std::uint64_t>(to_) + (std::uint64_t{1} << (kPoint - 1));
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(wrapped(sum) >> kPoint, 0, 255));
}

Result<float> range_end(const KernelContext& c, int i, std::string_view op) {
  const Tensor& t = c.input(i);
  if (t.shape().rank() != 0) {
    return invalid_argument(op, ": input ", i, ", an end of a range, must be a scalar, not of shape ", t.shape());
  }
  return *t.data<float>();
}

Result<Range> range_at(const KernelContext& c, int i, std::string_view op) {
  ARGOSY_ASSIGN_OR_RETURN(const float least, range_end(c, i, op));
  ARGOSY_ASSIGN_OR_RETURN(const float greatest, range_end(c, i + 1, op));
  if (!std::isfinite(least) || !std::isfinite(greatest)) {
    return invalid_argument(op, ": a range must have ends, not go from ", least, " to ", greatest);
  }
  return Range{least, greatest};
}

Status write_range(KernelContext& c, int i, Range r) {
  for (const float v : {r.least, r.greatest}) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(i++, {}));
    *y->data<float>() = v;
  }
  return ok_status();
}

}  // namespace quantized

void add_kernels_cpu_quantized(KernelRegistry& kernels) {
  quantized::add_conversions(kernels);
  quantized::add_arithmetic(kernels);
  quantized::add_movements(kernels);
  quantized::add_pairs(kernels);
}

}  // namespace argosy
