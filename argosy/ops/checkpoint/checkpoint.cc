#include "argosy/ops/checkpoint/checkpoint.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/op_rows.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// --- shapes ----------------------------------------------------------------------------------------------------------

Status as_many_names_as(ShapeContext& c, int from, std::int64_t count) {
  for (int i = 1; i < from; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const PartialShape names, c.with_rank(i, 1));
    if (names[0] >= 0 && names[0] != count) {
      return invalid_argument(c.op().name, ": ", names[0], " names or slices for ", count, " tensors");
    }
  }
  return ok_status();
}

Status save_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  return as_many_names_as(c, 3, c.num_inputs() - 3);
}
Status old_save_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  return as_many_names_as(c, 2, c.num_inputs() - 2);
}

// The prefix may be a vector of one: TensorFlow asks nothing of it here.
Status restore_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 1).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 1).status());
  return as_many_names_as(c, 3, c.num_outputs());
}

Status scalars_in(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
  return unknown_output(c);
}

Status merge_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 1).status());
  return c.with_rank(1, 0).status();
}

std::vector<OpRow> rows() {
  return {
      {"SaveV2",
       "Writes tensors to a checkpoint.",
       {"prefix: string", "tensor_names: string", "shape_and_slices: string", "tensors: dtypes"},
       {},
       {"dtypes: list(type) >= 1"},
       save_shape},
      {"RestoreV2",
       "Reads tensors from a checkpoint.",
       {"prefix: string", "tensor_names: string", "shape_and_slices: string"},
       {"tensors: dtypes"},
       {"dtypes: list(type) >= 1"},
       restore_shape},
      {"MergeV2Checkpoints",
       "Makes one checkpoint of pieces.",
       {"checkpoint_prefixes: string", "destination_prefix: string"},
       {},
       {"delete_old_dirs: bool = true", "allow_missing_files: bool = false"},
       merge_shape},
      {"Save",
       "Writes tensors to a file of the first format.",
       {"filename: string", "tensor_names: string", "data: T"},
       {},
       {"T: list(type) >= 1"},
       old_save_shape},
      {"SaveSlices",
       "Writes slices of tensors to a file of the first format.",
       {"filename: string", "tensor_names: string", "shapes_and_slices: string", "data: T"},
       {},
       {"T: list(type) >= 1"},
       save_shape},
      {"Restore",
       "Reads a tensor from files of the first format.",
       {"file_pattern: string", "tensor_name: string"},
       {"tensor: dt"},
       {"dt: type", "preferred_shard: int = -1"},
       scalars_in},
      {"RestoreSlice",
       "Reads a slice of a tensor from files of the first format.",
       {"file_pattern: string", "tensor_name: string", "shape_and_slice: string"},
       {"tensor: dt"},
       {"dt: type", "preferred_shard: int = -1"},
       scalars_in},
  };
}

}  // namespace

namespace {

Status remap_shape(ShapeContext& c) {
  c.set_output(0, PartialShape{c.attrs().get_int("num_new_vocab")});
  c.set_output(1, PartialShape::scalar());
  return ok_status();
}
Status remapped_shape(ShapeContext& c) {
  for (int i = 2; i < 4; ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 1).status());
  c.set_output(0, PartialShape{c.attrs().get_int("num_rows"), c.attrs().get_int("num_cols")});
  return ok_status();
}

// The ops of tf.train.warm_start.
void define_remaps(OpRegistry& ops) {
  ops.add({.name = "GenerateVocabRemapping",
           .doc = "For each word of a vocabulary file, its line in an older one, or -1; and how many were found.",
           .inputs = {"new_vocab_file: string", "old_vocab_file: string"},
           .outputs = {"remapping: int64", "num_present: int32"},
           .attrs = {"new_vocab_offset: int >= 0", "num_new_vocab: int >= 0", "old_vocab_size: int >= -1 = -1"},
           .shape = remap_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .cpu_only = true,
           .blocks_gradient = true,
           .opens_files = true});
  ops.add({.name = "LoadAndRemapMatrix",
           .doc = "A matrix of a checkpoint with its rows and columns in another order; given values where there is no "
                  "old one.",
           .inputs = {"ckpt_path: string", "old_tensor_name: string", "row_remapping: int64", "col_remapping: int64",
                      "initializing_values: float"},
           .outputs = {"output_matrix: float"},
           .attrs = {"num_rows: int >= 0", "num_cols: int >= 1", "max_rows_in_memory: int = -1"},
           .shape = remapped_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .cpu_only = true,
           .opens_files = true});
}

}  // namespace

static void add_checkpoint_ops(OpRegistry& ops) {
  define_remaps(ops);
  add_rows(ops, rows(), {.cost = free_cost, .stateful = true, .cpu_only = true, .opens_files = true});
}

void define_checkpoint(OpRegistry& ops) {
  with_sharding(ops, add_checkpoint_ops, {}, "once: files are read and written once");
}

Value save(Value prefix, Value names, Value slices, const std::vector<Value>& tensors) {
  if (!prefix.valid()) return {};
  std::vector<Value> inputs = {prefix, names, slices};
  inputs.insert(inputs.end(), tensors.begin(), tensors.end());
  return prefix.graph().add("SaveV2", inputs).control();
}

std::vector<Value> restore(Value prefix, Value names, Value slices, const std::vector<DType>& dtypes) {
  if (!prefix.valid()) return {};
  const Value first = prefix.graph().add("RestoreV2", {prefix, names, slices}, {{"dtypes", dtypes}});
  std::vector<Value> values;
  for (std::size_t i = 0; i < dtypes.size() && first.valid(); ++i) values.push_back(first.output(static_cast<int>(i)));
  return values;
}

Value merge_checkpoints(Value pieces, Value prefix, bool delete_old_directories) {
  if (!pieces.valid()) return {};
  return pieces.graph()
      .add("MergeV2Checkpoints", {pieces, prefix}, {{"delete_old_dirs", delete_old_directories}})
      .control();
}

Value sharded_filename(Value basename, Value shard, Value shards) {
  return basename.valid() ? basename.graph().add("ShardedFilename", {basename, shard, shards}) : Value();
}

}  // namespace argosy
