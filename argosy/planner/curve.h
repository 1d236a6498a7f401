// Curve: seconds by bytes, through points that were measured.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace argosy {

class Curve {
 public:
  Curve() = default;  // takes no time
  // (size, seconds), in any order. The curve is made to rise: a point below an earlier one is lifted to it.
  explicit Curve(std::vector<std::pair<double, double>> points);

  // Straight lines between the points. Below the first, its seconds; above the last, on with the last line.
  double seconds(double size) const;
  // Of one unit of size, above the last point; 0 of a single point.
  double slope() const;
  bool empty() const { return points_.empty(); }  // it takes no time

 private:
  std::vector<std::pair<double, double>> points_;
};

}  // namespace argosy
