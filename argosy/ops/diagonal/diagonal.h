// Several diagonals of matrices at once: tf.linalg.diag, diag_part and set_diag with their `k` and `align`.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// Diagonals lower … upper, counted from the main one (0) upwards. Several are rows of a matrix, the uppermost first,
// each as long as the longest. `align` says on which side shorter superdiagonals, then subdiagonals, are in their rows:
// "RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT".
struct Diagonals {
  std::int32_t lower = 0, upper = 0;  // of the band: 0 is the main diagonal, above it is positive
  std::string align = "RIGHT_LEFT";   // of shorter diagonals: superdiagonals, subdiagonals
};
Value matrix_diag(Value diagonals, const Diagonals& which);    // square matrices, zero elsewhere
Value matrix_diag_part(Value matrix, const Diagonals& which);  // zeros beside shorter diagonals
// Matrix, with these diagonals in place of its own.
Value matrix_set_diag(Value matrix, Value diagonals, const Diagonals& which);

}  // namespace argosy
