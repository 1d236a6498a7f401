#include "argosy/op/definition/registry.h"

#include <cstdio>
#include <utility>

namespace argosy {

void OpRegistry::add(OpSpec spec) {
  auto op = parse_op(std::move(spec));
  if (!op.ok()) std::fprintf(stderr, "%s\n", op.status().to_string().c_str());
  ARGOSY_CHECK(op.ok());
  add(std::make_unique<OpDef>(std::move(*op)));
}

void OpRegistry::add(std::unique_ptr<OpDef> op) {
  ops_.push_back(std::move(op));
  const OpDef* added = ops_.back().get();
  const bool fresh = by_name_.emplace(added->name, added).second;
  if (!fresh) std::fprintf(stderr, "op %s is defined twice\n", added->name.c_str());
  ARGOSY_CHECK(fresh);
}

std::vector<std::unique_ptr<OpDef>> OpRegistry::release() {
  by_name_.clear();
  return std::exchange(ops_, {});
}

const OpDef* OpRegistry::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

Result<const OpDef*> OpRegistry::lookup(std::string_view name) const {
  if (const OpDef* op = find(name)) return op;
  std::vector<std::string> names;
  for (const auto& op : ops_) names.push_back(op->name);
  Status status = not_found("there is no op \"", name, "\"").with_id("ARG-OP-001");
  const std::string near = nearest_word(name, names);
  if (!near.empty()) status = std::move(status).with_hint(str_cat("\"", near, "\", if that was meant"));
  return status;
}

}  // namespace argosy
