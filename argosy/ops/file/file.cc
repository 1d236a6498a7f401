#include "argosy/ops/file/file.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status read_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  return scalar_output(c);
}

Status write_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  return c.with_rank(1, 0).status();
}

Status matching_shape(ShapeContext& c) {
  if (c.input(0).rank() > 1) {
    return invalid_argument(c.op().name,
                            ": Input patterns tensor must be scalar or vector, but had shape: ", c.input(0));
  }
  c.set_output(0, PartialShape{PartialShape::kUnknown});
  return ok_status();
}

}  // namespace

// No op here is folded: the content of files may change, and the step decides which may be read.
static void add_file_ops(OpRegistry& ops) {
  ops.add({.name = "ReadFile",
           .doc = "The bytes of a file.",
           .inputs = {"filename: string"},
           .outputs = {"contents: string"},
           .shape = read_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .cpu_only = true,
           .opens_files = true});
  ops.add({.name = "WriteFile",
           .doc = "Makes a file of these bytes.",
           .inputs = {"filename: string", "contents: string"},
           .shape = write_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .cpu_only = true,
           .opens_files = true});
  ops.add({.name = "MatchingFiles",
           .doc = "Names of files that match patterns.",
           .inputs = {"pattern: string"},
           .outputs = {"filenames: string"},
           .shape = matching_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .cpu_only = true,
           .opens_files = true});
}

void define_file(OpRegistry& ops) { with_sharding(ops, add_file_ops, {}, "once: files are read and written once"); }

Value read_file(Value filename) { return filename.valid() ? filename.graph().add("ReadFile", {filename}) : Value(); }
Value write_file(Value filename, Value contents) {
  return filename.valid() ? filename.graph().add("WriteFile", {filename, contents}).control() : Value();
}
Value matching_files(Value pattern) {
  return pattern.valid() ? pattern.graph().add("MatchingFiles", {pattern}) : Value();
}

}  // namespace argosy
