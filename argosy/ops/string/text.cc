// Definitions: case, pieces, patterns, numbers, hashes, base64.
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/string/string_registration.h"

namespace argosy {

namespace {

Status substr_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape at, c.input(1).merge(c.input(2)));
  if (at.rank() == 0) return same_as_input(c);
  ARGOSY_ASSIGN_OR_RETURN(PartialShape shape, broadcast(c.input(0), at));
  c.set_output(0, std::move(shape));
  return ok_status();
}

void set_sparse_matrix(ShapeContext& c) {
  c.set_output(0, PartialShape{PartialShape::kUnknown, 2});
  c.set_output(1, PartialShape{PartialShape::kUnknown});
  c.set_output(2, PartialShape{2});
}

Status split_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 1).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  set_sparse_matrix(c);
  return ok_status();
}

Status ngrams_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 1).status());
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape splits, c.with_rank(1, 1));
  c.set_output(0, PartialShape{PartialShape::kUnknown});
  c.set_output(1, splits);
  return ok_status();
}

Status regex_shape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
  return same_as_input(c);
}

Status segment_join_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 0).status());
  const PartialShape& data = c.input(0);
  const PartialShape& ids = c.input(1);
  if (!data.has_rank() || !ids.has_rank()) return ok_status();
  bool fits = ids.rank() >= 1 && ids.rank() <= data.rank();
  for (int i = 0; fits && i < ids.rank(); ++i) fits = ids[i] < 0 || data[i] < 0 || ids[i] == data[i];
  if (!fits) {
    return invalid_argument("UnsortedSegmentJoin: the shape of inputs, ", data,
                            ", must start with that of segment_ids, ", ids);
  }
  const auto segments = c.input_as_int(2);
  std::vector<std::int64_t> sizes = {segments && *segments >= 0 ? *segments : PartialShape::kUnknown};
  sizes.insert(sizes.end(), data.sizes().begin() + ids.rank(), data.sizes().end());
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status fingerprint_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  const PartialShape& x = c.input(0);
  if (!x.has_rank()) return ok_status();
  if (x.rank() == 0) return invalid_argument("`data` should have at least one dimension: ", x);
  c.set_output(0, PartialShape{x[0], 8});
  return ok_status();
}

}  // namespace

void define_text(OpRegistry& ops) {
  ops.add({.name = "StringLower",
           .doc = "Lower case: of ASCII letters, or with encoding 'utf-8' of all.",
           .inputs = {"input: string"},
           .outputs = {"output: string"},
           .attrs = {"encoding: string = ''"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "StringUpper",
           .doc = "Upper case: of ASCII letters, or with encoding 'utf-8' of all.",
           .inputs = {"input: string"},
           .outputs = {"output: string"},
           .attrs = {"encoding: string = ''"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "StringStrip",
           .doc = "Without white space at either end.",
           .inputs = {"input: string"},
           .outputs = {"output: string"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "StringLength",
           .doc = "Bytes, or UTF-8 characters.",
           .inputs = {"input: string"},
           .outputs = {"output: int32"},
           .attrs = {"unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "Substr",
           .doc = "len bytes or characters from pos on, from the end where pos is negative.",
           .inputs = {"input: string", "pos: T", "len: T"},
           .outputs = {"output: string"},
           .attrs = {"T: index", "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'"},
           .shape = substr_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "i.., i.., i.. -> i..; broadcasts"});
  ops.add({.name = "StringSplit",
           .doc = "Pieces between any of the delimiter's characters, as a sparse matrix.",
           .inputs = {"input: string", "delimiter: string"},
           .outputs = {"indices: int64", "values: string", "shape: int64"},
           .attrs = {"skip_empty: bool = true"},
           .shape = split_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true});
  ops.add({.name = "StringSplitV2",
           .doc = "Pieces between separators, or between white space, as a sparse matrix.",
           .inputs = {"input: string", "sep: string"},
           .outputs = {"indices: int64", "values: string", "shape: int64"},
           .attrs = {"maxsplit: int = -1"},
           .shape = split_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "StringNGrams",
           .doc = "Runs of neighbouring strings of ragged rows, joined.",
           .inputs = {"data: string", "data_splits: Tsplits"},
           .outputs = {"ngrams: string", "ngrams_splits: Tsplits"},
           .attrs = {"separator: string", "ngram_widths: list(int) >= 0", "left_pad: string", "right_pad: string",
                     "pad_width: int", "preserve_short_sequences: bool", "Tsplits: index = int64"},
           .shape = ngrams_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "RegexReplace",
           .doc = "Matches of an RE2 pattern replaced.",
           .inputs = {"input: string", "pattern: string", "rewrite: string"},
           .outputs = {"output: string"},
           .attrs = {"replace_global: bool = true"},
           .shape = regex_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "i.., ., . -> i.."});
  ops.add({.name = "StaticRegexReplace",
           .doc = "Matches of an RE2 pattern replaced.",
           .inputs = {"input: string"},
           .outputs = {"output: string"},
           .attrs = {"pattern: string", "rewrite: string", "replace_global: bool = true"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "RegexFullMatch",
           .doc = "Does all of it match an RE2 pattern?",
           .inputs = {"input: string", "pattern: string"},
           .outputs = {"output: bool"},
           .shape = regex_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "i.., . -> i.."});
  ops.add({.name = "StaticRegexFullMatch",
           .doc = "Does all of it match an RE2 pattern?",
           .inputs = {"input: string"},
           .outputs = {"output: bool"},
           .attrs = {"pattern: string"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "StringToNumber",
           .doc = "Numbers out of text.",
           .inputs = {"string_tensor: string"},
           .outputs = {"output: out_type"},
           .attrs = {"out_type: {float, double, int32, int64, uint32, uint64} = float"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "StringToHashBucket",
           .doc = "A bucket by a hash, which may change between versions.",
           .inputs = {"string_tensor: string"},
           .outputs = {"output: int64"},
           .attrs = {"num_buckets: int >= 1"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "StringToHashBucketFast",
           .doc = "A bucket by FarmHash's fingerprint.",
           .inputs = {"input: string"},
           .outputs = {"output: int64"},
           .attrs = {"num_buckets: int >= 1"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "StringToHashBucketStrong",
           .doc = "A bucket by SipHash under a key.",
           .inputs = {"input: string"},
           .outputs = {"output: int64"},
           .attrs = {"num_buckets: int >= 1", "key: list(int)"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "Fingerprint",
           .doc = "FarmHash's fingerprint of each row, as 8 bytes.",
           .inputs = {"data: T", "method: string"},
           .outputs = {"fingerprint: uint8"},
           .attrs = {"T: type"},
           .shape = fingerprint_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "n i.., . -> n 1; whole i.."});
  ops.add({.name = "EncodeBase64",
           .doc = "Web-safe base64.",
           .inputs = {"input: string"},
           .outputs = {"output: string"},
           .attrs = {"pad: bool = false"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "DecodeBase64",
           .doc = "Out of web-safe base64.",
           .inputs = {"input: string"},
           .outputs = {"output: string"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "UnsortedSegmentJoin",
           .doc = "The strings of each segment joined, in order.",
           .inputs = {"inputs: string", "segment_ids: Tindices", "num_segments: Tnumsegments"},
           .outputs = {"output: string"},
           .attrs = {"separator: string = ''", "Tindices: index", "Tnumsegments: index = int32"},
           .shape = segment_join_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .host_inputs = {2}});
}

}  // namespace argosy
