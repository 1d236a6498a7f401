// Kernels for warm starts: they reorder a vocabulary, and the weights that belong to it.
#include <string>
#include <unordered_map>
#include <vector>

#include "argosy/base/system/file.h"
#include "argosy/formats/checkpoint/checkpoint.h"
#include "argosy/op/kernel/file_policy.h"
#include "argosy/ops/attr_kernel.h"

namespace argosy {

namespace {

Result<std::string> path_of(const Tensor& t, const char* what, const char* words) {
  if (t.elements() != 1) return invalid_argument(what, " should be a single string, but got ", t.shape());
  const std::string& path = *t.data<std::string>();
  if (path.empty()) return invalid_argument(words, " vocab filename cannot be empty.");
  return path;
}

// Returns the first `most` lines of a vocabulary; all if `most` is -1.
Result<std::vector<std::string>> words_of(const KernelContext& c, const std::string& given, std::int64_t most) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string path, allowed_file(c, given));
  std::int64_t bytes = 0;
  {
    ARGOSY_ASSIGN_OR_RETURN(const File file, File::open(path));
    ARGOSY_ASSIGN_OR_RETURN(bytes, file.size());
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::string text, read_file(path, bytes));
  std::vector<std::string> words;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    std::string_view word = rest.substr(0, end);
    if (word.ends_with('\r')) word.remove_suffix(1);
    if (word.empty())
      return invalid_argument("Invalid content in ", given, ": empty line found at position ",
                              text.size() - rest.size(), ".");
    words.emplace_back(word);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  if (words.empty() || most == 0) return out_of_range("no line to read of ", given, ", which has ", words.size());
  if (most > static_cast<std::int64_t>(words.size()))
    return invalid_argument("Invalid vocab_size in ", given, ": expected ", most, " but got ", words.size());
  if (most > 0) words.resize(static_cast<std::size_t>(most));
  return words;
}

Result<std::unordered_map<std::string, std::int64_t>> numbers_of(const std::vector<std::string>& words) {
  std::unordered_map<std::string, std::int64_t> numbers;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto [at, is_new] = numbers.emplace(words[i], static_cast<std::int64_t>(i));
    if (!is_new) {
      return failed_precondition("HashTable has different value for same key. Key ", words[i], " has ", at->second,
                                 " and trying to add value ", i);
    }
  }
  return numbers;
}

Status generate_vocab_remapping(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string new_path, path_of(c.input(0), "new_vocab_file", "new"));
  ARGOSY_ASSIGN_OR_RETURN(const std::string old_path, path_of(c.input(1), "old_vocab_file", "old"));
  const std::int64_t offset = attrs.get_int("new_vocab_offset"), count = attrs.get_int("num_new_vocab");
  ARGOSY_ASSIGN_OR_RETURN(const auto new_words, words_of(c, new_path, -1));
  const auto have = static_cast<std::int64_t>(new_words.size());
  if (offset > have || count > have - offset) {
    return invalid_argument("lookup table size must be larger than last new vocab entry's line: ", new_path, " has ",
                            have, " lines, of which ", count, " are wanted from line ", offset, " on");
  }
  ARGOSY_ASSIGN_OR_RETURN(const auto old_words, words_of(c, old_path, attrs.get_int("old_vocab_size")));
  ARGOSY_ASSIGN_OR_RETURN(const auto numbers, numbers_of(old_words));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const remapping, c.output(0, Shape({count})));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const present, c.output(1, {}));
  std::int32_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = numbers.find(new_words[static_cast<std::size_t>(offset + i)]);
    remapping->data<std::int64_t>()[i] = at == numbers.end() ? -1 : at->second;
    found += at != numbers.end();
  }
  *present->data<std::int32_t>() = found;
  return ok_status();
}

// Returns the old row (or column) of each new one; -1: none. No old one may occur twice.
Result<std::vector<std::int64_t>> mapping(const Tensor& t, std::int64_t old_count, const char* what) {
  std::vector<std::int64_t> from(t.values<std::int64_t>().begin(), t.values<std::int64_t>().end());
  std::unordered_map<std::int64_t, std::size_t> taken;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] < 0) {
      from[i] = -1;
      continue;
    }
    if (from[i] >= old_count)
      return invalid_argument(what, "[", i, "] is ", from[i], ", and there are ", old_count, " old ones");
    const auto [at, is_new] = taken.emplace(from[i], i);
    if (!is_new) {
      return unimplemented("Old ID ", from[i], " is mapped to both new ID ", at->second, " and ", i,
                           ", which is not supported.");
    }
  }
  return from;
}

Result<Tensor> old_matrix(KernelContext& c, std::int64_t columns, bool same_columns) {
  if (c.input(0).elements() != 1)
    return invalid_argument("The `ckpt_path` tensor must have exactly one element, got tensor of shape ",
                            c.input(0).shape());
  if (c.input(1).elements() != 1)
    return invalid_argument("The `old_tensor_name` tensor must have exactly one element, got tensor of shape ",
                            c.input(1).shape());
  const std::string& given = *c.input(0).data<std::string>();
  const std::string& name = *c.input(1).data<std::string>();
  ARGOSY_RETURN_IF_ERROR(allowed_file(c, tf::index_path(given)).status());
  ARGOSY_ASSIGN_OR_RETURN(const std::string prefix, allowed_file(c, given));
  ARGOSY_ASSIGN_OR_RETURN(const tf::CheckpointReader reader, tf::CheckpointReader::open(prefix, true));
  const tf::CheckpointEntry* const entry = reader.find(name);
  if (entry == nullptr) return not_found("Key ", name, " not found in checkpoint ", given);
  if (entry->dtype != DType::kFloat32) {
    return invalid_argument("Tensor ", name, " has invalid type ", dtype_name(entry->dtype),
                            " instead of expected type float");
  }
  if (entry->shape.rank() != 2) {
    return invalid_argument("Tensor ", name, " has shape ", entry->shape, " of invalid rank ", entry->shape.rank(),
                            " instead of expected shape of rank 2.");
  }
  if (same_columns && entry->shape[1] != columns) {
    return invalid_argument("Tensor ", name, " has shape ", entry->shape, ", where the size of its 2nd dimension is ",
                            entry->shape[1], " instead of being equal to num_cols=", columns);
  }
  return reader.read(name, {.allocator = &c.allocator()});
}

Status load_and_remap_matrix(KernelContext& c, const AttrMap& attrs) {
  const std::int64_t rows = attrs.get_int("num_rows"), columns = attrs.get_int("num_cols");
  const Tensor &row_in = c.input(2), &column_in = c.input(3), &initial = c.input(4);
  if (row_in.shape().rank() != 1)
    return invalid_argument("The `row_remapping` tensor must be 1-D, got a tensor of shape ", row_in.shape());
  if (row_in.elements() != rows) {
    return invalid_argument("Size of row_remapping is ", row_in.elements(),
                            " instead of being equal to num_rows=", rows);
  }
  if (column_in.shape().rank() != 1)
    return invalid_argument("The `col_remapping` tensor must be 1-D, got a tensor of shape ", column_in.shape());
  const bool same_columns = column_in.elements() == 0;
  if (!same_columns && column_in.elements() != columns) {
    return invalid_argument("Provided col_remapping, but its size is ", column_in.elements(),
                            " instead of being equal to num_cols=", columns);
  }
  ARGOSY_ASSIGN_OR_RETURN(const Tensor old, old_matrix(c, columns, same_columns));
  const std::int64_t old_columns = old.shape()[1];
  ARGOSY_ASSIGN_OR_RETURN(const auto row_of, mapping(row_in, old.shape()[0], "row_remapping"));
  ARGOSY_ASSIGN_OR_RETURN(const auto column_of, mapping(column_in, old_columns, "col_remapping"));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, Shape({rows, columns})));
  std::int64_t used = 0;
  float* to = y->data<float>();
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t k = 0; k < columns; ++k) {
      const std::int64_t row = row_of[static_cast<std::size_t>(r)];
      const std::int64_t column = same_columns ? k : column_of[static_cast<std::size_t>(k)];
      if (row >= 0 && column >= 0) {
        *to++ = old.data<float>()[row * old_columns + column];
        continue;
      }
      if (used == initial.elements()) {
        return invalid_argument("initializing_values contained ", used, " elements, but more missing values remain.");
      }
      *to++ = initial.data<float>()[used++];
    }
  }
  if (used == initial.elements()) return ok_status();
  return invalid_argument("initializing_values contained ", initial.elements(), " elements, but only ", used,
                          " elements were used to fill in missing values.");
}

}  // namespace

void add_remaps(KernelRegistry& kernels) {
  kernels.add("GenerateVocabRemapping", "cpu", AttrKernel<generate_vocab_remapping>::make);
  kernels.add("LoadAndRemapMatrix", "cpu", AttrKernel<load_and_remap_matrix>::make);
}

}  // namespace argosy
