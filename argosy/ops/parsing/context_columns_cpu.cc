// Kernels: features of a row as columns: sparse, dense and ragged.
#include <algorithm>

#include "argosy/ops/parsing/example_run.h"
#include "argosy/ops/parsing/examples.h"

namespace argosy::examples {

namespace {

class ContextColumns {
 public:
  explicit ContextColumns(ExampleRun& run) : run_(run) {}

  Status read(const std::string& part) {
    const Columns columns = Columns::read(run_.op(), run_.attrs(), part);
    ARGOSY_ASSIGN_OR_RETURN(const auto sparse, run_.keys(part + "sparse_keys", columns.sparse.size()));
    for (std::size_t k = 0; k < sparse.size(); ++k) {
      ARGOSY_RETURN_IF_ERROR(sparse_column(part, k, sparse[k], columns.sparse[k]));
    }
    ARGOSY_ASSIGN_OR_RETURN(const auto dense, run_.keys(part + "dense_keys", columns.dense.size()));
    if (columns.dense_shapes.size() != dense.size()) {
      return invalid_argument("Expected len(dense_keys) == len(dense_shapes), but ", dense.size(), " is not ",
                              columns.dense_shapes.size());
    }
    for (std::size_t k = 0; k < dense.size(); ++k) {
      const Tensor& fallback = run_.context().input(run_.in(part + "dense_defaults") + static_cast<int>(k));
      ARGOSY_RETURN_IF_ERROR(dense_column(part, k, dense[k], columns.dense_shapes[k], fallback));
    }
    if (!run_.has_output(part + "ragged_values")) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const auto ragged, run_.keys(part + "ragged_keys", columns.ragged.size()));
    for (std::size_t k = 0; k < ragged.size(); ++k) {
      ARGOSY_RETURN_IF_ERROR(ragged_column(part, k, ragged[k], columns.ragged[k]));
    }
    return ok_status();
  }

 private:
  Status sparse_column(const std::string& part, std::size_t k, const std::string& key, DType dtype) {
    Feature values;
    std::vector<std::int64_t> indices;
    std::int64_t longest = 0;
    for (std::int64_t i = 0; i < run_.batch(); ++i) {
      ARGOSY_ASSIGN_OR_RETURN(const Feature* const feature, find(run_.rows()[static_cast<std::size_t>(i)], key, dtype));
      if (feature == nullptr) continue;
      const auto size = static_cast<std::int64_t>(feature->size());
      for (std::int64_t at = 0; at < size; ++at) {
        if (run_.batched()) indices.push_back(i);
        indices.push_back(at);
      }
      longest = std::max(longest, size);
      append(values, *feature);
    }
    const std::int64_t rank = run_.batched() ? 2 : 1;
    const std::int64_t count = count_of(indices, rank);
    ARGOSY_RETURN_IF_ERROR(emit_ints(run_.context(), run_.out(part + "sparse_indices", k), indices, {count, rank}));
    ARGOSY_RETURN_IF_ERROR(emit(run_.context(), run_.out(part + "sparse_values", k), values, {count}));
    const auto shape =
        run_.batched() ? std::vector<std::int64_t>{run_.batch(), longest} : std::vector<std::int64_t>{longest};
    return emit_ints(run_.context(), run_.out(part + "sparse_shapes", k), shape, {rank});
  }

  // A shape whose first size alone may be open: then rows are filled up to the longest.
  Status dense_column(const std::string& part, std::size_t k, const std::string& key, const PartialShape& shape,
                      const Tensor& fallback) {
    const bool open = shape.rank() > 0 && shape[0] < 0 && !run_.op().name.starts_with("ParseSingleSequence");
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
    for (const ExampleRow& row : run_.rows()) {
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
    if (run_.batched()) all.push_back(run_.batch());
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
    return emit(run_.context(), run_.out(part + "dense_values", k), values, whole);
  }

  Status ragged_column(const std::string& part, std::size_t k, const std::string& key, DType dtype) {
    Feature values;
    std::vector<std::int64_t> splits;
    if (run_.batched()) splits.push_back(0);
    for (const ExampleRow& row : run_.rows()) {
      ARGOSY_ASSIGN_OR_RETURN(const Feature* const feature, find(row, key, dtype));
      if (feature != nullptr) append(values, *feature);
      if (run_.batched()) splits.push_back(static_cast<std::int64_t>(values.size()));
    }
    const auto ends = static_cast<std::int64_t>(splits.size());
    if (!run_.batched() && run_.sequence())
      splits.push_back(0);  // TensorFlow's answer there: a scalar, which says nothing
    ARGOSY_RETURN_IF_ERROR(emit_ints(run_.context(), run_.out(part + "ragged_row_splits", k), splits,
                                     !run_.batched() && run_.sequence() ? Shape{} : Shape{ends}));
    const auto count = static_cast<std::int64_t>(values.size());
    return emit(run_.context(), run_.out(part + "ragged_values", k), values, {count});
  }

  ExampleRun& run_;
};

}  // namespace

Status parse_context(ExampleRun& run, const std::string& part) { return ContextColumns(run).read(part); }

}  // namespace argosy::examples
