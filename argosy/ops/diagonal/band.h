// Band: the positions of a band of diagonals in a matrix, and in a tensor of diagonals. Private to this folder.
#pragma once

#include <algorithm>
#include <string_view>

#include "argosy/base/status.h"

namespace argosy::diagonal_parts {

struct Band {
  std::int64_t rows = 0, columns = 0, lower = 0, upper = 0;
  bool left_above = true, left_below = true;  // shorter diagonals of either side start at the left

  std::int64_t count() const { return upper - lower + 1; }
  std::int64_t longest() const {
    return std::min(rows + std::min<std::int64_t>(upper, 0), columns - std::max<std::int64_t>(lower, 0));
  }
  // Diagonal d: its length, its offset in its row of the tensor of diagonals, and its first element in the matrix.
  struct Place {
    std::int64_t length, offset, start;
  };
  Place place(std::int64_t d) const {
    const std::int64_t below = std::max<std::int64_t>(-d, 0), right = std::max<std::int64_t>(d, 0);
    const std::int64_t length = std::min(rows - below, columns - right);
    const bool left = (d >= 0 && left_above) || (d <= 0 && left_below);
    return {length, left ? 0 : longest() - length, below * columns + right};
  }
};

// Sets the alignment: "RIGHT_LEFT" puts superdiagonals at the right, subdiagonals at the left. Empty: both at the left.
inline void set_alignment(Band& band, std::string_view align) {
  band.left_above = align.empty() || align.starts_with("LEFT");
  band.left_below = align.empty() || align.ends_with("LEFT");
}

inline Status check_band(std::string_view op, std::int64_t lower, std::int64_t upper) {
  if (lower <= upper) return ok_status();
  return invalid_argument(op, ": lower diagonal ", lower, " must not be above the upper one, ", upper);
}
// INVALID_ARGUMENT unless a matrix of rows x columns has the diagonals.
inline Status check_inside(std::string_view op, const Band& band) {
  for (const std::int64_t d : {band.lower, band.upper}) {
    if (d == 0 || (-band.rows < d && d < band.columns)) continue;
    return invalid_argument(op, ": diagonal ", d, " lies outside of matrices ", band.rows, " x ", band.columns);
  }
  return ok_status();
}

// Sets an unknown (-1) number of rows or columns to the least that diagonals of length `longest` need. If both are
// unknown, the matrix is square. INVALID_ARGUMENT if given sizes do not fit the diagonals.
inline Status fit_matrix(std::string_view op, std::int64_t longest, Band& band) {
  const std::int64_t rows = longest - std::min<std::int64_t>(band.upper, 0);
  const std::int64_t columns = longest + std::max<std::int64_t>(band.lower, 0);
  if ((band.rows != -1 && band.rows < rows) || (band.columns != -1 && band.columns < columns)) {
    return invalid_argument(op, ": ", band.rows, " rows and ", band.columns,
                            " columns are too few: the diagonals need ", rows, " and ", columns);
  }
  if (band.rows == -1 && band.columns == -1) {
    band.rows = band.columns = std::max(rows, columns);
  } else if (band.rows == -1) {
    band.rows = rows;
  } else if (band.columns == -1) {
    band.columns = columns;
  }
  if (band.rows != rows && band.columns != columns) {
    return invalid_argument(op, ": diagonals of length ", longest, " do not fill matrices ", band.rows, " x ",
                            band.columns);
  }
  return ok_status();
}

}  // namespace argosy::diagonal_parts
