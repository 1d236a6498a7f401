#include "argosy/ops/inplace/inplace.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {
Value add(const char* op, Value x, Value i, Value v) { return x.valid() ? x.graph().add(op, {x, i, v}) : x; }
}  // namespace

static void add_inplace_ops(OpRegistry& ops) {
  for (const auto& [name, doc] : {std::pair{"InplaceUpdate", "x with rows i set to v."},
                                  {"InplaceAdd", "x with v added to rows i."},
                                  {"InplaceSub", "x with v subtracted from rows i."}}) {
    ops.add({.name = name,
             .doc = doc,
             .inputs = {"x: T", "i: int32", "v: T"},
             .outputs = {"y: T"},
             .attrs = {"T: type"},
             .shape = same_as_input,
             .gradient = kNotDifferentiable,
             .in_place = {{.input = 0, .output = 0}}});
  }
}

void define_inplace(OpRegistry& ops) {
  with_sharding(ops, add_inplace_ops,
                {{"InplaceUpdate", "v d.., n, n d.. -> v d..; rows v; whole n"},
                 {"InplaceAdd", "v d.., n, n d.. -> v d..; rows v; whole n"},
                 {"InplaceSub", "v d.., n, n d.. -> v d..; rows v; whole n"}});
}

Value inplace_update(Value x, Value i, Value v) { return add("InplaceUpdate", x, i, v); }
Value inplace_add(Value x, Value i, Value v) { return add("InplaceAdd", x, i, v); }
Value inplace_sub(Value x, Value i, Value v) { return add("InplaceSub", x, i, v); }

}  // namespace argosy
