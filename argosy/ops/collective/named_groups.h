// Collectives whose members find each other by name or by keys. Internal to the family.
#pragma once

#include <string_view>

#include "argosy/comm/reduction.h"

namespace argosy {

class OpRegistry;
void define_named_groups(OpRegistry& ops);

// What "min", "max", "prod" or "sum" of NCCL's ops, "Min", "Max", "Mul" or "Add" of the others' stands for.
Reduction reduction_of(std::string_view word);

}  // namespace argosy
