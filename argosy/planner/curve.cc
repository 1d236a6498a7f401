#include "argosy/planner/curve.h"

#include <algorithm>

namespace argosy {

Curve::Curve(std::vector<std::pair<double, double>> points) : points_(std::move(points)) {
  std::sort(points_.begin(), points_.end());
  for (std::size_t i = 1; i < points_.size(); ++i)
    points_[i].second = std::max(points_[i].second, points_[i - 1].second);
}

double Curve::slope() const {
  if (points_.size() < 2) return 0;
  const auto& [from, from_seconds] = points_[points_.size() - 2];
  const auto& [to, to_seconds] = points_.back();
  return to > from ? (to_seconds - from_seconds) / (to - from) : 0;
}

double Curve::seconds(double size) const {
  if (points_.empty()) return 0;
  if (size <= points_.front().first) return points_.front().second;
  if (size >= points_.back().first) return points_.back().second + slope() * (size - points_.back().first);
  const auto above = std::upper_bound(points_.begin(), points_.end(), std::pair(size, 1e300));
  const auto below = above - 1;
  const double part = (size - below->first) / (above->first - below->first);
  return below->second + part * (above->second - below->second);
}

}  // namespace argosy
