#include "argosy/train/model/optimizers.h"

#include "argosy/graph/gradients.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/optimizer/optimizer.h"
#include "argosy/ops/select/select.h"
#include "argosy/train/model/clipping.h"
#include "argosy/train/model/initializers.h"

namespace argosy {

// Fills in the private parts of an Optimizer: one recipe per rule, below.
struct OptimizerRecipe {
  using Slots = Optimizer::Slots;

  static Optimizer make(std::string name, LearningRate rate, std::vector<double> slot_starts, Optimizer::Apply apply,
                        std::vector<std::pair<std::string, double>> powers = {}) {
    Optimizer optimizer(std::move(name), std::move(rate));
    optimizer.slot_starts_ = std::move(slot_starts);
    optimizer.powers_ = std::move(powers);
    optimizer.apply_ = std::move(apply);
    return optimizer;
  }

  static Optimizer adam_family(const char* name, LearningRate rate, double decay, double beta1, double beta2,
                               double epsilon) {
    return make(name, std::move(rate), {0, 0},
                [=](const VariableNode& v, const Slots& slots, Value lr, Value g) {
                  const auto number = [&](double x) { return constant_like(g, x); };
                  const auto power = [&](int i) { return cast((*slots.shared)[i].read, v.dtype()); };
                  std::vector<Value> first;
                  if (decay != 0 && v.shape().rank() > 1)
                    first.push_back(assign_sub(v, v.read * (lr * decay), "decay"));
                  const auto after = v.read.graph().control_dependencies(first);
                  return apply_adam(v, slots.of_variable[0], slots.of_variable[1], power(0), power(1), lr,
                                    number(beta1), number(beta2), number(epsilon), g);
                },
                {{"beta1_power", beta1}, {"beta2_power", beta2}});
  }
};

namespace {

VariableNode scalar_variable(Graph& graph, Tensor start, std::string_view name) {
  return variable(graph, std::move(start), name);
}

// Ones, under the name and on the device that gradients() would choose.
Value gradient_seed(Value loss) {
  Graph& graph = loss.graph();
  const auto anywhere = graph.device("");
  const auto on = graph.device(graph.node(loss.node()).device);
  const auto with = graph.colocate_with(loss);
  return graph.add("OnesLike", {loss}, {}, "gradients/grad_ys");
}

std::vector<Value> clipped(std::vector<Value> gradients, const MinimizeOptions& options) {
  for (Value& g : gradients) {
    if (options.clip_value && g.valid()) g = clip_by_value(g, -*options.clip_value, *options.clip_value);
    if (options.clip_norm) g = clip_by_norm(g, *options.clip_norm);
  }
  return options.clip_global_norm ? clip_by_global_norm(gradients, *options.clip_global_norm) : gradients;
}

}  // namespace

TrainStep Optimizer::minimize(Value loss, const std::vector<VariableNode>& variables,
                              const MinimizeOptions& options) const {
  if (!loss.valid()) return {};
  Graph& graph = loss.graph();
  std::vector<Value> xs;
  for (const VariableNode& v : variables) xs.push_back(v.ref);
  TrainStep step;
  step.seed = gradient_seed(loss);
  step.gradients = gradients(graph, {loss}, xs, {.grad_ys = {step.seed}, .allow_unconnected = true});
  for (std::size_t i = 0; i < step.gradients.size() && graph.status().ok(); ++i) {
    if (step.gradients[i].valid()) continue;
    graph.fail(invalid_argument("no gradient flows to '", xs[i].name(), "': the loss does not depend on it")
                   .with_id("ARG-GRAD-001")
                   .with_hint("leave it out of what is trained, or use it in the loss"));
  }
  if (!graph.status().ok()) return {};
  const std::vector<Value> ready = clipped(step.gradients, options);

  step.global_step = options.global_step ? *options.global_step
                                         : scalar_variable(graph, Tensor::scalar(std::int64_t{0}), "global_step");
  std::vector<VariableNode> powers;
  for (const auto& [power, start] : powers_) {
    powers.push_back(scalar_variable(graph, Tensor::scalar(static_cast<float>(start)), power));
  }
  {
    const auto scope = graph.name_scope("learning_rate");
    step.learning_rate = rate_.build(step.global_step.read);
  }
  std::vector<Value> updates = options.updates;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const VariableNode& v = variables[i];
    Slots slots{.shared = &powers};
    for (const double start : slot_starts_) {
      const auto root = graph.name_scope("");  // the variable's name says where its slots are
      const Value initial = [&] {
        const auto scope = graph.name_scope(str_cat(v.ref.node_name(), "/", name_, "/Initializer"));
        const auto shape = v.shape().full();
        if (!shape.ok()) return graph.fail(shape.status()), Value();
        return constant_initializer(start)(graph, *shape, v.dtype(), 0);
      }();
      const VariableKind kind = v.is_resource() ? VariableKind::kResource : VariableKind::kReference;
      slots.of_variable.push_back(variable(initial, str_cat(v.ref.node_name(), "/", name_), {.kind = kind}));
    }
    step.slots.insert(step.slots.end(), slots.of_variable.begin(), slots.of_variable.end());
    const auto scope = graph.name_scope(str_cat(name_, "/update_", v.ref.node_name()));
    updates.push_back(apply_(v, slots, cast(step.learning_rate, v.dtype()), ready[i]));
  }
  {
    const auto scope = graph.name_scope(name_);
    const auto after = graph.control_dependencies(updates);
    for (std::size_t i = 0; i < powers.size(); ++i) {
      updates.push_back(assign(powers[i], powers[i].read * powers_[i].second));
    }
  }
  const auto after = graph.control_dependencies(updates);
  step.slots.insert(step.slots.end(), powers.begin(), powers.end());
  step.slots.push_back(step.global_step);
  const Value counted = assign_add(step.global_step, constant(graph, std::int64_t{1}), str_cat(name_, "/count_step"));
  step.run = group(graph, {counted}, "train");
  return step;
}

Optimizer sgd(LearningRate rate) {
  return OptimizerRecipe::make(
      "GradientDescent", std::move(rate), {},
      [](const VariableNode& v, const auto&, Value lr, Value g) { return apply_gradient_descent(v, lr, g); });
}

Optimizer momentum(LearningRate rate, double momentum, bool nesterov) {
  return OptimizerRecipe::make(
      "Momentum", std::move(rate), {0}, [=](const VariableNode& v, const auto& slots, Value lr, Value g) {
        return apply_momentum(v, slots.of_variable[0], lr, g, constant_like(g, momentum), nesterov);
      });
}

Optimizer adagrad(LearningRate rate, double initial_accumulator) {
  return OptimizerRecipe::make("Adagrad", std::move(rate), {initial_accumulator},
                               [](const VariableNode& v, const auto& slots, Value lr, Value g) {
                                 return apply_adagrad(v, slots.of_variable[0], lr, g);
                               });
}

Optimizer adadelta(LearningRate rate, double rho, double epsilon) {
  return OptimizerRecipe::make("Adadelta", std::move(rate), {0, 0},
                               [=](const VariableNode& v, const auto& slots, Value lr, Value g) {
                                 return apply_adadelta(v, slots.of_variable[0], slots.of_variable[1], lr,
                                                       constant_like(g, rho), constant_like(g, epsilon), g);
                               });
}

Optimizer rms_prop(LearningRate rate, double decay, double momentum, double epsilon) {
  return OptimizerRecipe::make(
      "RMSProp", std::move(rate), {1, 0}, [=](const VariableNode& v, const auto& slots, Value lr, Value g) {
        return apply_rms_prop(v, slots.of_variable[0], slots.of_variable[1], lr, constant_like(g, decay),
                              constant_like(g, momentum), constant_like(g, epsilon), g);
      });
}

Optimizer adam(LearningRate rate, double beta1, double beta2, double epsilon) {
  return OptimizerRecipe::adam_family("Adam", std::move(rate), 0, beta1, beta2, epsilon);
}

Optimizer adam_w(LearningRate rate, double weight_decay, double beta1, double beta2, double epsilon) {
  return OptimizerRecipe::adam_family("AdamW", std::move(rate), weight_decay, beta1, beta2, epsilon);
}

Optimizer ftrl(LearningRate rate, double l1, double l2, double initial_accumulator, double power) {
  return OptimizerRecipe::make("Ftrl", std::move(rate), {initial_accumulator, 0},
                               [=](const VariableNode& v, const auto& slots, Value lr, Value g) {
                                 return apply_ftrl(v, slots.of_variable[0], slots.of_variable[1], g, lr,
                                                   constant_like(g, l1), constant_like(g, l2), constant_like(g, power));
                               });
}

Result<Optimizer> optimizer_by_name(const std::string& name, LearningRate rate) {
  if (name == "sgd") return sgd(std::move(rate));
  if (name == "momentum") return momentum(std::move(rate));
  if (name == "nesterov") return momentum(std::move(rate), 0.9, true);
  if (name == "adagrad") return adagrad(std::move(rate));
  if (name == "adadelta") return adadelta(std::move(rate));
  if (name == "rmsprop") return rms_prop(std::move(rate));
  if (name == "adam") return adam(std::move(rate));
  if (name == "adamw") return adam_w(std::move(rate));
  if (name == "ftrl") return ftrl(std::move(rate));
  const std::vector<std::string> names = {"sgd",     "momentum", "nesterov", "adagrad", "adadelta",
                                          "rmsprop", "adam",     "adamw",    "ftrl"};
  const std::string near = nearest_word(name, names);
  return invalid_argument("there is no optimizer \"", name, "\"; there are ", str_join(names))
      .with_hint(near.empty() ? "" : str_cat("--optimizer ", near));
}

}  // namespace argosy
