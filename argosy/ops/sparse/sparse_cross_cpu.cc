// Kernels: every combination of the features of each row, the last column's varying fastest. Hashes are TensorFlow's.
#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/sparse/coo.h"
#include "argosy/ops/sparse/cross_hash.h"
#include "argosy/ops/sparse/sparse_registration.h"
#include "argosy/ops/string/hash.h"

namespace argosy::sparse {

namespace {

// One column of features: positions in `values` of every row's.
struct Column {
  const Tensor* values;
  std::vector<std::vector<std::int64_t>> rows;
  bool sparse;
};

Result<std::vector<Column>> read_columns(const KernelContext& c, int n, int dense) {
  std::vector<Column> columns;
  std::int64_t batch = -1;
  const auto add = [&](Column column, std::int64_t size, std::string_view what, int i) {
    if (batch >= 0 && size != batch)
      return invalid_argument("Expected batch size ", batch, " got ", size, " at ", what, " tensor ", i);
    batch = size;
    columns.push_back(std::move(column));
    return ok_status();
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 26;
  for (int i = 0; i < n; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const Coo x, read_coo(c.input(i), c.input(n + i), c.input(2 * n + i), "SparseCross"));
    if (x.rank != 2) return invalid_argument("Expected D2 of index to be 2 got ", x.rank, " at position ", i);
    if (x.shape[0] > kMost) return resource_exhausted("SparseCross: a batch of ", x.shape[0]);
    Column column{&c.input(n + i), std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(x.shape[0])), true};
    for (std::int64_t k = 0; k < x.count; ++k) column.rows[static_cast<std::size_t>(x.at(k)[0])].push_back(k);
    ARGOSY_RETURN_IF_ERROR(add(std::move(column), x.shape[0], "sparse", i));
  }
  for (int i = 0; i < dense; ++i) {
    const Tensor& t = c.input(3 * n + i);
    if (t.shape().rank() != 2)
      return invalid_argument("Dense inputs should be a matrix but received shape ", t.shape(), " at position ", i);
    if (t.shape()[0] > kMost) return resource_exhausted("SparseCross: a batch of ", t.shape()[0]);
    Column column{&t, std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(t.shape()[0])), false};
    for (std::int64_t k = 0; k < t.elements(); ++k)
      column.rows[static_cast<std::size_t>(k / t.shape()[1])].push_back(k);
    ARGOSY_RETURN_IF_ERROR(add(std::move(column), t.shape()[0], "dense", i));
  }
  return columns;
}

// Writes combine(row's chosen positions) for every combination.
template <typename T, typename Combine>
Status cross(KernelContext& c, const std::vector<Column>& columns, Combine&& combine) {
  const std::size_t batch = columns.empty() ? 0 : columns[0].rows.size();
  std::int64_t total = 0, longest = 0;
  std::vector<std::int64_t> counts;
  for (std::size_t b = 0; b < batch; ++b) {
    std::int64_t count = 1;
    for (const Column& column : columns) {
      if (__builtin_mul_overflow(count, static_cast<std::int64_t>(column.rows[b].size()), &count)) {
        return resource_exhausted("SparseCross: too many combinations in row ", b);
      }
    }
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    if (count > kMost || (total += count) > kMost)
      return resource_exhausted("SparseCross: more than ", kMost, " combinations");
    longest = std::max(longest, count);
    counts.push_back(count);
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const indices, c.output(0, {total, 2}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(1, {total}));
  auto* at = indices->data<std::int64_t>();
  T* to = values->data<T>();
  std::vector<std::int64_t> chosen(columns.size());
  Poll poll(1024);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::int64_t i = 0; i < counts[b]; ++i) {
      poll();
      std::int64_t left = i;
      for (std::size_t k = columns.size(); k-- > 0;) {
        const auto size = static_cast<std::int64_t>(columns[k].rows[b].size());
        chosen[k] = columns[k].rows[b][static_cast<std::size_t>(left % size)];
        left /= size;
      }
      *at++ = static_cast<std::int64_t>(b);
      *at++ = i;
      *to++ = combine(chosen);
    }
  }
  return put_ints(c, 2, std::vector<std::int64_t>{static_cast<std::int64_t>(batch), longest}, {2});
}

Status cross_strings(KernelContext& c, const std::vector<Column>& columns, std::string_view separator) {
  return cross<std::string>(c, columns, [&](const std::vector<std::int64_t>& chosen) {
    std::string joined;
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      if (k > 0) joined += separator;
      const Tensor& values = *columns[k].values;
      if (values.dtype() == DType::kString) {
        joined += values.data<std::string>()[chosen[k]];
      } else {
        joined += std::to_string(values.data<std::int64_t>()[chosen[k]]);
      }
    }
    return joined;
  });
}

Status check_kinds(const std::vector<Column>& columns, DType internal) {
  for (const Column& column : columns) {
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
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<Column> columns,
                          read_columns(c, static_cast<int>(attrs.get_int("N")), dense));
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
      const Tensor& values = *columns[k].values;
      hash = joined_fingerprint(hash, values.dtype() == DType::kString
                                          ? fingerprint64(values.data<std::string>()[chosen[k]])
                                          : static_cast<std::uint64_t>(values.data<std::int64_t>()[chosen[k]]));
    }
    return fingerprint_bucket(hash, buckets);
  });
}

Status cross_v2(KernelContext& c, const AttrMap& attrs) {
  const int dense = static_cast<int>(attrs.get<std::vector<DType>>("dense_types").size());
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<Column> columns,
                          read_columns(c, static_cast<int>(attrs.get_int("N")), dense));
  const Tensor& separator = c.input(c.num_inputs() - 1);
  if (separator.shape().rank() != 0)
    return invalid_argument("Input separator should be a scalar, not of shape ", separator.shape());
  return cross_strings(c, columns, *separator.data<std::string>());
}

// Strings by fingerprint, or by SipHash under the salt; numbers of sparse tensors by the hash of their lower four
// bytes, as TensorFlow has it, those of dense ones as they are.
Status cross_hashed(KernelContext& c, const AttrMap& attrs) {
  const int dense = static_cast<int>(attrs.get<std::vector<DType>>("dense_types").size());
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<Column> columns,
                          read_columns(c, static_cast<int>(attrs.get_int("N")), dense));
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
      const Column& column = columns[k];
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
