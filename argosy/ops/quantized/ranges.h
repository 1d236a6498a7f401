// Conversions between integers of a quantised dtype and the numbers that they stand for. Definitions and roundings are
// those of TensorFlow's tensorflow/core/kernels/quantization_utils.h. Private to this folder's kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "argosy/op/kernel/kernel.h"

namespace argosy::quantized {

// Calls fn.template operator()<T>() with the integer type that stores a quantised dtype.
template <typename Fn>
Status with_integers(DType dtype, std::string_view op, Fn&& fn) {
  switch (dtype) {
    case DType::kQint8: return fn.template operator()<std::int8_t>();
    case DType::kQuint8: return fn.template operator()<std::uint8_t>();
    case DType::kQint16: return fn.template operator()<std::int16_t>();
    case DType::kQuint16: return fn.template operator()<std::uint16_t>();
    case DType::kQint32: return fn.template operator()<std::int32_t>();
    default: return unsupported_dtype(op, dtype);
  }
}

struct Range {
  float least = 0, greatest = 0;
  bool empty() const { return least == greatest; }
};

template <typename T>
constexpr double kSteps = static_cast<double>(std::int64_t{1} << (8 * sizeof(T)));
template <typename T>
constexpr double kLowest = static_cast<double>(std::numeric_limits<T>::lowest());
template <typename T>
constexpr double kHighest = static_cast<double>(std::numeric_limits<T>::max());

// The width of the range with one step more: kSteps times the step between neighbouring integers.
template <typename T>
double width_of(Range r) {
  return (static_cast<double>(r.greatest) - static_cast<double>(r.least)) * (kSteps<T> / (kSteps<T> - 1.0));
}

// The integer for x, not clamped to the values of T. 0 where the range is empty.
template <typename T>
std::int64_t integer_unclamped(float x, Range r) {
  if (r.empty()) return 0;
  const double scale = kSteps<T> / width_of<T>(r);
  constexpr double kMost = 4e18;
  const double q = std::round(static_cast<double>(x) * scale) - std::round(static_cast<double>(r.least) * scale);
  return static_cast<std::int64_t>(std::clamp(q + kLowest<T>, -kMost, kMost));
}
template <typename T>
T integer_for(float x, Range r) {
  if (r.empty()) return std::numeric_limits<T>::lowest();
  const std::int64_t q = integer_unclamped<T>(x, r);
  return static_cast<T>(std::clamp<std::int64_t>(q, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()));
}
// The number that an integer stands for.
template <typename T>
float number_for(T q, Range r) {
  if (r.empty()) return r.least;
  const double step = width_of<T>(r) / kSteps<T>;
  const auto narrow = static_cast<float>(step);
  // A range so narrow that a step is 0 in single precision has no steps to round to.
  const auto least = static_cast<double>(narrow > 0 ? std::round(r.least / narrow) * narrow : r.least);
  return static_cast<float>(least + (static_cast<double>(q) - kLowest<T>)*step);
}

// The same conversions in single precision: TensorFlow converts whole tensors so.
template <typename T>
class FloatLine {
 public:
  explicit FloatLine(Range r)
      : scale_(static_cast<float>(kSteps<T> / width_of<T>(r))),
        shift_(std::round(r.least * scale_) - static_cast<float>(kLowest<T>)),
        step_(static_cast<float>(static_cast<double>(r.greatest - r.least) / (kSteps<T> - 1.0))),
        start_(r.empty() ? r.least : std::round(r.least / step_) * step_) {}
  float number(T q) const { return (static_cast<float>(q) - static_cast<float>(kLowest<T>)) * step_ + start_; }
  T integer(float x) const {
    const float q = std::round(x * scale_) - shift_;
    if (!(q > static_cast<float>(kLowest<T>))) return std::numeric_limits<T>::lowest();  // NaN, too
    return static_cast<T>(std::min(q, kMost));
  }

 private:
  // The highest integer as a float. For 32 bits: the largest float below 2^31.
  static constexpr float kMost = sizeof(T) == 4 ? 2147483520.0f : static_cast<float>(kHighest<T>);
  float scale_, shift_, step_, start_;
};

// The range of the qint32 products of integers with these ranges.
template <typename A, typename B>
Range range_of_products(Range a, Range b) {
  const auto level = []<typename T>(Range r, T) {
    return (r.greatest - r.least) / static_cast<float>(kHighest<T> - kLowest<T>);
  };
  const float one = level(a, A()) * level(b, B());
  return {one * static_cast<float>(kLowest<std::int32_t>), one * static_cast<float>(kHighest<std::int32_t>)};
}

// Converts int32 of one range to uint8 of another, in fixed point with 16 fractional bits.
class Requantizer {
 public:
  Requantizer(Range from, Range to);
  std::uint8_t operator()(std::int32_t q) const;

 private:
  std::int64_t scale_ = 0, from_ = 0, to_ = 0;
};

// Input i, which must be a scalar: one end of a range.
Result<float> range_end(const KernelContext& c, int i, std::string_view op);
// Inputs i and i + 1, which must be finite, as a range.
Result<Range> range_at(const KernelContext& c, int i, std::string_view op);
// Writes a range to outputs i and i + 1.
Status write_range(KernelContext& c, int i, Range r);

void add_conversions(KernelRegistry& kernels);
void add_arithmetic(KernelRegistry& kernels);
void add_movements(KernelRegistry& kernels);
void add_pairs(KernelRegistry& kernels);

}  // namespace argosy::quantized
