#include "argosy/base/system/confined_path.h"
#include "argosy/base/system/file.h"
#include "argosy/formats/checkpoint/checkpoint.h"
#include "argosy/formats/checkpoint/slice_file.h"
#include "argosy/op/kernel/file_policy.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/file/matching.h"

namespace argosy {

void add_remaps(KernelRegistry& kernels);  // remap_cpu.cc

namespace {

Result<std::string> one_string(const Tensor& t, std::string_view what) {
  if (t.dtype() != DType::kString || t.elements() != 1) {
    return invalid_argument("Input ", what, " should be a scalar tensor, got ", dtype_name(t.dtype()), t.shape(),
                            " instead.");
  }
  return *t.data<std::string>();
}

Result<std::span<const std::string>> strings(const Tensor& t, std::string_view what, std::int64_t count) {
  if (t.dtype() != DType::kString || t.shape().rank() != 1) {
    return invalid_argument("Input ", what, " should be an 1-D tensor of strings, got ", dtype_name(t.dtype()),
                            t.shape(), " instead.");
  }
  if (t.elements() != count) {
    return invalid_argument(what, " and tensors have different number of elements: ", t.elements(), " vs. ", count);
  }
  return std::span<const std::string>(t.values<std::string>());
}

// Returns the prefix if the files of its checkpoint may be accessed. Their names extend the prefix, and must not lead
// out by a link either.
Result<std::string> allowed_prefix(const KernelContext& c, const std::string& prefix) {
  ARGOSY_RETURN_IF_ERROR(allowed_file(c, tf::index_path(prefix)).status());
  return allowed_file(c, prefix);
}

// Returns the tensors to save, from input `first` on. `slices`: the input that describes parts of tensors, or -1.
Result<std::vector<tf::NamedPart>> parts_to_save(const KernelContext& c, int slices, int first) {
  const std::int64_t count = c.num_inputs() - first;
  ARGOSY_ASSIGN_OR_RETURN(const auto names, strings(c.input(1), "tensor_names", count));
  std::vector<tf::NamedPart> parts;
  for (std::int64_t i = 0; i < count; ++i) {
    parts.push_back({names[static_cast<std::size_t>(i)], c.input(first + static_cast<int>(i))});
    if (slices < 0) continue;
    ARGOSY_ASSIGN_OR_RETURN(const auto specs, strings(c.input(slices), "shape_and_slices", count));
    ARGOSY_ASSIGN_OR_RETURN(parts.back().part, tf::parse_slice_spec(specs[static_cast<std::size_t>(i)]));
  }
  return parts;
}

Status save(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(std::string prefix, one_string(c.input(0), "prefix"));
  ARGOSY_ASSIGN_OR_RETURN(const auto parts, parts_to_save(c, 2, 3));
  ARGOSY_ASSIGN_OR_RETURN(prefix, allowed_prefix(c, prefix));
  // As TensorFlow: the last folder is made; that of a sharded save is new.
  (void)mkdir_confined(parent_directory(prefix), 0777);
  return tf::write_parts(prefix, parts);
}

Status save_slices(KernelContext& c, int slices, int first) {
  ARGOSY_ASSIGN_OR_RETURN(std::string path, one_string(c.input(0), "filename"));
  ARGOSY_ASSIGN_OR_RETURN(const auto parts, parts_to_save(c, slices, first));
  ARGOSY_ASSIGN_OR_RETURN(path, allowed_file(c, path));
  return tf::write_slice_file(path, parts);
}
Status old_save(KernelContext& c) { return save_slices(c, -1, 2); }
Status old_save_slices(KernelContext& c) { return save_slices(c, 2, 3); }

Status wrong_dtype(const std::string& name, DType expected, DType stored) {
  return invalid_argument("tensor_name = ", name, "; expected dtype ", dtype_name(expected),
                          " does not equal original dtype ", dtype_name(stored));
}

Result<tf::SliceReader> open_slice_files(const KernelContext& c, const std::string& pattern) {
  ARGOSY_ASSIGN_OR_RETURN(std::vector<std::string> paths, matching_files(c, pattern));
  if (paths.empty()) {
    return not_found("Unsuccessful TensorSliceReader constructor: Failed to find any matching files for ", pattern);
  }
  for (std::string& path : paths) {
    ARGOSY_ASSIGN_OR_RETURN(path, allowed_file(c, path));
  }
  return tf::SliceReader::open(paths);
}

Status restore_old(KernelContext& c, const tf::SliceReader& reader, const std::string& name, const std::string& spec,
                   int output) {
  ARGOSY_ASSIGN_OR_RETURN(const DType dtype, reader.dtype(name));
  if (dtype != c.output_dtype(output)) return wrong_dtype(name, c.output_dtype(output), dtype);
  ARGOSY_ASSIGN_OR_RETURN(const auto part, tf::parse_slice_spec(spec));
  ARGOSY_ASSIGN_OR_RETURN(const tf::PartOf whole, reader.whole(name));
  ARGOSY_ASSIGN_OR_RETURN(Tensor value, reader.read(name, part.value_or(whole)));
  c.set_output(output, std::move(value));
  return ok_status();
}

Status restore(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string given, one_string(c.input(0), "prefix"));
  ARGOSY_ASSIGN_OR_RETURN(const auto names, strings(c.input(1), "tensor_names", c.num_outputs()));
  ARGOSY_ASSIGN_OR_RETURN(const auto specs, strings(c.input(2), "shape_and_slices", c.num_outputs()));
  ARGOSY_ASSIGN_OR_RETURN(const std::string prefix, allowed_prefix(c, given));
  if (!file_exists(tf::index_path(prefix))) {  // perhaps one of the first format
    ARGOSY_ASSIGN_OR_RETURN(const tf::SliceReader old, open_slice_files(c, given));
    for (std::size_t i = 0; i < names.size(); ++i) {
      ARGOSY_RETURN_IF_ERROR(restore_old(c, old, names[i], specs[i], static_cast<int>(i)));
    }
    return ok_status();
  }
  ARGOSY_ASSIGN_OR_RETURN(const tf::CheckpointReader reader, tf::CheckpointReader::open(prefix, true));
  std::vector<std::string> whole;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const tf::CheckpointEntry* const entry = reader.find(names[i]);
    if (entry == nullptr) return not_found("Key ", names[i], " not found in checkpoint ", given);
    const DType expected = c.output_dtype(static_cast<int>(i));
    if (entry->dtype != expected) return wrong_dtype(names[i], expected, entry->dtype);
    if (specs[i].empty()) whole.push_back(names[i]);
  }
  ARGOSY_ASSIGN_OR_RETURN(std::vector<Tensor> values, reader.read(whole));  // together, in parallel
  for (std::size_t i = 0, next = 0; i < names.size(); ++i) {
    if (specs[i].empty()) {
      c.set_output(static_cast<int>(i), std::move(values[next++]));
      continue;
    }
    ARGOSY_ASSIGN_OR_RETURN(const auto part, tf::parse_slice_spec(specs[i]));
    ARGOSY_ASSIGN_OR_RETURN(Tensor value, reader.read_part(names[i], *part));
    c.set_output(static_cast<int>(i), std::move(value));
  }
  return ok_status();
}

Status old_restore(KernelContext& c, bool slice) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string pattern, one_string(c.input(0), "file_pattern"));
  ARGOSY_ASSIGN_OR_RETURN(const std::string name, one_string(c.input(1), "tensor_name"));
  std::string spec;
  if (slice) {
    ARGOSY_ASSIGN_OR_RETURN(spec, one_string(c.input(2), "shape_and_slice"));
  }
  ARGOSY_ASSIGN_OR_RETURN(const tf::SliceReader reader, open_slice_files(c, pattern));
  return restore_old(c, reader, name, spec, 0);
}
Status restore_whole(KernelContext& c) { return old_restore(c, false); }
Status restore_slice(KernelContext& c) { return old_restore(c, true); }

class Merge final : public Kernel {
 public:
  explicit Merge(tf::MergeOptions options) : options_(options) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(
        std::make_unique<Merge>(tf::MergeOptions{.delete_old_directories = init.attrs.get_bool("delete_old_dirs"),
                                                 .allow_missing = init.attrs.get_bool("allow_missing_files")}));
  }
  Status run(KernelContext& c) override {
    const Tensor& given = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const auto names, strings(given, "checkpoint_prefixes", given.elements()));
    std::vector<std::string> pieces;
    for (const std::string& name : names) {
      ARGOSY_ASSIGN_OR_RETURN(std::string piece, allowed_prefix(c, name));
      pieces.push_back(std::move(piece));
    }
    if (c.input(1).shape().rank() != 0) {
      return invalid_argument("Input destination_prefix should be a scalar tensor, got ", c.input(1).shape(),
                              " instead.");
    }
    ARGOSY_ASSIGN_OR_RETURN(std::string prefix, one_string(c.input(1), "destination_prefix"));
    ARGOSY_ASSIGN_OR_RETURN(prefix, allowed_prefix(c, prefix));
    return tf::merge_checkpoints(pieces, prefix, options_);
  }

 private:
  const tf::MergeOptions options_;
};

}  // namespace

void add_kernels_cpu_checkpoint(KernelRegistry& kernels) {
  kernels.add("SaveV2", "cpu", save);
  kernels.add("RestoreV2", "cpu", restore);
  kernels.add("MergeV2Checkpoints", "cpu", Merge::make);
  kernels.add("Save", "cpu", old_save);
  kernels.add("SaveSlices", "cpu", old_save_slices);
  kernels.add("Restore", "cpu", restore_whole);
  kernels.add("RestoreSlice", "cpu", restore_slice);
  add_remaps(kernels);
}

}  // namespace argosy
