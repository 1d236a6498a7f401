// Optimizers with TensorFlow's update rules for dense gradients, slot names and defaults.
//
//   TrainStep step = adam(1e-3).minimize(loss, net.trainable(), {.clip_global_norm = 1});
//   session.run(feeds, {loss}, {step.run});
//
// Slots are variables, named after the variable that they belong to ("dense/kernel/Adam", "dense/kernel/Adam_1"), or
// shared ("beta1_power"). They are saved with the model. An Optimizer is a recipe: a value type that minimize() builds
// into a graph.
//
// Embeddings are updated densely. The gradient of a table that gather() reads has the table's shape, and is zero in rows
// that no index names. So it adds up over devices, and clips, as any other. TensorFlow updates only the rows that
// were read. sgd, adagrad and adam give the same values either way. The others also change the slots of rows that a step
// does not read, and so later updates: momentum (also Nesterov's), adadelta, rms_prop and ftrl. Momentum moves those
// rows, and ftrl sets them to what its slots say: 0 at first. adam_w shrinks them. Where an index repeats, clipping takes
// the norm of the summed row. For TensorFlow's rule, give the rows to a sparse op: apply_rule("SparseMomentum", …).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "argosy/ops/state/state.h"
#include "argosy/train/model/schedules.h"

namespace argosy {

// Options of Optimizer::minimize().
struct MinimizeOptions {
  std::optional<double> clip_value = {};         // clips every element to ±clip_value
  std::optional<double> clip_norm = {};          // clips every gradient by its own norm
  std::optional<double> clip_global_norm = {};   // clips all gradients by their common norm
  std::vector<Value> updates = {};               // run with every step: moving averages
  std::optional<VariableNode> global_step = {};  // default: a new int64 variable "global_step"
};

// The nodes that minimize() added to the graph.
struct TrainStep {
  Value run;                        // one step: gradients, updates, global_step + 1
  VariableNode global_step;         // steps done
  Value learning_rate;              // of this step
  Value seed;                       // gradient of the loss with respect to itself: where the gradients start
  std::vector<Value> gradients;     // by variable, before clipping
  std::vector<VariableNode> slots;  // all optimizer state, global_step included: what a checkpoint needs
};

// A rule for updates and its learning rate. A value type.
class Optimizer {
 public:
  const std::string& name() const { return name_; }            // "Adam"
  const LearningRate& learning_rate() const { return rate_; }  // at each step

  // Adds gradients, clipping, slots and updates. The loss's graph keeps the first error (Graph::status()). It is an
  // error if the loss does not depend on a variable.
  TrainStep minimize(Value loss, const std::vector<VariableNode>& variables, const MinimizeOptions& options = {}) const;

 private:
  friend struct OptimizerRecipe;
  // Builds the update that applies one gradient.
  struct Slots {
    std::vector<VariableNode> of_variable;
    const std::vector<VariableNode>* shared = nullptr;
  };
  using Apply = std::function<Value(const VariableNode& v, const Slots& slots, Value rate, Value gradient)>;

  Optimizer(std::string name, LearningRate rate) : name_(std::move(name)), rate_(std::move(rate)) {}

  std::string name_;
  LearningRate rate_;
  std::vector<double> slot_starts_;                     // initial value of each slot
  std::vector<std::pair<std::string, double>> powers_;  // beta1_power: multiplied by its initial value every step
  Apply apply_;
};

Optimizer sgd(LearningRate rate);  // w -= rate * gradient
// Momentum: updates by a decaying sum of gradients. `nesterov`: Nesterov's variant, which looks one step ahead.
Optimizer momentum(LearningRate rate, double momentum = 0.9, bool nesterov = false);
Optimizer adagrad(LearningRate rate, double initial_accumulator = 0.1);  // Divides by the root of the sum of squares.
// Adadelta: by decaying means of squared gradients and of squared updates.
Optimizer adadelta(LearningRate rate, double rho = 0.95, double epsilon = 1e-8);
// RMSProp: divides by the root of a decaying mean of squared gradients.
Optimizer rms_prop(LearningRate rate, double decay = 0.9, double momentum = 0, double epsilon = 1e-10);
// Adam: by decaying means of gradients and of their squares, both with bias correction.
Optimizer adam(LearningRate rate, double beta1 = 0.9, double beta2 = 0.999, double epsilon = 1e-8);
// Adam with decoupled weight decay (Loshchilov and Hutter, 2019): weights shrink by rate * weight_decay before the
// gradient is applied. Scalars and vectors (biases, scales) do not shrink.
Optimizer adam_w(LearningRate rate, double weight_decay = 0.01, double beta1 = 0.9, double beta2 = 0.999,
                 double epsilon = 1e-8);
// FTRL (follow the regularised leader), with l1 and l2 penalties.
Optimizer ftrl(LearningRate rate, double l1 = 0, double l2 = 0, double initial_accumulator = 0.1, double power = -0.5);

// Returns an optimizer by name, with default settings: "sgd", "momentum", "nesterov", "adagrad", "adadelta", "rmsprop",
// "adam", "adamw", "ftrl". INVALID_ARGUMENT lists the names.
Result<Optimizer> optimizer_by_name(const std::string& name, LearningRate rate);

}  // namespace argosy
