#include "argosy/ops/einsum/equation.h"

#include <algorithm>

namespace argosy::einsum_parts {

namespace {

Result<std::string> subscripts(std::string_view text, std::string_view equation) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != kEllipsis) {
      out.push_back(text[i]);
      continue;
    }
    if (text.substr(i, 3) != "..." || out.find(kEllipsis) != std::string::npos) {
      return invalid_argument("Einsum: subscripts '", text, "' of equation '", equation,
                              "' may hold one ellipsis (...), and dots nowhere else");
    }
    out.push_back(kEllipsis);
    i += 2;
  }
  return out;
}

}  // namespace

Result<Equation> parse(std::string_view equation, int inputs) {
  const std::size_t arrow = equation.find("->");
  if (arrow == std::string_view::npos || equation.find("->", arrow + 2) != std::string_view::npos) {
    return invalid_argument("Einsum: expecting exactly one '->' in equation '", equation, "'");
  }
  Equation e;
  ARGOSY_ASSIGN_OR_RETURN(e.output, subscripts(equation.substr(arrow + 2), equation));
  std::string_view rest = equation.substr(0, arrow);
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    ARGOSY_ASSIGN_OR_RETURN(std::string one, subscripts(rest.substr(0, comma), equation));
    e.inputs.push_back(std::move(one));
    if (more) rest.remove_prefix(comma + 1);
  }
  if (e.inputs.size() > 2) {
    return invalid_argument("Einsum: expecting 1 or 2 input subscripts in equation '", equation, "', not ",
                            e.inputs.size());
  }
  if (static_cast<int>(e.inputs.size()) != inputs) {
    return invalid_argument("Einsum: equation '", equation, "' is about ", e.inputs.size(), " inputs, not ", inputs);
  }
  for (const char letter : e.output) {
    const bool known = letter == kEllipsis || std::any_of(e.inputs.begin(), e.inputs.end(), [&](const std::string& s) {
                         return s.find(letter) != std::string::npos;
                       });
    if (!known) {
      return invalid_argument("Einsum: letter '", std::string(1, letter), "' of the output occurs in no input of '",
                              equation, "'");
    }
  }
  return e;
}

namespace {

std::vector<int> labels_of(const std::string& subscripts, int broadcast) {
  std::vector<int> labels;
  for (const char letter : subscripts) {
    if (letter != kEllipsis) {
      labels.push_back(static_cast<unsigned char>(letter));
    } else {
      for (int i = broadcast; i > 0; --i) labels.push_back(kFirstBroadcast + i - 1);
    }
  }
  return labels;
}

}  // namespace

Result<Labels> label_axes(const Equation& equation, std::span<const int> ranks) {
  Labels labels;
  int broadcast = 0;
  for (std::size_t i = 0; i < equation.inputs.size(); ++i) {
    const std::string& subscripts = equation.inputs[i];
    const bool ellipsis = subscripts.find(kEllipsis) != std::string::npos;
    const int named = static_cast<int>(subscripts.size()) - (ellipsis ? 1 : 0);
    const int rank = ranks[i];
    if (ellipsis ? rank < named : rank != named) {
      return invalid_argument("Einsum: input ", i, " must have rank ", ellipsis ? "at least " : "", named, ", not ",
                              rank);
    }
    labels.inputs.push_back(labels_of(subscripts, rank - named));
    broadcast = std::max(broadcast, rank - named);
  }
  if (broadcast > 0 && equation.output.find(kEllipsis) == std::string::npos) {
    return invalid_argument("Einsum: the inputs' ellipses stand for ", broadcast,
                            " axes, but the output has no ellipsis (...)");
  }
  labels.output = labels_of(equation.output, broadcast);
  return labels;
}

}  // namespace argosy::einsum_parts
