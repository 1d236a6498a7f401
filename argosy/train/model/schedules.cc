#include "argosy/train/model/schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/select/select.h"

namespace argosy {

namespace {

Value as_float(Value step) { return cast(step, DType::kFloat32); }

}  // namespace

LearningRate::LearningRate(double rate)
    : build_([rate](Value step) { return step.valid() ? constant(step.graph(), static_cast<float>(rate)) : Value(); }),
      at_([rate](std::int64_t) { return rate; }) {}

LearningRate LearningRate::exponential(double rate, std::int64_t steps, double decay, bool staircase) {
  return {[=](Value step) {
            const Value periods = as_float(step) / static_cast<double>(steps);
            return rate * pow(decay, staircase ? floor(periods) : periods);
          },
          [=](std::int64_t step) {
            const double periods = static_cast<double>(step) / static_cast<double>(steps);
            return rate * std::pow(decay, staircase ? std::floor(periods) : periods);
          }};
}

LearningRate LearningRate::cosine(double rate, std::int64_t steps, double end) {
  return {[=](Value step) {
            const Value done = minimum(as_float(step), static_cast<double>(steps)) / static_cast<double>(steps);
            return rate * ((cos(done * std::numbers::pi) + 1.0) * (0.5 * (1 - end)) + end);
          },
          [=](std::int64_t step) {
            const double done = static_cast<double>(std::min(step, steps)) / static_cast<double>(steps);
            return rate * ((std::cos(done * std::numbers::pi) + 1) * 0.5 * (1 - end) + end);
          }};
}

LearningRate LearningRate::piecewise(std::vector<std::int64_t> boundaries, std::vector<double> rates) {
  ARGOSY_CHECK(rates.size() == boundaries.size() + 1);
  return {[=](Value step) {
            if (!step.valid()) return Value();
            Value rate = constant(step.graph(), static_cast<float>(rates.back()));
            for (std::size_t i = boundaries.size(); i-- > 0;) {
              const Value before = less_equal(step, constant(step.graph(), boundaries[i]));
              rate = where(before, static_cast<float>(rates[i]), rate);
            }
            return rate;
          },
          [=](std::int64_t step) {
            const auto at = std::lower_bound(boundaries.begin(), boundaries.end(), step);
            return rates[static_cast<std::size_t>(at - boundaries.begin())];
          }};
}

LearningRate LearningRate::warm_up(std::int64_t steps, LearningRate after) {
  const double peak = after.at(steps);
  return {[=](Value step) {
            const Value rising = (as_float(step) + 1.0) * (peak / static_cast<double>(steps));
            return where(less(step, static_cast<double>(steps)), rising, after.build(step));
          },
          [=](std::int64_t step) {
            return step < steps ? static_cast<double>(step + 1) * peak / static_cast<double>(steps) : after.at(step);
          }};
}

}  // namespace argosy
