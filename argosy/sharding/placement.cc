#include "argosy/sharding/placement.h"

#include "argosy/base/str.h"

namespace argosy {

std::string to_string(const Placement& p) {
  switch (p.kind) {
    case Placement::Kind::kReplicate: return "R";
    case Placement::Kind::kShard:
      return str_cat("S(", int{p.dim}, ")", p.rounds == 1 ? "" : str_cat("/", p.rounds),
                     p.unit == 1 ? "" : str_cat("*", p.unit));
    case Placement::Kind::kPartial:
      return p.combine == Combine::kSum ? "P(sum)" : p.combine == Combine::kMax ? "P(max)" : "P(min)";
    case Placement::Kind::kVarying: return "V";
    case Placement::Kind::kLocal: return "L";
    case Placement::Kind::kOnce: return "once";
  }
  return "?";
}

std::string to_string(const Layout& layout) {
  std::string text;
  for (const Placement& p : layout) text += (text.empty() ? "" : " ") + to_string(p);
  return text;
}

}  // namespace argosy
