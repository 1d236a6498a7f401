// The ops that read Examples differ in where they get keys from (attributes, scalars, vectors) and in which kinds of
// columns they have; names of arguments and attributes are the same throughout. What is asked for is read by those
// names. Internal to the parsing family.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "argosy/op/definition/registry.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

void define_examples(OpRegistry& ops);
void add_kernels_cpu_examples(KernelRegistry& kernels);

namespace examples {

// Position of the first tensor of every argument. REQUIRES: complete attributes.
Result<std::map<std::string, int>> first_of(const std::vector<ArgDef>& args, const AttrMap& attrs);

// What columns of one part of an example ("context_", "feature_list_", "" for a plain Example) are of; empty lists
// where the op has no such columns.
struct Columns {
  static Columns read(const OpDef& op, const AttrMap& attrs, const std::string& part);

  std::vector<DType> sparse, dense, ragged, splits;
  std::vector<PartialShape> dense_shapes;
};

// INVALID_ARGUMENT unless attributes that count columns of one kind agree with each other.
Status check_counts(const OpDef& op, const AttrMap& attrs);

}  // namespace examples

}  // namespace argosy
