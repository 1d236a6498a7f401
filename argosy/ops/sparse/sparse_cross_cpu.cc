// Kernels: every combination of the features of each row, the last column's varying fastest. Hashes are TensorFlow's.
#include <algorithm>
#include <span>

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/sparse/coo.h"
#include "argosy/ops/sparse/cross_hash.h"
#include "argosy/ops/sparse/sparse_registration.h"
#include "argosy/ops/string/hash.h"

namespace argosy::sparse {

namespace {

// One column of features: which values are each row's. Takes memory by values: a batch may have any number of empty rows.
struct Column {
  struct Entry {
    std::int64_t row, position;  // in `values`
  };
  const Tensor* values;
  bool sparse;
  std::vector<Entry> entries = {};  // by row

  std::span<const Entry> of(std::int64_t row) const {
    const auto found = std::ranges::equal_range(entries, row, {}, &Entry::row);
    return {found.begin(), found.end()};
  }
};

struct Columns {
  std::int64_t batch = 0;
  std::vector<Column> of = {};
};

Result<Columns> read_columns(const KernelContext& c, int n, int dense) {
  Columns columns;
  const auto add = [&](Column column, std::int64_t size, std::string_view what, int i) {
    if (!columns.of.empty() && size != columns.batch) {
      return invalid_argument("Expected batch size ", columns.batch, " got ", size, " at ", what, " tensor ", i);
    }
    columns.batch = size;
    columns.of.push_back(std::move(column));
    return ok_status();
  };
  for (int i = 0; i < n; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const Coo x, read_coo(c.input(i), c.input(n + i), c.input(2 * n + i), "SparseCross"));
    if (x.rank != 2) return invalid_argument("Expected D2 of index to be 2 got ", x.rank, " at position ", i);
    Column column{.values = &c.input(n + i), .sparse = true};
    for (std::int64_t k = 0; k < x.count; ++k) column.entries.push_back({x.at(k)[0], k});
    std::ranges::stable_sort(column.entries, {}, &Column::Entry::row);
    ARGOSY_RETURN_IF_ERROR(add(std::move(column), x.shape[0], "sparse", i));
  }
  for (int i = 0; i < dense; ++i) {
    const Tensor& t = c.input(3 * n + i);
    if (t.shape().rank() != 2)
      return invalid_argument("Dense inputs should be a matrix but received shape ", t.shape(), " at position ", i);
    Column column{.values = &t, .sparse = false};
    for (std::int64_t k = 0; k < t.elements(); ++k) column.entries.push_back({k / t.shape()[1], k});
    ARGOSY_RETURN_IF_ERROR(add(std::move(column), t.shape()[0], "dense", i));
  }
  return columns;
}

// A row with values in every column: those of each.
struct CrossedRow {
  std::int64_t row = 0, combinations = 0;
  std::vector<std::span<const Column::Entry>> values = {};
};

Result<std::vector<CrossedRow>> crossed_rows(const Columns& columns) {
  std::vector<CrossedRow> rows;
  if (columns.of.empty()) return rows;
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  std::int64_t total = 0;
  Poll poll(1024);
  for (std::size_t e = 0; e < columns.of[0].entries.size();) {
    poll();
    CrossedRow row{.row = columns.of[0].entries[e].row, .combinations = 1};
    for (const Column& column : columns.of) {
      row.values.push_back(column.of(row.row));
      if (__builtin_mul_overflow(row.combinations, static_cast<std::int64_t>(row.values.back().size()),
                                 &row.combinations)) {
        return resource_exhausted("SparseCross: too many combinations in row ", row.row);
      }
    }
    if (row.combinations > kMost || (total += row.combinations) > kMost)
      return resource_exhausted("SparseCross: more than ", kMost, " combinations");
    e += row.values[0].size();
    if (row.combinations > 0) rows.push_back(std::move(row));
  }
  return rows;
}

// Writes combine(row's chosen positions) for every combination.
template <typename T, typename Combine>
Status cross(KernelContext& c, const Columns& columns, Combine&& combine) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<CrossedRow> rows, crossed_rows(columns));
  std::int64_t total = 0, longest = 0;
  for (const CrossedRow& row : rows) {
    total += row.combinations;
    longest = std::max(longest, row.combinations);
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const indices, c.output(0, {total, 2}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(1, {total}));
  auto* at = indices->data<std::int64_t>();
  T* to = values->data<T>();
  std::vector<std::int64_t> chosen(columns.of.size());
  Poll poll(1024);
  for (const CrossedRow& row : rows) {
    for (std::int64_t i = 0; i < row.combinations; ++i) {
      poll();
      std::int64_t left = i;
      for (std::size_t k = chosen.size(); k-- > 0;) {
        const auto size = static_cast<std::int64_t>(row.values[k].size());
        chosen[k] = row.values[k][static_cast<std::size_t>(left % size)].position;
        left /= size;
      }
      *at++ = row.row;
      *at++ = i;
      *to++ = combine(chosen);
    }
  }
  return put_ints(c, 2, std::vector<std::int64_t>{columns.batch, longest}, {2});
}

Status cross_strings(KernelContext& c, const Columns& columns, std::string_view separator) {
  return cross<std::string>(c, columns, [&](const std::vector<std::int64_t>& chosen) {
    std::string joined;
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      if (k > 0) joined += separator;
      const Tensor& values = *columns.of[k].values;
      if (values.dtype() == DType::kString) {
        joined += values.data<std::string>()[chosen[k]];
      } else {
        joined += std::to_string(values.data<std::int64_t>()[chosen[k]]);
      }
    }
    return joined;
  });
}

Status check_kinds(const Columns& columns, DType internal) {
  for (const Column& column : columns.of) {
    if (column.values->dtype() != internal && internal == DType::kString) {
      return invalid_argument("Input values should be of internal type string but received ",
                              dtype_name(column.values->dtype()));
    }
  }
  return ok_status();
}

// The first of the three ops: a key is the first part of every hash; numbers count as they are.
Status cross_v1(KernelContext& c, const AttrMap& attrs) {
  const int dense = static_cast<int>(attrs.get<std::vector<DType>>("dense_types").size());
  ARGOSY_ASSIGN_OR_RETURN(const Columns columns, read_columns(c, static_cast<int>(attrs.get_int("N")), dense));
  const bool hashed = attrs.get_bool("hashed_output");
  const DType out = c.output_dtype(1);
  if (hashed != (out == DType::kInt64)) {
    return invalid_argument("SparseCross: out_type must be ", hashed ? "int64" : "string", ", not ", dtype_name(out));
  }
  if (!hashed) {
    ARGOSY_RETURN_IF_ERROR(check_kinds(columns, attrs.get_type("internal_type")));
    return cross_strings(c, columns, "_X_");
  }
  const auto key = static_cast<std::uint64_t>(attrs.get_int("hash_key"));
  const std::int64_t buckets = attrs.get_int("num_buckets");
  return cross<std::int64_t>(c, columns, [&](const std::vector<std::int64_t>& chosen) {
    std::uint64_t hash = key;
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const Tensor& values = *columns.of[k].values;
      hash = joined_fingerprint(hash, values.dtype() == DType::kString
                                          ? fingerprint64(values.data<std::string>()[chosen[k]])
                                          : static_cast<std::uint64_t>(values.data<std::int64_t>()[chosen[k]]));
    }
    return fingerprint_bucket(hash, buckets);
  });
}

Status cross_v2(KernelContext& c, const AttrMap& attrs) {
  const int dense = static_cast<int>(attrs.get<std::vector<DType>>("dense_types").size());
  ARGOSY_ASSIGN_OR_RETURN(const Columns columns, read_columns(c, static_cast<int>(attrs.get_int("N")), dense));
  const Tensor& separator = c.input(c.num_inputs() - 1);
  if (separator.shape().rank() != 0)
    return invalid_argument("Input separator should be a scalar, not of shape ", separator.shape());
  return cross_strings(c, columns, *separator.data<std::string>());
}

// Strings by fingerprint, or by SipHash under the salt; numbers of sparse tensors by the hash of their lower four
// bytes, as TensorFlow has it, those of dense ones as they are.
Status cross_hashed(KernelContext& c, const AttrMap& attrs) {
  const int dense = static_cast<int>(attrs.get<std::vector<DType>>("dense_types").size());
  ARGOSY_ASSIGN_OR_RETURN(const Columns columns, read_columns(c, static_cast<int>(attrs.get_int("N")), dense));
  const Tensor& buckets = c.input(c.num_inputs() - 3);
  const Tensor& strong = c.input(c.num_inputs() - 2);
  const Tensor& salt = c.input(c.num_inputs() - 1);
  if (buckets.shape().rank() != 0 || strong.shape().rank() != 0) {
    return invalid_argument("num_buckets and strong_hash should be scalars, not of shapes ", buckets.shape(), " and ",
                            strong.shape());
  }
  if (salt.shape() != Shape{2})
    return invalid_argument("Input \"salt\" must have length 2 but has shape ", salt.shape());
  const bool keyed = *strong.data<bool>();
  const auto key0 = static_cast<std::uint64_t>(salt.data<std::int64_t>()[0]),
             key1 = static_cast<std::uint64_t>(salt.data<std::int64_t>()[1]);
  const auto hash_of = [&](std::string_view bytes) {
    return keyed ? sip_hash(bytes, key0, key1) : fingerprint64(bytes);
  };
  return cross<std::int64_t>(c, columns, [&](const std::vector<std::int64_t>& chosen) {
    std::uint64_t hash = 0;
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const Column& column = columns.of[k];
      std::uint64_t one = 0;
      if (column.values->dtype() == DType::kString) {
        one = hash_of(column.values->data<std::string>()[chosen[k]]);
      } else {
        const std::int64_t& number = column.values->data<std::int64_t>()[chosen[k]];
        one = column.sparse ? hash_of({reinterpret_cast<const char*>(&number), 4}) : static_cast<std::uint64_t>(number);
      }
      hash = k == 0 ? one : joined_fingerprint(hash, one);
    }
    return fingerprint_bucket(hash, *buckets.data<std::int64_t>());
  });
}

}  // namespace

void add_kernels_cpu_cross(KernelRegistry& kernels) {
  kernels.add("SparseCross", "cpu", AttrKernel<cross_v1>::make);
  kernels.add("SparseCrossV2", "cpu", AttrKernel<cross_v2>::make);
  kernels.add("SparseCrossHashed", "cpu", AttrKernel<cross_hashed>::make);
}

}  // namespace argosy::sparse
