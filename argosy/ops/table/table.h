// Lookup tables: values by key, kept between steps. A fixed table is filled once and then only read; a mutable one may
// change.
//
// A table lives on its device by its shared name, or, without one, as long as the session.
#pragma once

#include <string>

#include "argosy/graph/graph.h"

namespace argosy {

// The description of a lookup table.
struct TableSpec {
  DType key = DType::kString, value = DType::kInt64;  // scalars
  PartialShape value_shape = PartialShape::scalar();  // of mutable tables
  std::string shared_name = {};                       // "": the node's name; equal names share the table
};

Value hash_table(Graph& graph, const TableSpec& spec, std::string_view name = {});  // filled once, by an initializer
Value mutable_hash_table(Graph& graph, const TableSpec& spec, std::string_view name = {});  // can always be changed

Value initialize_table(Value table, Value keys, Value values);  // a control value
Value table_insert(Value table, Value keys, Value values);      // a control value
Value table_remove(Value table, Value keys);                    // a control value
// The values of the keys: a tensor of the keys' shape, then a value's shape. Keys that do not exist give `missing`.
Value table_find(Value table, Value keys, Value missing);
Value table_size(Value table);  // entries; int64 scalar

}  // namespace argosy
