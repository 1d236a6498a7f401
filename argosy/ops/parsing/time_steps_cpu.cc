// Kernels: features of the time steps of a row as columns: sparse, dense and ragged.
#include <algorithm>

#include "argosy/ops/parsing/example_run.h"
#include "argosy/ops/parsing/examples.h"

namespace argosy::examples {

namespace {

class TimeSteps {
 public:
  explicit TimeSteps(ExampleRun& run) : run_(run) {}

  Status read(const std::string& part) {
    const Columns columns = Columns::read(run_.op(), run_.attrs(), part);
    ARGOSY_ASSIGN_OR_RETURN(const auto sparse, run_.keys(part + "sparse_keys", columns.sparse.size()));
    for (std::size_t k = 0; k < sparse.size(); ++k) {
      ARGOSY_RETURN_IF_ERROR(sparse_steps(part, k, sparse[k], columns.sparse[k]));
    }
    ARGOSY_ASSIGN_OR_RETURN(const auto dense, run_.keys(part + "dense_keys", columns.dense.size()));
    if (columns.dense_shapes.size() != dense.size()) {
      return invalid_argument("Expected len(feature_list_dense_keys) == len(feature_list_dense_shapes), but ",
                              dense.size(), " is not ", columns.dense_shapes.size());
    }
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<bool> may_miss, may_be_missing(part, dense));
    for (std::size_t k = 0; k < dense.size(); ++k) {
      ARGOSY_RETURN_IF_ERROR(dense_steps(part, k, dense[k], columns.dense[k], columns.dense_shapes[k], may_miss[k]));
    }
    if (!run_.has_output(part + "ragged_values")) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const auto ragged, run_.keys(part + "ragged_keys", columns.ragged.size()));
    for (std::size_t k = 0; k < ragged.size(); ++k) {
      ARGOSY_RETURN_IF_ERROR(ragged_steps(part, k, ragged[k], columns.ragged[k]));
    }
    return ok_status();
  }

 private:
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

  // "…dense_missing_assumed_empty": the names of lists, or a flag for each.
  Result<std::vector<bool>> may_be_missing(const std::string& part, const std::vector<std::string>& dense) const {
    const std::string name = part + "dense_missing_assumed_empty";
    std::vector<bool> may(dense.size(), false);
    const auto among = [&](std::span<const std::string> names) {
      for (std::size_t k = 0; k < dense.size(); ++k)
        may[k] = std::find(names.begin(), names.end(), dense[k]) != names.end();
    };
    if (const auto* names = run_.attrs().find_as<std::vector<std::string>>(name)) {
      among(*names);
      return may;
    }
    const Tensor& given = run_.context().input(run_.in(name));
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
    for (std::int64_t i = 0; i < run_.batch(); ++i) {
      ARGOSY_ASSIGN_OR_RETURN(const auto* const list, find_list(run_.rows()[static_cast<std::size_t>(i)], key, dtype));
      if (list == nullptr) continue;
      most_steps = std::max(most_steps, static_cast<std::int64_t>(list->size()));
      for (std::size_t step = 0; step < list->size(); ++step) {
        const auto size = static_cast<std::int64_t>((*list)[step].size());
        for (std::int64_t at = 0; at < size; ++at) {
          if (run_.batched()) indices.push_back(i);
          indices.push_back(static_cast<std::int64_t>(step));
          indices.push_back(at);
        }
        longest = std::max(longest, size);
        append(values, (*list)[step]);
      }
    }
    const std::int64_t rank = run_.batched() ? 3 : 2;
    const std::int64_t count = count_of(indices, rank);
    ARGOSY_RETURN_IF_ERROR(emit_ints(run_.context(), run_.out(part + "sparse_indices", k), indices, {count, rank}));
    ARGOSY_RETURN_IF_ERROR(emit(run_.context(), run_.out(part + "sparse_values", k), values, {count}));
    std::vector<std::int64_t> shape = {most_steps, longest};
    if (run_.batched()) shape.insert(shape.begin(), run_.batch());
    return emit_ints(run_.context(), run_.out(part + "sparse_shapes", k), shape, {rank});
  }

  Status dense_steps(const std::string& part, std::size_t k, const std::string& key, DType dtype,
                     const PartialShape& shape, bool may_miss) {
    if (!shape.is_full()) return invalid_argument(part, "dense_shapes[", k, "] is not fully defined: ", shape);
    ARGOSY_ASSIGN_OR_RETURN(const Shape one, shape.full());
    std::vector<const std::vector<Feature>*> lists;
    std::vector<std::int64_t> lengths;
    std::int64_t most = 0;
    for (const ExampleRow& row : run_.rows()) {
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
    if (run_.batched()) sizes.push_back(run_.batch());
    sizes.push_back(most);
    sizes.insert(sizes.end(), one.sizes().begin(), one.sizes().end());
    ARGOSY_ASSIGN_OR_RETURN(const Shape whole, Shape::make(sizes));
    ARGOSY_RETURN_IF_ERROR(emit(run_.context(), run_.out(part + "dense_values", k), values, whole));
    if (!run_.has_output(part + "dense_lengths")) return ok_status();
    return emit_ints(run_.context(), run_.out(part + "dense_lengths", k), lengths,
                     run_.batched() ? Shape{run_.batch()} : Shape{});
  }

  Status ragged_steps(const std::string& part, std::size_t k, const std::string& key, DType dtype) {
    Feature values;
    std::vector<std::int64_t> outer = {0}, inner = {0};
    for (const ExampleRow& row : run_.rows()) {
      ARGOSY_ASSIGN_OR_RETURN(const auto* const list, find_list(row, key, dtype));
      for (std::size_t step = 0; list != nullptr && step < list->size(); ++step) {
        append(values, (*list)[step]);
        inner.push_back(static_cast<std::int64_t>(values.size()));
      }
      if (run_.batched()) outer.push_back(static_cast<std::int64_t>(inner.size()) - 1);
    }
    const auto ends = static_cast<std::int64_t>(outer.size());
    ARGOSY_RETURN_IF_ERROR(emit_ints(run_.context(), run_.out(part + "ragged_outer_splits", k), outer,
                                     run_.batched() ? Shape{ends} : Shape{}));
    const auto inner_ends = static_cast<std::int64_t>(inner.size());
    ARGOSY_RETURN_IF_ERROR(emit_ints(run_.context(), run_.out(part + "ragged_inner_splits", k), inner, {inner_ends}));
    const auto count = static_cast<std::int64_t>(values.size());
    return emit(run_.context(), run_.out(part + "ragged_values", k), values, {count});
  }

  ExampleRun& run_;
};

}  // namespace

Status parse_steps(ExampleRun& run, const std::string& part) { return TimeSteps(run).read(part); }

}  // namespace argosy::examples
