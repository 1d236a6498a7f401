#include "argosy/ops/op_rows.h"

#include "argosy/op/definition/registry.h"

namespace argosy {

void add_row(OpRegistry& ops, OpRow row, const OpFacts& shared) {
  OpFacts& own = row.facts;
  const bool own_text = !own.sharding.empty();
  const CostFn cost = own.cost != nullptr ? own.cost : shared.cost;
  ops.add({.name = std::move(row.name),
           .doc = std::move(row.doc),
           .inputs = std::move(row.inputs),
           .outputs = std::move(row.outputs),
           .attrs = std::move(row.attrs),
           .shape = row.shape != nullptr ? row.shape : shared.shape,
           .gradient = own.gradient != kNotDifferentiable ? own.gradient : shared.gradient,
           .cost = cost != nullptr ? cost : elementwise_cost,
           .stateful = own.stateful || shared.stateful,
           .effect = own.effect != Effect::kChanges ? own.effect : shared.effect,
           .step_state = own.step_state || shared.step_state,
           .cpu_only = own.cpu_only || shared.cpu_only,
           .in_host_memory = own.in_host_memory || shared.in_host_memory,
           .accepts_uninitialized = own.accepts_uninitialized || shared.accepts_uninitialized,
           .blocks_gradient = own.blocks_gradient || shared.blocks_gradient,
           .async = own.async || shared.async,
           .collective = own.collective || shared.collective,
           .random = own.random || shared.random,
           .sharding = own.sharding.empty() && own.sharding_rule == nullptr ? shared.sharding : std::move(own.sharding),
           .sharding_rule = own.sharding_rule != nullptr ? own.sharding_rule
                            : own_text                   ? nullptr
                                                         : shared.sharding_rule,
           .opens_files = own.opens_files || shared.opens_files,
           .host_inputs = own.host_inputs.empty() ? shared.host_inputs : std::move(own.host_inputs),
           .host_outputs = own.host_outputs.empty() ? shared.host_outputs : std::move(own.host_outputs)});
}

void add_rows(OpRegistry& ops, std::vector<OpRow> rows, const OpFacts& shared) {
  for (OpRow& row : rows) add_row(ops, std::move(row), shared);
}

}  // namespace argosy
