#include <algorithm>
#include <cmath>
#include <limits>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

namespace {

template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Along an axis: where an element's slice is, as [outer, slices, inner]; without one, a single slice.
struct Slices {
  std::int64_t count = 1, inner = 1;
  std::int64_t of(std::int64_t i) const { return count == 1 ? 0 : i / inner % count; }
};
Result<Slices> slices_of(const std::string& op, const Shape& shape, std::int64_t axis) {
  if (axis < -1 || axis >= shape.rank()) {
    return invalid_argument(op, ": axis ", axis, " of an input of shape ", shape);
  }
  Slices s;
  if (axis == -1) return s;
  s.count = shape[static_cast<int>(axis)];
  for (int k = static_cast<int>(axis) + 1; k < shape.rank(); ++k) s.inner *= shape[k];
  return s;
}
Status expect_limits(const std::string& op, const Tensor& t, const Slices& s, std::int64_t axis) {
  if (axis == -1 ? t.shape().rank() == 0 : t.shape() == Shape({s.count})) return ok_status();
  return invalid_argument(op, ": limits must be ", axis == -1 ? "scalars" : "vectors as long as the axis",
                          ", not of shape ", t.shape());
}

// How [min, max] maps to whole numbers of so many bits, zero staying zero: the side that needs the smaller scale sets
// it.
template <typename W>
struct Levels {
  W scale = 1, back = 1, low = 0, high = 0;
  Levels(W min, W max, bool with_sign, std::int64_t bits, bool narrow) : low(min), high(max) {
    const auto lowest = static_cast<W>(with_sign ? -(std::int64_t{1} << (bits - 1)) + (narrow ? 1 : 0) : 0);
    const auto highest =
        static_cast<W>(with_sign ? (std::int64_t{1} << (bits - 1)) - 1 : (std::int64_t{1} << bits) - 1);
    constexpr W kNone = std::numeric_limits<W>::max();
    const W by_min = lowest * min > 0 ? lowest / min : kNone;
    const W by_max = highest * max > 0 ? highest / max : kNone;
    if (by_min < by_max) {
      scale = by_min;
      back = min / lowest;
      high = highest * back;
    } else {
      scale = by_max;
      back = max / highest;
      low = lowest * back;
    }
  }
};

class RoundToLevels final : public Kernel {
 public:
  explicit RoundToLevels(const KernelInit& init)
      : op_(init.op.name),
        signed_(init.attrs.get_bool("signed_input")),
        given_(init.attrs.get_bool("range_given")),
        narrow_(init.attrs.get_or("narrow_range", false)),
        up_(init.attrs.get_or("round_mode", std::string()) == "HALF_UP"),
        bits_(init.attrs.get_or<std::int64_t>("num_bits", 8)),
        axis_(init.attrs.get_or<std::int64_t>("axis", -1)),
        min_(init.attrs.get_or("input_min", 0.0f)),
        max_(init.attrs.get_or("input_max", 0.0f)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<RoundToLevels>(init));
  }

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const Slices slices, slices_of(op_, x.shape(), axis_));
    std::int64_t bits = bits_;
    if (c.num_inputs() == 4) {
      if (c.input(3).elements() != 1) return invalid_argument(op_, ": num_bits must be one number");
      bits = *c.input(3).data<std::int32_t>();
    }
    if (bits < (signed_ ? 2 : 1) || bits > 62) return invalid_argument(op_, ": num_bits is out of range: ", bits);
    const bool limits = given_ && c.num_inputs() > 1;
    for (int i = 1; limits && i < 3; ++i) ARGOSY_RETURN_IF_ERROR(expect_limits(op_, c.input(i), slices, axis_));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
    return dispatch<FloatTypes>(x.dtype(), op_, [&]<typename T>() -> Status {
      using W = Wide<T>;
      const auto n = static_cast<std::size_t>(slices.count);
      std::vector<W> low(n, static_cast<W>(min_)), high(n, static_cast<W>(max_));
      if (limits) {
        for (std::size_t k = 0; k < n; ++k) {
          low[k] = static_cast<W>(c.input(1).data<T>()[k]);
          high[k] = static_cast<W>(c.input(2).data<T>()[k]);
        }
      } else if (!given_) {
        std::fill(low.begin(), low.end(), std::numeric_limits<W>::infinity());
        std::fill(high.begin(), high.end(), -std::numeric_limits<W>::infinity());
        for (std::int64_t i = 0; i < x.elements(); ++i) {
          const auto k = static_cast<std::size_t>(slices.of(i));
          low[k] = std::min(low[k], static_cast<W>(x.data<T>()[i]));
          high[k] = std::max(high[k], static_cast<W>(x.data<T>()[i]));
        }
      }
      std::vector<Levels<W>> levels;
      for (std::size_t k = 0; k < n; ++k) {
        if (given_ && !(low[k] <= high[k])) {
          return invalid_argument(op_, ": Invalid range: input_min ", low[k], " > input_max ", high[k]);
        }
        levels.emplace_back(low[k], high[k], signed_, bits, narrow_);
      }
      for (std::int64_t i = 0; i < x.elements(); ++i) {
        const Levels<W>& l = levels[static_cast<std::size_t>(slices.of(i))];
        W v = static_cast<W>(x.data<T>()[i]);
        if (given_) v = std::clamp(v, l.low, l.high);
        v *= l.scale;
        y->data<T>()[i] = static_cast<T>((up_ ? std::floor(v + W(0.5)) : std::nearbyint(v)) * l.back);
      }
      return ok_status();
    });
  }

 private:
  const std::string op_;
  const bool signed_, given_, narrow_, up_;
  const std::int64_t bits_, axis_;
  const float min_, max_;
};

class LevelsGradient final : public Kernel {
 public:
  explicit LevelsGradient(const AttrMap& attrs) : axis_(attrs.get_int("axis")) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<LevelsGradient>(init.attrs));
  }
  Status run(KernelContext& c) override {
    static const std::string op = "QuantizeAndDequantizeV4Grad";
    const Tensor& x = c.input(1);
    if (!(c.input(0).shape() == x.shape())) {
      return invalid_argument(op, ": gradients and input must be the same size, not ", c.input(0).shape(), " and ",
                              x.shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(const Slices slices, slices_of(op, x.shape(), axis_));
    for (int i = 2; i < 4; ++i) ARGOSY_RETURN_IF_ERROR(expect_limits(op, c.input(i), slices, axis_));
    Tensor* out[3];
    for (int i = 0; i < 3; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(out[i], c.output(i, c.input(i + 1).shape()));
    }
    return dispatch<FloatTypes>(x.dtype(), op, [&]<typename T>() {
      std::fill_n(out[1]->data<T>(), out[1]->elements(), T(0.0f));
      std::fill_n(out[2]->data<T>(), out[2]->elements(), T(0.0f));
      for (std::int64_t i = 0; i < x.elements(); ++i) {
        const std::int64_t k = slices.of(i);
        const auto v = static_cast<double>(x.data<T>()[i]);
        const bool inside =
            v >= static_cast<double>(c.input(2).data<T>()[k]) && v <= static_cast<double>(c.input(3).data<T>()[k]);
        out[0]->data<T>()[i] = inside ? c.input(0).data<T>()[i] : T(0.0f);
      }
      return ok_status();
    });
  }

 private:
  const std::int64_t axis_;
};

}  // namespace

void add_quantize_levels(KernelRegistry& kernels) {
  for (const char* version : {"", "V2", "V3", "V4"}) {
    kernels.add(std::string("QuantizeAndDequantize") + version, "cpu", RoundToLevels::make);
  }
  kernels.add("QuantizeAndDequantizeV4Grad", "cpu", LevelsGradient::make);
}

}  // namespace argosy
