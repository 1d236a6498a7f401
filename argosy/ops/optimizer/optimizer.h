// Optimizer updates: one op reads a gradient, and updates a variable and its slots in place. The formulas are
// TensorFlow's (update_rules.h). The ops are Apply<Rule>, SparseApply<Rule>, and their variants for resource variables.
#pragma once

#include <string_view>
#include <vector>

#include "argosy/ops/state/state.h"

namespace argosy {

// Applies a rule ("Adam", "Momentum", "SparseAdagrad" …) to a variable and its slots, in the op's order; `values` are
// the op's other inputs in order, each of the variable's dtype (indices aside). Returns the reference, or a control
// value for resource variables.
//   apply_rule("Momentum", {w, accum}, {lr, grad, momentum}, {{"use_nesterov", true}});
Value apply_rule(std::string_view rule, const std::vector<VariableNode>& variables, std::vector<Value> values,
                 AttrMap attrs = {});

// w -= lr * grad
Value apply_gradient_descent(const VariableNode& w, Value lr, Value grad);
// accum = momentum * accum + grad;  w -= lr * accum
Value apply_momentum(const VariableNode& w, const VariableNode& accum, Value lr, Value grad, Value momentum,
                     bool use_nesterov = false);
// accum += grad²;  w -= lr * grad / √accum
Value apply_adagrad(const VariableNode& w, const VariableNode& accum, Value lr, Value grad);
// The update of Adadelta.
Value apply_adadelta(const VariableNode& w, const VariableNode& accum, const VariableNode& accum_update, Value lr,
                     Value rho, Value epsilon, Value grad);
// The update of RMSProp. ms: the running mean of grad²; epsilon is inside the root.
Value apply_rms_prop(const VariableNode& w, const VariableNode& ms, const VariableNode& mom, Value lr, Value rho,
                     Value momentum, Value epsilon, Value grad);
// The update of Adam. m, v: running means of grad and grad²; beta1_power = beta1^t for step t, counted from 1, likewise
// beta2_power; epsilon is outside the root.
Value apply_adam(const VariableNode& w, const VariableNode& m, const VariableNode& v, Value beta1_power,
                 Value beta2_power, Value lr, Value beta1, Value beta2, Value epsilon, Value grad,
                 bool use_nesterov = false);
// The update of FTRL-Proximal.
Value apply_ftrl(const VariableNode& w, const VariableNode& accum, const VariableNode& linear, Value grad, Value lr,
                 Value l1, Value l2, Value lr_power);

}  // namespace argosy
