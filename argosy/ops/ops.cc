#include "argosy/ops/ops.h"

#include "argosy/graph/graph.h"

namespace argosy {

#define OP_FAMILY(family) void define_##family(OpRegistry&);
#include "argosy/ops/families.inc"
#undef OP_FAMILY

const OpRegistry& builtin_ops() {
  static const OpRegistry* const ops = [] {
    auto* all = new OpRegistry;  // never destroyed: graphs in static objects may outlive everything
#define OP_FAMILY(family) define_##family(*all);
#include "argosy/ops/families.inc"
#undef OP_FAMILY
    return all;
  }();
  return *ops;
}

OpRegistry copy_builtin_ops() {
  OpRegistry copy;
  for (const auto& op : builtin_ops().all()) copy.add(*op);
  return copy;
}

Graph::Graph() : Graph(builtin_ops()) {}

}  // namespace argosy
