// Reductions: sums, means, extremes … over axes. Negative axes count from the end; without axes, all are reduced.
#pragma once

#include <initializer_list>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// The axes of a reduction: a number, a list, or (by default) all.
class Axes {
 public:
  Axes() = default;
  // One axis.
  Axes(int axis) : all_(false), axes_{axis} {}  // NOLINT(google-explicit-constructor)
  // Several axes.
  Axes(std::initializer_list<int> axes) : all_(false), axes_(axes) {}  // NOLINT(google-explicit-constructor)
  // Several axes.
  Axes(std::vector<int> axes) : all_(false), axes_(std::move(axes)) {}  // NOLINT(google-explicit-constructor)

  bool all() const { return all_; }                       // true: every axis of the value
  const std::vector<int>& axes() const { return axes_; }  // negative: from the last; empty where all()

 private:
  bool all_ = true;
  std::vector<int> axes_;
};

Value reduce_sum(Value x, Axes axes = {},
                 bool keep_dims = false);  // over these axes; keep_dims: they stay, with size 1
Value reduce_mean(Value x, Axes axes = {}, bool keep_dims = false);  // NaN for no elements
Value reduce_max(Value x, Axes axes = {}, bool keep_dims = false);   // NaN if one is NaN; of none: the lowest number
Value reduce_min(Value x, Axes axes = {}, bool keep_dims = false);   // NaN if one is NaN; of none: the highest number
Value reduce_prod(Value x, Axes axes = {}, bool keep_dims = false);  // 1 for no elements
Value reduce_all(Value x, Axes axes = {}, bool keep_dims = false);   // of bools
Value reduce_any(Value x, Axes axes = {}, bool keep_dims = false);   // of bools
Value reduce_euclidean_norm(Value x, Axes axes = {}, bool keep_dims = false);  // sqrt(sum(x^2))
// log(sum(exp(x))), without overflow.
Value reduce_logsumexp(Value x, Axes axes = {}, bool keep_dims = false);
// The biased variance, and the standard deviation.
Value reduce_variance(Value x, Axes axes = {}, bool keep_dims = false);
Value reduce_std(Value x, Axes axes = {}, bool keep_dims = false);  // the root of the variance

// The index of the largest element along an axis; of equal ones, the first.
Value argmax(Value x, int axis = 0, DType output = DType::kInt64);
// The index of the smallest element along an axis; of equal ones, the first.
Value argmin(Value x, int axis = 0, DType output = DType::kInt64);
Value l2_loss(Value x);  // sum(x^2) / 2

}  // namespace argosy
