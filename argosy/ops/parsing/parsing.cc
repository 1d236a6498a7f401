#include "argosy/ops/parsing/parsing.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/parsing/examples.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status raw_shape(ShapeContext& c) {
  if (!c.input(0).has_rank()) return ok_status();
  std::vector<std::int64_t> sizes = c.input(0).sizes();
  sizes.push_back(PartialShape::kUnknown);
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status padded_raw_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  if (!c.input(0).has_rank()) return ok_status();
  std::vector<std::int64_t> sizes = c.input(0).sizes();
  std::int64_t count = PartialShape::kUnknown;
  if (const auto bytes = c.input_as_int(1)) {
    const auto each = static_cast<std::int64_t>(element_bytes(c.attrs().get_type("out_type")));
    if (*bytes <= 0 || *bytes % each != 0) {
      return invalid_argument("DecodePaddedRaw: fixed_length (", *bytes, ") must be a positive multiple of ", each,
                              ", the size of ", dtype_name(c.attrs().get_type("out_type")));
    }
    count = *bytes / each;
  }
  sizes.push_back(count);
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status csv_shape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) {
    const PartialShape& d = c.input(i);
    if (d.rank() > 1) return invalid_argument("DecodeCSV: a default must be a scalar or a vector, not of shape ", d);
    if (d.rank() == 1 && d[0] > 1) {
      return invalid_argument("DecodeCSV: there is one default per field, but field ", i - 1, " has ", d[0]);
    }
  }
  return same_as_input(c);
}

Status parse_tensor_shape(ShapeContext& c) { return c.with_rank(0, 0).status(); }

}  // namespace

static void add_parsing_ops(OpRegistry& ops) {
  ops.add({.name = "DecodeRaw",
           .doc = "The bytes of each string as numbers.",
           .inputs = {"bytes: string"},
           .outputs = {"output: out_type"},
           .attrs = {"out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, complex64, complex128, "
                     "bool, bfloat16}",
                     "little_endian: bool = true"},
           .shape = raw_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "whole: only its values say how long its rows are"});
  ops.add({.name = "DecodePaddedRaw",
           .doc = "The bytes of each string as numbers, cut or filled with zeros to one length.",
           .inputs = {"input_bytes: string", "fixed_length: int32"},
           .outputs = {"output: out_type"},
           .attrs = {"out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, bfloat16}",
                     "little_endian: bool = true"},
           .shape = padded_raw_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "i.., . -> i.. 1",
           .host_inputs = {1}});
  ops.add({.name = "DecodeCSV",
           .doc = "The fields of comma-separated records, one tensor a column.",
           .inputs = {"records: string", "record_defaults: OUT_TYPE"},
           .outputs = {"output: OUT_TYPE"},
           .attrs = {"OUT_TYPE: list({float, double, int32, int64, string}) >= 1", "field_delim: string = ','",
                     "use_quote_delim: bool = true", "na_value: string = ''", "select_cols: list(int) = []"},
           .shape = csv_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "i.., . * -> i.. *"});
  ops.add({.name = "DecodeCompressed",
           .doc = "Strings decompressed.",
           .inputs = {"bytes: string"},
           .outputs = {"output: string"},
           .attrs = {"compression_type: string = ''"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "DecodeJSONExample",
           .doc = "Examples out of JSON.",
           .inputs = {"json_examples: string"},
           .outputs = {"binary_examples: string"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "ParseTensor",
           .doc = "The tensor that a serialized TensorProto holds.",
           .inputs = {"serialized: string"},
           .outputs = {"output: out_type"},
           .attrs = {"out_type: type"},
           .shape = parse_tensor_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true});
  ops.add({.name = "SerializeTensor",
           .doc = "A tensor as a serialized TensorProto.",
           .inputs = {"tensor: T"},
           .outputs = {"serialized: string"},
           .attrs = {"T: type"},
           .shape = scalar_output,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true});
  define_examples(ops);
}

void define_parsing(OpRegistry& ops) {
  with_sharding(ops, add_parsing_ops, {}, "whole: it numbers what it finds, over all records");
}

Value decode_raw(Value bytes, DType out_type, bool little_endian) {
  if (!bytes.valid()) return bytes;
  return bytes.graph().add("DecodeRaw", {bytes}, {{"out_type", out_type}, {"little_endian", little_endian}});
}

std::vector<Value> decode_csv(Value records, const std::vector<Value>& defaults, const CsvOptions& options) {
  std::vector<Value> columns(defaults.size());
  if (!records.valid()) return columns;
  std::vector<Value> inputs = {records};
  inputs.insert(inputs.end(), defaults.begin(), defaults.end());
  const Value first = records.graph().add("DecodeCSV", inputs,
                                          {{"field_delim", options.field_delim},
                                           {"use_quote_delim", options.use_quote_delim},
                                           {"na_value", options.na_value},
                                           {"select_cols", options.select_cols}});
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = first.output(static_cast<int>(i));
  return columns;
}

Value serialize_tensor(Value x) { return x.valid() ? x.graph().add("SerializeTensor", {x}) : x; }

Value parse_tensor(Value serialized, DType out_type) {
  if (!serialized.valid()) return serialized;
  return serialized.graph().add("ParseTensor", {serialized}, {{"out_type", out_type}});
}

}  // namespace argosy
