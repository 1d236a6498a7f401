// Ops that parse bytes and text into tensors. Names and defaults are those of tf.io.*. There are no builders for the
// ops that parse Examples (ParseExample …): imported TensorFlow graphs have them.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// The bytes of each string as numbers, along a new last axis. All strings must have the same length.
Value decode_raw(Value bytes, DType out_type, bool little_endian = true);

// Options of decode_csv().
struct CsvOptions {
  std::string field_delim = ",";               // one character between columns
  bool use_quote_delim = true;                 // a field in double quotes may contain delimiters
  std::string na_value = "";                   // a field with this text is missing: it gets the default
  std::vector<std::int64_t> select_cols = {};  // the columns to return, ascending; empty: all
};
// One value per column, of the dtype and with the default of `defaults` (an empty vector: the field is required).
std::vector<Value> decode_csv(Value records, const std::vector<Value>& defaults, const CsvOptions& options = {});

// Tensors as bytes, and back.
Value serialize_tensor(Value x);
Value parse_tensor(Value serialized, DType out_type);  // the tensor of a serialized TensorProto

}  // namespace argosy
