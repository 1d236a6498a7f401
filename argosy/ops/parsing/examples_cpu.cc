// Kernels: the features of Examples and SequenceExamples as tensors. One kernel serves all six ops (examples.h).
#include <algorithm>

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/parsing/examples.h"
#include "argosy/ops/parsing/feature_rows.h"

namespace argosy {

namespace {

using namespace examples;

// One run: reads rows, then column after column.
class ExampleParser {
 public:
  ExampleParser(KernelContext& c, const OpDef& op, const AttrMap& attrs) : c_(c), op_(op), attrs_(attrs) {}

  Status run() {
    ARGOSY_RETURN_IF_ERROR(check_counts(op_, attrs_));
    ARGOSY_ASSIGN_OR_RETURN(in_, examples::first_of(op_.input_args, attrs_));
    ARGOSY_ASSIGN_OR_RETURN(out_, examples::first_of(op_.output_args, attrs_));
    ARGOSY_RETURN_IF_ERROR(read_rows());
    if (!sequence_) return context("");
    ARGOSY_RETURN_IF_ERROR(context("context_"));
    return steps("feature_list_");
  }

 private:
  std::int64_t batch() const { return static_cast<std::int64_t>(rows_.size()); }
  int out(const std::string& name, std::size_t k) const { return out_.at(name) + static_cast<int>(k); }
  bool has_output(const std::string& name) const { return out_.contains(name); }

  Status read_rows() {
    const Tensor& serialized = c_.input(0);
    const bool single = op_.name.starts_with("ParseSingle");
    sequence_ = op_.name.find("Sequence") != std::string::npos;
    batched_ = serialized.shape().rank() == 1;
    const bool fits = single ? !batched_ && serialized.shape().rank() == 0
                             : batched_ || (serialized.shape().rank() == 0 && op_.name.ends_with("V2"));
    if (!fits) {
      return invalid_argument("Expected serialized to be a ", single ? "scalar" : "vector",
                              ", got shape: ", serialized.shape());
    }
    const char* const names_input = sequence_ ? "debug_name" : "names";
    const Tensor* const names = in_.contains(names_input) ? &c_.input(in_.at(names_input)) : nullptr;
    if (names != nullptr && names->elements() > 0 && names->shape() != serialized.shape()) {
      return invalid_argument("Expected names have the same shape as serialized: ", names->shape(), " is not ",
                              serialized.shape());
    }
    for (std::int64_t i = 0; i < serialized.elements(); ++i) {
      check_interrupted();
      ExampleRow row;
      row.name = names != nullptr && names->elements() > 0 ? names->data<std::string>()[i] : "<unknown>";
      const std::string& bytes = serialized.data<std::string>()[i];
      if (sequence_) {
        ARGOSY_ASSIGN_OR_RETURN(row.example, tf::parse_sequence_example(bytes));
      } else {
        ARGOSY_ASSIGN_OR_RETURN(row.example.context, tf::parse_example(bytes));
      }
      rows_.push_back(std::move(row));
    }
    return ok_status();
  }

  // Keys of a kind of columns: an attribute, a scalar each, or a vector.
  Result<std::vector<std::string>> keys(const std::string& name, std::size_t wanted) const {
    std::vector<std::string> found;
    if (const auto* attr = attrs_.find_as<std::vector<std::string>>(name)) {
      found = *attr;
    } else if (const auto at = in_.find(name); at != in_.end()) {
      const bool vector = std::any_of(op_.input_args.begin(), op_.input_args.end(),
                                      [&](const ArgDef& a) { return a.name == name && a.number_attr.empty(); });
      for (std::size_t k = 0; k < (vector ? 1 : wanted); ++k) {
        const Tensor& t = c_.input(at->second + static_cast<int>(k));
        if (t.shape().rank() != (vector ? 1 : 0)) {
          return invalid_argument("Expected ", name, " to be a ", vector ? "vector" : "scalar",
                                  ", got shape: ", t.shape());
        }
        const auto values = t.values<std::string>();
        found.insert(found.end(), values.begin(), values.end());
      }
    }
    if (found.size() == wanted) return found;
    return invalid_argument("Expected len(", name, ") == ", wanted, ", not ", found.size());
  }

  Status context(const std::string& part) {
    const Columns columns = Columns::read(op_, attrs_, part);
    ARGOSY_ASSIGN_OR_RETURN(const auto sparse, keys(part + "sparse_keys", columns.sparse.size()));
    for (std::size_t k = 0; k < sparse.size(); ++k) {
      ARGOSY_RETURN_IF_ERROR(sparse_column(part, k, sparse[k], columns.sparse[k]));
    }
    ARGOSY_ASSIGN_OR_RETURN(const auto dense, keys(part + "dense_keys", columns.dense.size()));
    if (columns.dense_shapes.size() != dense.size()) {
      return invalid_argument("Expected len(dense_keys) == len(dense_shapes), but ", dense.size(), " is not ",
                              columns.dense_shapes.size());
    }
    for (std::size_t k = 0; k < dense.size(); ++k) {
      const Tensor& fallback = c_.input(in_.at(part + "dense_defaults") + static_cast<int>(k));
      ARGOSY_RETURN_IF_ERROR(dense_column(part, k, dense[k], columns.dense_shapes[k], fallback));
    }
    if (!has_output(part + "ragged_values")) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const auto ragged, keys(part + "ragged_keys", columns.ragged.size()));
    for (std::size_t k = 0; k < ragged.size(); ++k) {
      ARGOSY_RETURN_IF_ERROR(ragged_column(part, k, ragged[k], columns.ragged[k]));
    }
    return ok_status();
  }

  Status sparse_column(const std::string& part, std::size_t k, const std::string& key, DType dtype) {
    Feature values;
    std::vector<std::int64_t> indices;
    std::int64_t longest = 0;
    for (std::int64_t i = 0; i < batch(); ++i) {
      ARGOSY_ASSIGN_OR_RETURN(const Feature* const feature, find(rows_[static_cast<std::size_t>(i)], key, dtype));
      if (feature == nullptr) continue;
      const auto size = static_cast<std::int64_t>(feature->size());
      for (std::int64_t at = 0; at < size; ++at) {
        if (batched_) indices.push_back(i);
        indices.push_back(at);
      }
      longest = std::max(longest, size);
      append(values, *feature);
    }
    const std::int64_t rank = batched_ ? 2 : 1;
    const std::int64_t count = count_of(indices, rank);
    ARGOSY_RETURN_IF_ERROR(emit_ints(c_, out(part + "sparse_indices", k), indices, {count, rank}));
    ARGOSY_RETURN_IF_ERROR(emit(c_, out(part + "sparse_values", k), values, {count}));
    const auto shape = batched_ ? std::vector<std::int64_t>{batch(), longest} : std::vector<std::int64_t>{longest};
    return emit_ints(c_, out(part + "sparse_shapes", k), shape, {rank});
  }

  // A shape whose first size alone may be open: then rows are filled up to the longest.
  Status dense_column(const std::string& part, std::size_t k, const std::string& key, const PartialShape& shape,
                      const Tensor& fallback) {
    const bool open = shape.rank() > 0 && shape[0] < 0 && !op_.name.starts_with("ParseSingleSequence");
    std::vector<std::int64_t> sizes = shape.sizes();
    if (open) sizes.erase(sizes.begin());
    if (!shape.has_rank() || !PartialShape(sizes).is_full()) {
      return invalid_argument("dense_shapes[", k, "] has unknown rank or unknown inner dimensions: ", shape);
    }
    ARGOSY_ASSIGN_OR_RETURN(const Shape one, Shape::make(sizes));
    if (open ? fallback.elements() != 1 : fallback.elements() > 0 && fallback.shape() != one) {
      return invalid_argument("the default of \"", key, "\" has shape ", fallback.shape(), ", which does not go with ",
                              shape);
    }
    const DType dtype = fallback.dtype();
    std::vector<const Feature*> found;
    std::int64_t longest = 0;
    for (const ExampleRow& row : rows_) {
      ARGOSY_ASSIGN_OR_RETURN(const Feature* const feature, find(row, key, dtype));
      if (feature == nullptr && !open && fallback.elements() == 0) return required(row, key, dtype);
      if (feature != nullptr) {
        const auto size = static_cast<std::int64_t>(feature->size());
        const bool fits = open ? one.elements() > 0 && size % one.elements() == 0 : size == one.elements();
        if (!fits) {
          return complain(row, key, "Number of ", dtype_name(dtype), " values ",
                          open ? "is no multiple of" : "!=", " expected: ", size, " for shape ", shape);
        }
        if (open) longest = std::max(longest, size / one.elements());
      }
      found.push_back(feature);
    }
    const Feature by_default = open ? Feature() : values_of(fallback);
    std::vector<std::int64_t> all;
    if (batched_) all.push_back(batch());
    if (open) all.push_back(longest);
    all.insert(all.end(), sizes.begin(), sizes.end());
    ARGOSY_ASSIGN_OR_RETURN(const Shape whole, Shape::make(all));
    Feature values;
    for (const Feature* const feature : found) {
      append(values, feature != nullptr ? *feature : by_default);
      if (!open) continue;
      const auto here = feature != nullptr ? static_cast<std::int64_t>(feature->size()) : 0;
      append(values, fallback, longest * one.elements() - here, dtype);
    }
    return emit(c_, out(part + "dense_values", k), values, whole);
  }

  Status ragged_column(const std::string& part, std::size_t k, const std::string& key, DType dtype) {
    Feature values;
    std::vector<std::int64_t> splits;
    if (batched_) splits.push_back(0);
    for (const ExampleRow& row : rows_) {
      ARGOSY_ASSIGN_OR_RETURN(const Feature* const feature, find(row, key, dtype));
      if (feature != nullptr) append(values, *feature);
      if (batched_) splits.push_back(static_cast<std::int64_t>(values.size()));
    }
    const auto ends = static_cast<std::int64_t>(splits.size());
    if (!batched_ && sequence_) splits.push_back(0);  // TensorFlow's answer there: a scalar, which says nothing
    ARGOSY_RETURN_IF_ERROR(
        emit_ints(c_, out(part + "ragged_row_splits", k), splits, !batched_ && sequence_ ? Shape{} : Shape{ends}));
    const auto count = static_cast<std::int64_t>(values.size());
    return emit(c_, out(part + "ragged_values", k), values, {count});
  }

  // --- time steps ----------------------------------------------------------------------------------------------------

  // Null where the row has no such list.
  static Result<const std::vector<Feature>*> find_list(const ExampleRow& row, const std::string& key, DType dtype) {
    const auto found = row.example.lists.find(key);
    if (found == row.example.lists.end()) return nullptr;
    for (const Feature& feature : found->second) {
      if (feature.dtype != DType::kInvalid && feature.dtype != dtype) {
        return complain(row, key, "Data types don't match. Expected type: ", dtype_name(dtype),
                        ", actual type: ", dtype_name(feature.dtype));
      }
    }
    return &found->second;
  }

  Status steps(const std::string& part) {
    const Columns columns = Columns::read(op_, attrs_, part);
    ARGOSY_ASSIGN_OR_RETURN(const auto sparse, keys(part + "sparse_keys", columns.sparse.size()));
    for (std::size_t k = 0; k < sparse.size(); ++k) {
      ARGOSY_RETURN_IF_ERROR(sparse_steps(part, k, sparse[k], columns.sparse[k]));
    }
    ARGOSY_ASSIGN_OR_RETURN(const auto dense, keys(part + "dense_keys", columns.dense.size()));
    if (columns.dense_shapes.size() != dense.size()) {
      return invalid_argument("Expected len(feature_list_dense_keys) == len(feature_list_dense_shapes), but ",
                              dense.size(), " is not ", columns.dense_shapes.size());
    }
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<bool> may_miss, may_be_missing(part, dense));
    for (std::size_t k = 0; k < dense.size(); ++k) {
      ARGOSY_RETURN_IF_ERROR(dense_steps(part, k, dense[k], columns.dense[k], columns.dense_shapes[k], may_miss[k]));
    }
    if (!has_output(part + "ragged_values")) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const auto ragged, keys(part + "ragged_keys", columns.ragged.size()));
    for (std::size_t k = 0; k < ragged.size(); ++k) {
      ARGOSY_RETURN_IF_ERROR(ragged_steps(part, k, ragged[k], columns.ragged[k]));
    }
    return ok_status();
  }

  // "…dense_missing_assumed_empty": the names of lists, or a flag for each.
  Result<std::vector<bool>> may_be_missing(const std::string& part, const std::vector<std::string>& dense) const {
    const std::string name = part + "dense_missing_assumed_empty";
    std::vector<bool> may(dense.size(), false);
    const auto among = [&](std::span<const std::string> names) {
      for (std::size_t k = 0; k < dense.size(); ++k)
        may[k] = std::find(names.begin(), names.end(), dense[k]) != names.end();
    };
    if (const auto* names = attrs_.find_as<std::vector<std::string>>(name)) {
      among(*names);
      return may;
    }
    const Tensor& given = c_.input(in_.at(name));
    if (given.dtype() == DType::kString) {
      among(given.values<std::string>());
    } else if (given.elements() != static_cast<std::int64_t>(dense.size())) {
      return invalid_argument("Expected len(", name, ") == ", dense.size(), ", not ", given.elements());
    } else {
      for (std::size_t k = 0; k < dense.size(); ++k) may[k] = given.data<bool>()[k];
    }
    return may;
  }

  Status sparse_steps(const std::string& part, std::size_t k, const std::string& key, DType dtype) {
    Feature values;
    std::vector<std::int64_t> indices;
    std::int64_t most_steps = 0, longest = 0;
    for (std::int64_t i = 0; i < batch(); ++i) {
      ARGOSY_ASSIGN_OR_RETURN(const auto* const list, find_list(rows_[static_cast<std::size_t>(i)], key, dtype));
      if (list == nullptr) continue;
      most_steps = std::max(most_steps, static_cast<std::int64_t>(list->size()));
      for (std::size_t step = 0; step < list->size(); ++step) {
        const auto size = static_cast<std::int64_t>((*list)[step].size());
        for (std::int64_t at = 0; at < size; ++at) {
          if (batched_) indices.push_back(i);
          indices.push_back(static_cast<std::int64_t>(step));
          indices.push_back(at);
        }
        longest = std::max(longest, size);
        append(values, (*list)[step]);
      }
    }
    const std::int64_t rank = batched_ ? 3 : 2;
    const std::int64_t count = count_of(indices, rank);
    ARGOSY_RETURN_IF_ERROR(emit_ints(c_, out(part + "sparse_indices", k), indices, {count, rank}));
    ARGOSY_RETURN_IF_ERROR(emit(c_, out(part + "sparse_values", k), values, {count}));
    std::vector<std::int64_t> shape = {most_steps, longest};
    if (batched_) shape.insert(shape.begin(), batch());
    return emit_ints(c_, out(part + "sparse_shapes", k), shape, {rank});
  }

  Status dense_steps(const std::string& part, std::size_t k, const std::string& key, DType dtype,
                     const PartialShape& shape, bool may_miss) {
    if (!shape.is_full()) return invalid_argument(part, "dense_shapes[", k, "] is not fully defined: ", shape);
    ARGOSY_ASSIGN_OR_RETURN(const Shape one, shape.full());
    std::vector<const std::vector<Feature>*> lists;
    std::vector<std::int64_t> lengths;
    std::int64_t most = 0;
    for (const ExampleRow& row : rows_) {
      ARGOSY_ASSIGN_OR_RETURN(const auto* const list, find_list(row, key, dtype));
      if (list == nullptr && !may_miss) {
        return invalid_argument("Name: ", row.name, ", Feature list '", key, "' is required but could not be found.  ",
                                "Did you mean to include it in feature_list_dense_missing_assumed_empty or ",
                                "feature_list_dense_defaults?");
      }
      for (std::size_t step = 0; list != nullptr && step < list->size(); ++step) {
        const auto size = static_cast<std::int64_t>((*list)[step].size());
        if (size != one.elements() || (*list)[step].dtype == DType::kInvalid) {
          return complain(row, key, "Index: ", step, ".  Number of values != expected: ", size, " for shape ", one);
        }
      }
      lists.push_back(list);
      lengths.push_back(list != nullptr ? static_cast<std::int64_t>(list->size()) : 0);
      most = std::max(most, lengths.back());
    }
    Feature values;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      for (std::size_t step = 0; lists[i] != nullptr && step < lists[i]->size(); ++step)
        append(values, (*lists[i])[step]);
      append(values, Tensor(), (most - lengths[i]) * one.elements(), dtype);
    }
    std::vector<std::int64_t> sizes;
    if (batched_) sizes.push_back(batch());
    sizes.push_back(most);
    sizes.insert(sizes.end(), one.sizes().begin(), one.sizes().end());
    ARGOSY_ASSIGN_OR_RETURN(const Shape whole, Shape::make(sizes));
    ARGOSY_RETURN_IF_ERROR(emit(c_, out(part + "dense_values", k), values, whole));
    if (!has_output(part + "dense_lengths")) return ok_status();
    return emit_ints(c_, out(part + "dense_lengths", k), lengths, batched_ ? Shape{batch()} : Shape{});
  }

  Status ragged_steps(const std::string& part, std::size_t k, const std::string& key, DType dtype) {
    Feature values;
    std::vector<std::int64_t> outer = {0}, inner = {0};
    for (const ExampleRow& row : rows_) {
      ARGOSY_ASSIGN_OR_RETURN(const auto* const list, find_list(row, key, dtype));
      for (std::size_t step = 0; list != nullptr && step < list->size(); ++step) {
        append(values, (*list)[step]);
        inner.push_back(static_cast<std::int64_t>(values.size()));
      }
      if (batched_) outer.push_back(static_cast<std::int64_t>(inner.size()) - 1);
    }
    const auto ends = static_cast<std::int64_t>(outer.size());
    ARGOSY_RETURN_IF_ERROR(
        emit_ints(c_, out(part + "ragged_outer_splits", k), outer, batched_ ? Shape{ends} : Shape{}));
    const auto inner_ends = static_cast<std::int64_t>(inner.size());
    ARGOSY_RETURN_IF_ERROR(emit_ints(c_, out(part + "ragged_inner_splits", k), inner, {inner_ends}));
    const auto count = static_cast<std::int64_t>(values.size());
    return emit(c_, out(part + "ragged_values", k), values, {count});
  }

  KernelContext& c_;
  const OpDef& op_;
  const AttrMap& attrs_;
  std::map<std::string, int> in_, out_;
  std::vector<ExampleRow> rows_;
  bool sequence_ = false, batched_ = false;
};

class ParseExamples final : public Kernel {
 public:
  explicit ParseExamples(const KernelInit& init) : op_(init.op), attrs_(init.attrs) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<ParseExamples>(init));
  }
  Status run(KernelContext& c) override { return ExampleParser(c, op_, attrs_).run(); }

 private:
  const OpDef& op_;  // lives as long as its registry, which outlives kernels
  const AttrMap attrs_;
};

}  // namespace

void add_kernels_cpu_examples(KernelRegistry& kernels) {
  for (const char* op : {"ParseExample", "ParseExampleV2", "ParseSingleExample", "ParseSequenceExample",
                         "ParseSequenceExampleV2", "ParseSingleSequenceExample"}) {
    kernels.add(op, "cpu", ParseExamples::make);
  }
}

}  // namespace argosy
