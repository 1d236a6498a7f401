// Attributes of FakeQuant and its gradient, and checks of their inputs, for every kind of device. Private to this
// folder.
#pragma once

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// The limits min and max are attributes ("Args"), two scalar inputs, or two inputs [channels], one limit per element of
// the last axis.
struct FakeQuantOptions {
  explicit FakeQuantOptions(const KernelInit& init)
      : op(init.op.name),
        gradient(op.ends_with("Gradient")),
        channels(op.find("Channel") != std::string::npos),
        fixed(op.find("Args") != std::string::npos),
        min(init.attrs.get_or("min", 0.0f)),
        max(init.attrs.get_or("max", 0.0f)),
        bits(init.attrs.get_int("num_bits")),
        lowest(init.attrs.get_bool("narrow_range") ? 1.0f : 0.0f) {}

  // INVALID_ARGUMENT: num_bits is outside [2, 16], or min is not below max.
  Status check() const {
    if (bits < 2 || bits > 16) {
      return invalid_argument(op, ": num_bits must be between 2 and 16, inclusive, not ", bits);
    }
    if (fixed && !(min < max)) {
      return invalid_argument(op, ": min has to be smaller than max, was: ", min, " >= ", max);
    }
    return ok_status();
  }

  // The shape of the limits: [channels], or a scalar. INVALID_ARGUMENT where the inputs do not fit.
  Result<Shape> check_inputs(const KernelContext& c) const {
    const Shape& shape = c.input(x()).shape();
    if (gradient && !(c.input(0).shape() == shape)) {
      return invalid_argument(op, ": gradients and inputs must be the same size, not ", c.input(0).shape(), " and ",
                              shape);
    }
    if (channels && shape.rank() == 0) {
      return invalid_argument(op, ": inputs must have channels, their last axis");
    }
    Shape limits = channels ? Shape{shape.back()} : Shape{};
    for (int i = x() + 1; i < c.num_inputs(); ++i) {
      if (c.input(i).shape() == limits) continue;
      return invalid_argument(op, ": min and max must have shape ", limits, ", not ", c.input(i).shape());
    }
    return limits;
  }

  // The input that is quantised. A gradient comes before it, the limits after it.
  int x() const { return gradient ? 1 : 0; }
  float highest() const { return static_cast<float>((std::int64_t{1} << bits) - 1); }

  const std::string op;
  const bool gradient, channels, fixed;
  const float min, max;
  const std::int64_t bits;
  const float lowest;
};

}  // namespace argosy
