// Maps from tensors to tensors, as immutable values: an op returns a new map.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

Value tensor_map(Graph& graph);                                    // empty
Value tensor_map_insert(Value map, Value key, Value value);        // the map with this entry
Value tensor_map_lookup(Value map, Value key, DType value_dtype);  // an error where the key is missing
Value tensor_map_erase(Value map, Value key);                      // the map without this entry
Value tensor_map_has_key(Value map, Value key);                    // bool scalar
Value tensor_map_size(Value map);                                  // int32 scalar

}  // namespace argosy
