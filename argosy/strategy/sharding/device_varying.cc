#include "argosy/strategy/sharding/device_varying.h"

#include <algorithm>

namespace argosy {

bool Varying::operator()(Endpoint e) {
  if (!axes_.depends(e.node) || std::find(global_.begin(), global_.end(), e) != global_.end()) return false;
  if (global_.empty()) return true;
  const auto [known, fresh] = known_.emplace(e.node, false);  // what a loop brings back adds nothing
  if (!fresh) return known->second;
  const auto& inputs = graph_.node(e.node).inputs;
  const auto depends = [&](Endpoint from) { return axes_.depends(from.node); };
  const bool brings_batch = std::none_of(inputs.begin(), inputs.end(), depends);
  const bool answer =
      brings_batch || std::any_of(inputs.begin(), inputs.end(), [&](Endpoint from) { return (*this)(from); });
  known_[e.node] = answer;
  return answer;
}

}  // namespace argosy
