// The equation of an Einsum, "ij,jk->ik", taken apart: which letter names which axis, and how long it is.
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

// The same once ranks are known: a label names an axis. Letters are labels by their code. An axis of an ellipsis is 256
// + its distance from the ellipsis' end, so axes that broadcast against each other have one label.
inline constexpr int kFirstBroadcast = 256;
struct Labels {
  std::vector<std::vector<int>> inputs;
  std::vector<int> output;
};
// INVALID_ARGUMENT where a rank does not fit its subscript, or an output without ellipsis would lose axes.
Result<Labels> label_axes(const Equation& equation, std::span<const int> ranks);

}  // namespace argosy::einsum_parts
