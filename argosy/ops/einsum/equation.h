// The parsed equation of an Einsum, such as "ij,jk->ik": the letters of each axis.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "argosy/tensor/shape.h"

namespace argosy::einsum_parts {

// Subscripts with "..." written as the one letter kEllipsis.
inline constexpr char kEllipsis = '.';
struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

// INVALID_ARGUMENT unless there is one "->", `inputs` subscripts (1 or 2) with at most one ellipsis each, and an output
// whose letters all occur in them.
Result<Equation> parse(std::string_view equation, int inputs);

// An equation as labels of axes, once ranks are known. The label of a letter is its code. The label of an axis of an
// ellipsis is 256 + its distance from the ellipsis' end, so axes that broadcast together have the same label.
inline constexpr int kFirstBroadcast = 256;
struct Labels {
  std::vector<std::vector<int>> inputs;
  std::vector<int> output;
};
// INVALID_ARGUMENT if a rank does not fit its subscript, or an output without ellipsis would drop axes.
Result<Labels> label_axes(const Equation& equation, std::span<const int> ranks);

}  // namespace argosy::einsum_parts
