#include "argosy/ops/random/sample.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

Status shuffle_rows(KernelContext& c, const Tensor& x, const Tensor& y, const Philox& from) {
  const std::int64_t rows = x.shape()[0];
  if (rows > std::numeric_limits<std::uint32_t>::max()) {
    return invalid_argument("RandomShuffle: ", rows, " rows; at most 2^32 - 1 can be shuffled");
  }
  ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(rows) * sizeof(std::uint32_t)));
  auto* const order = reinterpret_cast<std::uint32_t*>(memory.data());
  for (std::int64_t i = 0; i < rows; ++i) order[i] = static_cast<std::uint32_t>(i);
  PhiloxWords words(from);
  for (std::int64_t i = 0; i + 1 < rows; ++i) {
    std::swap(order[i], order[i + words() % static_cast<std::uint32_t>(rows - i)]);
  }
  const std::int64_t row = x.elements() / rows;
  for (std::int64_t i = 0; i < rows; ++i) copy_span(y, i * row, x, order[i] * row, row);
  return ok_status();
}

Result<std::int64_t> checked_samples(KernelContext& c) {
  const Tensor& logits = c.input(0);
  if (logits.shape().rank() != 2) {
    return invalid_argument("Multinomial: logits must be [batch, classes], not of shape ", logits.shape());
  }
  if (c.input(1).shape().rank() != 0) {
    return invalid_argument("Multinomial: num_samples must be a scalar, not of shape ", c.input(1).shape());
  }
  const std::int64_t samples = *c.input(1).data<std::int32_t>();
  if (samples < 0) return invalid_argument("Multinomial: num_samples is ", samples);
  if (samples > 0 && logits.shape()[1] == 0) {
    return invalid_argument("Multinomial: there are no classes to draw from: logits ", logits.shape());
  }
  return samples;
}

Status draw_classes(KernelContext& c, std::int64_t samples, const Philox& from) {
  const Tensor& logits = c.input(0);
  const std::int64_t batch = logits.shape()[0];
  const std::int64_t classes = logits.shape()[1];
  const std::int64_t sizes[] = {batch, samples};
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  if (y->elements() == 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(classes) * sizeof(double)));
  auto* const cdf = reinterpret_cast<double*>(memory.data());
  PhiloxWords words(from);
  std::int64_t at = 0;
  const auto write = [&](std::int64_t value) {
    if (y->dtype() == DType::kInt64) {
      y->raw_as<std::int64_t>()[at++] = value;
    } else {
      y->raw_as<std::int32_t>()[at++] = static_cast<std::int32_t>(value);
    }
  };
  return dispatch<RealTypes>(logits.dtype(), "Multinomial", [&]<typename T>() {
    const T* row = logits.data<T>();
    for (std::int64_t b = 0; b < batch; ++b, row += classes) {
      double most = std::numeric_limits<double>::lowest();
      for (std::int64_t k = 0; k < classes; ++k) {
        const auto logit = static_cast<double>(row[k]);
        if (std::isfinite(logit)) most = std::max(most, logit);
      }
      double total = 0;  // a class whose logit is infinite or NaN counts nothing
      for (std::int64_t k = 0; k < classes; ++k) {
        const auto logit = static_cast<double>(row[k]);
        if (std::isfinite(logit)) total += std::exp(logit - most);
        cdf[k] = total;
      }
      for (std::int64_t s = 0; s < samples; ++s) {
        const std::uint32_t x0 = words(), x1 = words();
        const std::uint64_t mantissa = (std::uint64_t{x0 & 0xfffffu} << 32) | x1;
        const double u = std::bit_cast<double>((std::uint64_t{1023} << 52) | mantissa) - 1.0;
        write(std::upper_bound(cdf, cdf + classes, u * total) - cdf);
      }
    }
    return ok_status();
  });
}

std::optional<std::uint64_t> shuffle_bytes(const KernelInit& init) {
  const PartialShape& x = init.input_shapes[0];
  if (!x.is_full()) return std::nullopt;
  return x.rank() == 0 || x[0] < 2 ? 0 : static_cast<std::uint64_t>(x[0]) * sizeof(std::uint32_t);
}

std::optional<std::uint64_t> classes_bytes(const KernelInit& init) {
  const PartialShape& logits = init.input_shapes[0];
  if (!logits.is_full()) return std::nullopt;
  return logits.rank() == 2 ? static_cast<std::uint64_t>(logits[1]) * sizeof(double) : 0;
}

}  // namespace argosy
