// Definitions: code points and encodings.
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/string/string_registration.h"

namespace argosy {

namespace {

Status decode_shape(ShapeContext& c) {
  const std::int64_t count = c.input(0).elements();
  c.set_output(0, PartialShape{count == PartialShape::kUnknown ? count : count + 1});
  for (int i = 1; i < c.num_outputs(); ++i) c.set_output(i, PartialShape{PartialShape::kUnknown});
  return ok_status();
}

// Row splits of a value of rank 1: one row per string.
Status encode_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 1).status());
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape splits, c.with_rank(1, 1));
  const std::int64_t ends = splits[0];
  if (ends == 0) return invalid_argument("UnicodeEncode: row splits need one element at least");
  c.set_output(0, PartialShape{ends < 0 ? ends : ends - 1});
  return ok_status();
}

}  // namespace

void define_unicode(OpRegistry& ops) {
  ops.add({.name = "UnicodeScript",
           .doc = "ICU's number of each code point's script, -1 for what is none.",
           .inputs = {"input: int32"},
           .outputs = {"output: int32"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "i.. -> i.."});
  ops.add(
      {.name = "UnicodeDecode",
       .doc = "Code points of strings in any encoding, as ragged rows.",
       .inputs = {"input: string"},
       .outputs = {"row_splits: Tsplits", "char_values: int32"},
       .attrs = {"input_encoding: string", "errors: {'strict', 'replace', 'ignore'} = 'replace'",
                 "replacement_char: int = 65533", "replace_control_characters: bool = false", "Tsplits: index = int64"},
       .shape = decode_shape,
       .gradient = kNotDifferentiable,
       .cpu_only = true});
  ops.add(
      {.name = "UnicodeDecodeWithOffsets",
       .doc = "Code points of strings in any encoding, as ragged rows, and the byte each starts at.",
       .inputs = {"input: string"},
       .outputs = {"row_splits: Tsplits", "char_values: int32", "char_to_byte_starts: int64"},
       .attrs = {"input_encoding: string", "errors: {'strict', 'replace', 'ignore'} = 'replace'",
                 "replacement_char: int = 65533", "replace_control_characters: bool = false", "Tsplits: index = int64"},
       .shape = decode_shape,
       .gradient = kNotDifferentiable,
       .cpu_only = true});
  ops.add({.name = "UnicodeEncode",
           .doc = "Strings out of ragged rows of code points.",
           .inputs = {"input_values: int32", "input_splits: Tsplits"},
           .outputs = {"output: string"},
           .attrs = {"errors: {'ignore', 'replace', 'strict'} = 'replace'",
                     "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}", "replacement_char: int = 65533",
                     "Tsplits: index = int64"},
           .shape = encode_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "UnicodeTranscode",
           .doc = "Strings from any encoding to a Unicode one.",
           .inputs = {"input: string"},
           .outputs = {"output: string"},
           .attrs = {"input_encoding: string", "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}",
                     "errors: {'strict', 'replace', 'ignore'} = 'replace'", "replacement_char: int = 65533",
                     "replace_control_characters: bool = false"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "i.. -> i.."});
}

}  // namespace argosy
