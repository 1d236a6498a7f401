#include "argosy/ops/reader/reader.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/handle_ops.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// --- shapes ----------------------------------------------------------------------------------------------------------

bool is_old(const ShapeContext& c) { return c.op().input_args[0].is_ref; }

// The first `count` inputs are handles.
Status check_handles(const ShapeContext& c, int count) {
  const PartialShape expected = is_old(c) ? PartialShape{2} : PartialShape::scalar();
  for (int i = 0; i < count; ++i) {
    if (!c.input(i).compatible(expected)) {
      return invalid_argument(c.op().name, ": handle ", i, " must be of shape ", expected, ", not ", c.input(i));
    }
  }
  return ok_status();
}

Status read_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_handles(c, 2));
  return scalar_output(c);
}

Status read_many_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_handles(c, 2));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 0).status());
  c.set_all_outputs(PartialShape{PartialShape::kUnknown});
  return ok_status();
}

Status told_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_handles(c, 1));
  return scalar_output(c);
}

Status restore_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_handles(c, 1));
  return c.with_rank(1, 0).status();
}

// --- definitions -----------------------------------------------------------------------------------------------------

struct Handle {
  std::string name;  // of the old form; the new one has "V2" behind it
  const char* doc;
  std::vector<std::string> attrs = {};
};

Status record_input_shape(ShapeContext& c) {
  const std::int64_t batch = c.attrs().get_int("batch_size");
  if (batch < 1) return invalid_argument("RecordInput: batch_size must be positive, not ", batch);
  c.set_output(0, PartialShape{batch});
  return ok_status();
}

}  // namespace

static void add_reader_ops(OpRegistry& ops) {
  const Handle handles[] = {
      {"TextLineReader", "Lines of files.", {"skip_header_lines: int = 0"}},
      {"WholeFileReader", "Files as records."},
      {"FixedLengthRecordReader",
       "Records of so many bytes.",
       {"header_bytes: int = 0", "record_bytes: int", "footer_bytes: int = 0", "hop_bytes: int = 0"}},
      {"TFRecordReader", "Records of TFRecord files.", {"compression_type: string = ''"}},
      {"IdentityReader", "The names themselves."},
  };
  for (const Handle& handle : handles) {
    for (const bool old : {false, true}) {
      std::vector<std::string> attrs = handle.attrs;
      attrs.insert(attrs.end(), {"container: string = ''", "shared_name: string = ''"});
      if (!old && handle.name[0] == 'F') attrs.emplace_back("encoding: string = ''");
      ops.add({.name = handle.name + (old ? "" : "V2"),
               .doc = handle.doc,
               .outputs = {old ? "reader_handle: Ref(string)" : "reader_handle: resource"},
               .attrs = std::move(attrs),
               .shape = old ? ref_handle_shape : scalar_output,
               .gradient = kNotDifferentiable,
               .cost = free_cost,
               .stateful = true,
               .cpu_only = true});
    }
  }
  ops.add({.name = "RecordInput",
           .doc = "Records drawn from all files that match a pattern, without an end.",
           .outputs = {"records: string"},
           .attrs = {"file_pattern: string", "file_random_seed: int = 301", "file_shuffle_shift_ratio: float = 0",
                     "file_buffer_size: int = 10000", "file_parallelism: int = 16", "batch_size: int = 32",
                     "compression_type: string = ''"},
           .shape = record_input_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .cpu_only = true,
           .opens_files = true});
  const OpFacts reads = {.async = true, .opens_files = true};
  const std::vector<OpRow> rows = {
      {"ReaderRead",
       "The next record.",
       {"reader_handle: resource", "queue_handle: resource"},
       {"key: string", "value: string"},
       {},
       read_shape,
       reads},
      {"ReaderReadUpTo",
       "The next records of a file, at most so many.",
       {"reader_handle: resource", "queue_handle: resource", "num_records: int64"},
       {"keys: string", "values: string"},
       {},
       read_many_shape,
       reads},
      {"ReaderNumRecordsProduced",
       "How many records it gave.",
       {"reader_handle: resource"},
       {"records_produced: int64"},
       {},
       told_shape},
      {"ReaderNumWorkUnitsCompleted",
       "How many files it is through with.",
       {"reader_handle: resource"},
       {"units_completed: int64"},
       {},
       told_shape},
      {"ReaderSerializeState",
       "Where it stands, to be restored.",
       {"reader_handle: resource"},
       {"state: string"},
       {},
       told_shape},
      {"ReaderRestoreState",
       "Goes on where another stood.",
       {"reader_handle: resource", "state: string"},
       {},
       {},
       restore_shape},
      {"ReaderReset", "As if it had read nothing.", {"reader_handle: resource"}, {}, {}, told_shape},
  };
  std::vector<HandleOpRow> forms;
  for (const OpRow& row : rows) forms.push_back({row, row.shape});
  add_handle_rows(ops, forms, {.cost = free_cost, .cpu_only = true});
}

void define_reader(OpRegistry& ops) {
  with_sharding(ops, add_reader_ops, {}, "once: a reader stands at one place of its files");
}

Value text_line_reader(Graph& graph, int skip_header_lines, std::string_view name) {
  return graph.add("TextLineReaderV2", {}, {{"skip_header_lines", skip_header_lines}}, name);
}
Value whole_file_reader(Graph& graph, std::string_view name) { return graph.add("WholeFileReaderV2", {}, {}, name); }
Value fixed_length_record_reader(Graph& graph, std::int64_t record_bytes, std::int64_t header_bytes,
                                 std::int64_t footer_bytes, std::string_view name) {
  return graph.add("FixedLengthRecordReaderV2", {},
                   {{"record_bytes", record_bytes}, {"header_bytes", header_bytes}, {"footer_bytes", footer_bytes}},
                   name);
}
Value record_reader(Graph& graph, std::string_view name) { return graph.add("TFRecordReaderV2", {}, {}, name); }

std::pair<Value, Value> reader_read(Value reader, Value queue) {
  if (!reader.valid()) return {};
  const Value read = reader.graph().add("ReaderReadV2", {reader, queue});
  return {read, read.valid() ? read.output(1) : Value()};
}

std::pair<Value, Value> reader_read_up_to(Value reader, Value queue, Value n) {
  if (!reader.valid()) return {};
  const Value read = reader.graph().add("ReaderReadUpToV2", {reader, queue, n});
  return {read, read.valid() ? read.output(1) : Value()};
}

}  // namespace argosy
