// Variables: state that outlives a step. There are two kinds with one implementation (argosy/op/state/variable.h):
// reference variables (VariableV2, of TensorFlow 1.x graphs) and resource variables (VarHandleOp).
#pragma once

#include <string>
#include <string_view>

#include "argosy/graph/graph.h"

namespace argosy {

// TensorFlow's two kinds: ops refer to the variable by a reference edge, or by a resource handle.
enum class VariableKind { kReference, kResource };

// Options of variable().
struct VariableOptions {
  VariableKind kind = VariableKind::kReference;  // how graphs refer to it
  std::string container = "";                    // "" = "localhost"
  std::string shared_name = "";                  // "" = the node's name; equal names share the value
};

// A variable in a graph, its nodes named as TensorFlow names them: v, v/Assign, v/read (for resource variables
// v/Read/ReadVariableOp).
struct VariableNode {
  Value ref;          // the variable itself: what is assigned to, what optimizers take, what to differentiate by
  Value read;         // its value
  Value initializer;  // run it once before the first read; not valid() for a variable declared without a value

  bool is_resource() const { return ref.dtype() == DType::kResource; }  // true: a resource variable
  const PartialShape& shape() const { return read.shape(); }            // of the value
  DType dtype() const { return read.dtype(); }                          // of the value
};

// A variable without an initial value: assign one before it is read.
VariableNode variable(Graph& graph, PartialShape shape, DType dtype, std::string_view name = "Variable",
                      const VariableOptions& options = {});
// A variable with this initial value, and its shape.
VariableNode variable(Value initial_value, std::string_view name = "Variable", const VariableOptions& options = {});
// The same, with the initial value as a constant.
VariableNode variable(Graph& graph, Tensor initial_value, std::string_view name = "Variable",
                      const VariableOptions& options = {});

// Updates return the reference after the update; for a resource variable a control value.
Value assign(const VariableNode& v, Value value, std::string_view name = "Assign");
// v += value.
Value assign_add(const VariableNode& v, Value value, std::string_view name = "AssignAdd");
// v -= value.
Value assign_sub(const VariableNode& v, Value value, std::string_view name = "AssignSub");
// Updates rows: v[indices[i], ...] = updates[i, ...], or with an operation. `update` is Update, Add, Sub, Mul, Div, Min
// or Max.
Value scatter(std::string_view update, const VariableNode& v, Value indices, Value updates);
// The same for indices that name an element or a slice: v[indices[i, 0], indices[i, 1], ...]; Update, Add, Sub, Min,
// Max.
Value scatter_nd(std::string_view update, const VariableNode& v, Value indices, Value updates);
// bool[]: does it have a value?
Value is_initialized(const VariableNode& v, std::string_view name = "is_initialized");
// Adds another read, which can be ordered by control inputs, for example after an assign.
Value read_value(const VariableNode& v, std::string_view name = "read");
// Adds 1 to an integer variable, and returns its value before that. OUT_OF_RANGE: it was `limit` or more.
Value count_up_to(const VariableNode& v, std::int64_t limit, std::string_view name = "CountUpTo");

}  // namespace argosy
