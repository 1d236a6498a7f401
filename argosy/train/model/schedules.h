// Learning rates that follow the training step. A number is a constant rate.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// A learning rate: constant, or a function of the step.
class LearningRate {
 public:
  // The same at every step.
  LearningRate(double rate);  // NOLINT(google-explicit-constructor): a number is a schedule

  // rate * decay^(step / steps). `staircase`: step / steps is rounded down.
  static LearningRate exponential(double rate, std::int64_t steps, double decay, bool staircase = false);
  // Falls from `rate` along half a cosine to end * rate at `steps`, then stays there.
  static LearningRate cosine(double rate, std::int64_t steps, double end = 0);
  // rates[i] up to and including step boundaries[i], then the next. REQUIRES: one rate more than boundaries.
  static LearningRate piecewise(std::vector<std::int64_t> boundaries, std::vector<double> rates);
  // Rises in a straight line to after.at(steps) at step `steps`, then follows `after`.
  static LearningRate warm_up(std::int64_t steps, LearningRate after);

  // The rate at an int64 step of the graph, a float scalar.
  Value build(Value step) const { return build_(step); }
  // The same rate as a number, for reports.
  double at(std::int64_t step) const { return at_(step); }

 private:
  using Build = std::function<Value(Value step)>;
  using At = std::function<double(std::int64_t step)>;
  LearningRate(Build build, At at) : build_(std::move(build)), at_(std::move(at)) {}

  Build build_;
  At at_;
};

}  // namespace argosy
