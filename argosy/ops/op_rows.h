// Tables of op definitions: a row holds what is particular to one op, the facts hold what all rows share.
//
//   add_rows(ops,
//            {{"Save", "Writes tensors.", {"filename: string", "data: T"}, {}, {"T: list(type)"}, save_shape},
//             {"Restore", "Reads a tensor.", {"filename: string"}, {"tensor: T"}, {"T: type"}, restore_shape}},
//            {.cost = free_cost, .stateful = true, .cpu_only = true});
#pragma once

#include <string>
#include <vector>

#include "argosy/op/definition/op_def.h"

namespace argosy {

class OpRegistry;  // argosy/op/definition/registry.h

// The fields of OpSpec that a whole table, or a single row, may set. OpSpec documents them.
struct OpFacts {
  ShapeFn shape = nullptr;  // of rows without a shape function of their own
  GradientFn gradient = kNotDifferentiable;
  CostFn cost = nullptr;  // null: elementwise_cost
  bool stateful = false;
  Effect effect = Effect::kChanges;
  bool step_state = false;
  bool cpu_only = false;
  bool in_host_memory = false;
  bool accepts_uninitialized = false;
  bool blocks_gradient = false;
  bool async = false;
  bool collective = false;
  bool random = false;
  std::string sharding = {};
  ShardingRuleFn sharding_rule = nullptr;
  bool opens_files = false;
  std::vector<int> host_inputs = {};
  std::vector<int> host_outputs = {};
};

// One op. `inputs`, `outputs` and `attrs` are in the notation of OpSpec.
struct OpRow {
  std::string name;
  std::string doc;
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  std::vector<std::string> attrs = {};
  ShapeFn shape = nullptr;
  OpFacts facts = {};
};

// Defines the op of `row`. A flag is set where the row or `shared` sets it. Of every other fact the row's own value is
// taken, and that of `shared` where the row has none.
void add_row(OpRegistry& ops, OpRow row, const OpFacts& shared = {});

// Defines the ops of `rows`, in their order.
void add_rows(OpRegistry& ops, std::vector<OpRow> rows, const OpFacts& shared = {});

}  // namespace argosy
