// Bytes and text to tensors. Names and defaults are those of tf.io.*; Examples are read by the ops ParseExample and its
// kin, which graphs of TensorFlow bring along.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// The bytes of each string as numbers: one more axis. All strings must be of one length.
Value decode_raw(Value bytes, DType out_type, bool little_endian = true);

// Of decode_csv().
struct CsvOptions {
  std::string field_delim = ",";               // one character between columns
  bool use_quote_delim = true;                 // quotes hold a column with delimiters in it
  std::string na_value = "";                   // means: missing
  std::vector<std::int64_t> select_cols = {};  // ascending; none: all
};
// One value per column, of the dtype and with the default of `defaults` (an empty vector: the field is required).
std::vector<Value> decode_csv(Value records, const std::vector<Value>& defaults, const CsvOptions& options = {});

// Tensors as bytes, and back.
Value serialize_tensor(Value x);
Value parse_tensor(Value serialized, DType out_type);  // the tensor of a serialized TensorProto

}  // namespace argosy
