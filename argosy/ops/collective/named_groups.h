// TensorFlow's collectives, whose members find each other by name or by keys. Internal to the family.
#pragma once

#include <string_view>

#include "argosy/comm/reduction.h"

namespace argosy {

class OpRegistry;
void define_named_groups(OpRegistry& ops);

// Of "min", "max", "prod" or "sum" (NCCL's ops), or "Min", "Max", "Mul" or "Add" (the others).
Reduction reduction_of(std::string_view word);

}  // namespace argosy
