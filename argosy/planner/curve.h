// Curve: seconds as a function of a size (bytes, or work), through points that were measured.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace argosy {

class Curve {
 public:
  Curve() = default;  // takes no time
  // `points`: (size, seconds), in any order. The curve is monotone: a point below one of smaller size is raised to it.
  explicit Curve(std::vector<std::pair<double, double>> points);

  // Interpolates linearly between the points. Below the first it returns the first's seconds. Above the last it
  // extrapolates the last line.
  double seconds(double size) const;
  // Seconds per unit of size above the last point; 0 for fewer than two points.
  double slope() const;
  bool empty() const { return points_.empty(); }  // it takes no time

 private:
  std::vector<std::pair<double, double>> points_;
};

}  // namespace argosy
