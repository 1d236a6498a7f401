// Variables: state that outlives a step. Two kinds, one implementation (argosy/op/state/variable.h): reference variables
// (VariableV2; what TensorFlow 1.x graphs use) and resource variables (VarHandleOp).
#pragma once

#include <string>
#include <string_view>

#include "argosy/graph/graph.h"

namespace argosy {

// TensorFlow's two kinds: the value is a reference, or behind a handle.
enum class VariableKind { kReference, kResource };

// Of variable().
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

  bool is_resource() const { return ref.dtype() == DType::kResource; }  // a variable behind a handle
  const PartialShape& shape() const { return read.shape(); }            // of the value
  DType dtype() const { return read.dtype(); }                          // of the value
};

// Without a value: assign one before it is read.
VariableNode variable(Graph& graph, PartialShape shape, DType dtype, std::string_view name = "Variable",
                      const VariableOptions& options = {});
// Starts as `initial_value`, of whose shape it stays.
VariableNode variable(Value initial_value, std::string_view name = "Variable", const VariableOptions& options = {});
// A variable, the ops that read and initialise it. Its shape is that of the value.
VariableNode variable(Graph& graph, Tensor initial_value, std::string_view name = "Variable",
                      const VariableOptions& options = {});

// Each gives the reference, after the update; a control value for a resource variable.
Value assign(const VariableNode& v, Value value, std::string_view name = "Assign");
// V += value; gives the new value.
Value assign_add(const VariableNode& v, Value value, std::string_view name = "AssignAdd");
// V -= value; gives the new value.
Value assign_sub(const VariableNode& v, Value value, std::string_view name = "AssignSub");
// v[indices[i], ...] = updates[i, ...] and the like, `update` being Update, Add, Sub, Mul, Div, Min or Max.
Value scatter(std::string_view update, const VariableNode& v, Value indices, Value updates);
// The same for indices that name an element or a slice: v[indices[i, 0], indices[i, 1], ...]; Update, Add, Sub, Min,
// Max.
Value scatter_nd(std::string_view update, const VariableNode& v, Value indices, Value updates);
// bool[]: does it have a value?
Value is_initialized(const VariableNode& v, std::string_view name = "is_initialized");
// A further read, ordered by control dependencies: after an assign, say.
Value read_value(const VariableNode& v, std::string_view name = "read");
// The value before 1 is added to an integer variable; OUT_OF_RANGE once that is `limit`.
Value count_up_to(const VariableNode& v, std::int64_t limit, std::string_view name = "CountUpTo");

}  // namespace argosy
