// Arguments and attributes of the ops that parse Examples. The ops differ in where feature keys come from (attributes,
// scalars, vectors) and in the kinds of columns. Since all use the same names of arguments and attributes, one reader
// by name serves all. Internal to the parsing family.
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

// Argument name -> position of its first tensor. REQUIRES: complete attributes.
Result<std::map<std::string, int>> first_of(const std::vector<ArgDef>& args, const AttrMap& attrs);

// The dtypes, and dense shapes, of the columns of one part of an example: "context_", "feature_list_", or "" for a
// plain Example. A list is empty where the op has no such columns.
struct Columns {
  static Columns read(const OpDef& op, const AttrMap& attrs, const std::string& part);

  std::vector<DType> sparse, dense, ragged, splits;
  std::vector<PartialShape> dense_shapes;
};

// INVALID_ARGUMENT unless all attributes agree on the number of columns of each kind.
Status check_counts(const OpDef& op, const AttrMap& attrs);

}  // namespace examples

}  // namespace argosy
