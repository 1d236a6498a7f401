// A check that a variable and its slots are different variables. TensorFlow accepts one variable as both, and its
// result then depends on the variable's kind. Example: Momentum with lr 0.1, momentum 0.9 and gradient 1, of a variable
// that is 1 and its own slot. A reference variable becomes 1.71, a resource variable 1.9.
#pragma once

#include <span>
#include <string_view>

#include "argosy/base/status.h"
#include "argosy/op/state/variable.h"

namespace argosy::optimizer {

// INVALID_ARGUMENT names the variable that is given twice.
inline Status own_slots(std::span<Variable* const> variables, std::span<const std::string_view> names) {
  for (std::size_t i = 1; i < variables.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (variables[i] != variables[k]) continue;
      return invalid_argument("variable ", names[i], " is given twice, as inputs ", k, " and ", i,
                              ": a variable and its slots must be different variables");
    }
  }
  return ok_status();
}

}  // namespace argosy::optimizer
