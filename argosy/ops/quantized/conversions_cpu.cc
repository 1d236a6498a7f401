// Kernels: quantise, dequantise, and requantise to another range.
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/quantized/ranges.h"

namespace argosy::quantized {

namespace {

enum class Mode { kMinCombined, kMinFirst, kScaled };

Mode mode_of(const AttrMap& attrs) {
  const std::string& mode = attrs.get_string("mode");
  return mode == "MIN_FIRST" ? Mode::kMinFirst : mode == "SCALED" ? Mode::kScaled : Mode::kMinCombined;
}

// The float next to a whole number that does not pass the integers of T.
template <typename T>
T to_integer(float v) {
  if (!(v >= static_cast<float>(kLowest<T>))) return std::numeric_limits<T>::lowest();  // NaN, too
  if (v >= static_cast<float>(kHighest<T>)) return std::numeric_limits<T>::max();
  return static_cast<T>(v);
}

// Slices along an axis: [outer, slices, inner]; without one, one slice.
struct Slices {
  std::int64_t outer = 1, count = 1, inner = 1;
  static Result<Slices> of(std::string_view op, const Shape& shape, std::int64_t axis, const Tensor& least,
                           const Tensor& greatest) {
    Slices s;
    if (axis == -1) {
      s.inner = shape.elements();
    } else {
      if (axis < -1 || axis >= shape.rank()) {
        return invalid_argument(op, ": axis ", axis, " of an input of shape ", shape);
      }
      s.count = shape[static_cast<int>(axis)];
      for (int i = 0; i < shape.rank(); ++i)
        (i < axis ? s.outer : i > axis ? s.inner : s.outer) *= i == axis ? 1 : shape[i];
    }
    for (const Tensor* t : {&least, &greatest}) {
      const bool fits = axis == -1 ? t->elements() == 1 && t->shape().rank() <= 1 : t->shape() == Shape{s.count};
      if (!fits) {
        return invalid_argument(op, ": ranges of shape ", t->shape(), ", where ", s.count, " slices want one each");
      }
    }
    return s;
  }
};

class Quantize final : public Kernel {
 public:
  explicit Quantize(const AttrMap& attrs)
      : mode_(mode_of(attrs)),
        to_even_(attrs.get_string("round_mode") == "HALF_TO_EVEN"),
        narrow_(attrs.get_bool("narrow_range")),
        axis_(attrs.get_int("axis")),
        least_width_(static_cast<float>(attrs.get_float("ensure_minimum_range"))) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    if (init.attrs.get_string("round_mode") == "HALF_TO_EVEN" && mode_of(init.attrs) != Mode::kScaled) {
      return invalid_argument("Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '",
                              init.attrs.get_string("mode"), "'.");
    }
    return std::unique_ptr<Kernel>(std::make_unique<Quantize>(init.attrs));
  }

  Status run(KernelContext& c) override {
    const Tensor &x = c.input(0), &least = c.input(1), &greatest = c.input(2);
    ARGOSY_ASSIGN_OR_RETURN(const Slices s, Slices::of("QuantizeV2", x.shape(), axis_, least, greatest));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
    const Shape ranges = axis_ == -1 ? Shape{} : Shape{s.count};
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const from, c.output(1, ranges));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const to, c.output(2, ranges));
    return with_integers(y->dtype(), "QuantizeV2", [&]<typename T>() -> Status {
      for (std::int64_t k = 0; k < s.count; ++k) {
        ARGOSY_ASSIGN_OR_RETURN(Range r, widened({least.data<float>()[k], greatest.data<float>()[k]}));
        const FloatLine<T> line(r);
        const float scale = scale_of<T>(r);
        for (std::int64_t o = 0; o < s.outer; ++o) {
          const std::int64_t at = (o * s.count + k) * s.inner;
          const float* const in = x.data<float>() + at;
          T* const out = y->raw_as<T>() + at;
          parallel_for(s.inner, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) out[i] = integer<T>(in[i], r, scale, line);
          });
        }
        from->data<float>()[k] = r.least;
        to->data<float>()[k] = r.greatest;
      }
      return ok_status();
    });
  }

 private:
  // Around 0, and not too narrow.
  Result<Range> widened(Range given) const {
    if (!std::isfinite(given.least) || !std::isfinite(given.greatest) || given.greatest < given.least) {
      return invalid_argument("QuantizeV2: input_max_range must be larger than input_min_range, not ", given.greatest,
                              " and ", given.least);
    }
    Range r{std::min(0.0f, given.least), 0};
    const float size = std::max({1.0f, std::fabs(given.least), std::fabs(given.greatest)});
    r.greatest = std::max(0.0f, std::max(given.greatest, r.least + size * least_width_));
    return r;
  }

  // Integers per 1; SCALED makes the range what all integers stand for then.
  template <typename T>
  float scale_of(Range& r) const {
    if (mode_ == Mode::kMinCombined) {
      return static_cast<float>((kHighest<T> - kLowest<T>) / static_cast<double>(r.greatest - r.least));
    }
    if (mode_ == Mode::kMinFirst) return 0;  // FloatLine has its own
    const float lowest = static_cast<float>(kLowest<T> + (narrow_ ? 1 : 0)), highest = static_cast<float>(kHighest<T>);
    const float most = std::numeric_limits<float>::max();
    const float scale = std::min(lowest * r.least > 0 ? lowest / r.least : most,
                                 highest * r.greatest > 0 ? highest / r.greatest : most);
    r = {lowest / scale, highest / scale};
    return scale;
  }

  template <typename T>
  T integer(float x, Range r, float scale, const FloatLine<T>& line) const {
    if (mode_ == Mode::kMinFirst) return line.integer(x);
    const float inside = std::max(std::min(x, r.greatest), r.least);
    if (mode_ == Mode::kScaled)
      return to_integer<T>(to_even_ ? std::nearbyint(inside * scale) : std::round(inside * scale));
    const float above = (inside - r.least) * scale;
    if constexpr (std::is_signed_v<T>) {
      constexpr auto kHalf = static_cast<float>(kSteps<T> / 2);
      return to_integer<T>(std::round(above - kHalf));
    }
    return to_integer<T>(above + 0.5f);
  }

  const Mode mode_;
  const bool to_even_, narrow_;
  const std::int64_t axis_;
  const float least_width_;
};

class Dequantize final : public Kernel {
 public:
  explicit Dequantize(const AttrMap& attrs)
      : mode_(mode_of(attrs)), narrow_(attrs.get_bool("narrow_range")), axis_(attrs.get_int("axis")) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    if (init.attrs.get_type("dtype") == DType::kBfloat16 && mode_of(init.attrs) != Mode::kMinCombined) {
      return invalid_argument("When output type is bfloat16, Mode string must be 'MIN_COMBINED', is '",
                              init.attrs.get_string("mode"), "'");
    }
    return std::unique_ptr<Kernel>(std::make_unique<Dequantize>(init.attrs));
  }

  Status run(KernelContext& c) override {
    const Tensor &x = c.input(0), &least = c.input(1), &greatest = c.input(2);
    ARGOSY_ASSIGN_OR_RETURN(const Slices s, Slices::of("Dequantize", x.shape(), axis_, least, greatest));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
    const bool narrow_output = y->dtype() == DType::kBfloat16;
    return with_integers(x.dtype(), "Dequantize", [&]<typename T>() {
      for (std::int64_t k = 0; k < s.count; ++k) {
        const Line line = line_of<T>({least.data<float>()[k], greatest.data<float>()[k]});
        for (std::int64_t o = 0; o < s.outer; ++o) {
          const std::int64_t at = (o * s.count + k) * s.inner;
          const T* const in = x.raw_as<T>() + at;
          parallel_for(s.inner, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
              const float v = (static_cast<float>(in[i]) + line.shift) * line.scale + line.start;
              if (narrow_output) {
                y->raw_as<bfloat16>()[at + i] = bfloat16(v);
              } else {
                y->raw_as<float>()[at + i] = v;
              }
            }
          });
        }
      }
      return ok_status();
    });
  }

 private:
  struct Line {
    float shift, scale, start;  // (q + shift) * scale + start
  };
  template <typename T>
  Line line_of(Range r) const {
    if (mode_ == Mode::kMinCombined) {
      const float half = std::is_signed_v<T> ? static_cast<float>(kSteps<T> / 2) : 0.0f;
      return {half, (r.greatest - r.least) / static_cast<float>(kHighest<T> - kLowest<T>), r.least};
    }
    if (mode_ == Mode::kMinFirst) {
      const auto step = static_cast<float>(static_cast<double>(r.greatest - r.least) / (kSteps<T> - 1.0));
      return {-static_cast<float>(kLowest<T>), step, r.empty() ? r.least : std::round(r.least / step) * step};
    }
    const float highest = static_cast<float>(kHighest<T>);
    if constexpr (!std::is_signed_v<T>) return {0, r.greatest / highest, 0};
    return {0, std::max(r.least / static_cast<float>(kLowest<T> + (narrow_ ? 1 : 0)), r.greatest / highest), 0};
  }

  const Mode mode_;
  const bool narrow_;
  const std::int64_t axis_;
};

// Output 0 from the integers of input 0, which are of range `from`.
Status write_requantized(KernelContext& c, std::string_view op, Range from, Range to) {
  const Tensor& x = c.input(0);
  if (x.dtype() != DType::kQint32) return unsupported_dtype(op, x.dtype());
  const DType dtype = c.output_dtype(0);
  if (dtype != DType::kQuint8 && dtype != DType::kQint8) return unsupported_dtype(op, dtype);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
  const std::int32_t* const in = x.raw_as<std::int32_t>();
  const Requantizer fixed(from, to);
  parallel_for(x.elements(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (dtype == DType::kQuint8) {
        y->raw_as<std::uint8_t>()[i] = fixed(in[i]);
      } else {
        y->raw_as<std::int8_t>()[i] = integer_for<std::int8_t>(number_for(in[i], from), to);
      }
    }
  });
  return write_range(c, 1, to);
}

Result<Range> range_taken(const KernelContext& c, std::string_view op, Range r) {
  const Tensor& x = c.input(0);
  if (x.dtype() != DType::kQint32) return unsupported_dtype(op, x.dtype());
  if (x.elements() == 0) return invalid_argument(op, ": there are no integers in an input of shape ", x.shape());
  const auto [least, greatest] = std::minmax_element(x.raw_as<std::int32_t>(), x.raw_as<std::int32_t>() + x.elements());
  return Range{std::min(0.0f, number_for(*least, r)), number_for(*greatest, r)};
}

Status requantize(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Range from, range_at(c, 1, "Requantize"));
  ARGOSY_ASSIGN_OR_RETURN(const Range to, range_at(c, 3, "Requantize"));
  if (to.least > 0) return invalid_argument("requested_output_min must be <= 0, but got ", to.least);
  return write_requantized(c, "Requantize", from, to);
}

Status requantization_range(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Range from, range_at(c, 1, "RequantizationRange"));
  ARGOSY_ASSIGN_OR_RETURN(const Range taken, range_taken(c, "RequantizationRange", from));
  return write_range(c, 0, taken);
}

Status shrink(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Range from, range_at(c, 1, "QuantizeDownAndShrinkRange"));
  ARGOSY_ASSIGN_OR_RETURN(const Range taken, range_taken(c, "QuantizeDownAndShrinkRange", from));
  return write_requantized(c, "QuantizeDownAndShrinkRange", from, taken);
}

}  // namespace

void add_conversions(KernelRegistry& kernels) {
  kernels.add("QuantizeV2", "cpu", Quantize::make);
  kernels.add("Dequantize", "cpu", Dequantize::make);
  kernels.add("Requantize", "cpu", requantize);
  kernels.add("RequantizationRange", "cpu", requantization_range);
  kernels.add("QuantizeDownAndShrinkRange", "cpu", shrink);
}

}  // namespace argosy::quantized
