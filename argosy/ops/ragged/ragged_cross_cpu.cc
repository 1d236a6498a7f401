// Kernel: crossed features of ragged, sparse and dense columns, the last column's varying fastest.
#include <vector>

#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/ragged/ragged_rows.h"
#include "argosy/ops/ragged/splits.h"
#include "argosy/ops/sparse/coo.h"
#include "argosy/ops/sparse/cross_hash.h"
#include "argosy/ops/string/hash.h"

namespace argosy {

namespace {

constexpr std::int64_t kMostCombinations = std::int64_t{1} << 30;

// The features of row b: values begins[b] … begins[b + 1].
struct Features {
  const Tensor* values = nullptr;
  std::vector<std::int64_t> begins;

  std::int64_t rows() const { return static_cast<std::int64_t>(begins.size()) - 1; }
  std::int64_t count(std::size_t row) const { return begins[row + 1] - begins[row]; }
};

Result<Features> ragged_features(const Tensor& values, const Tensor& splits) {
  if (values.shape().rank() != 1)
    return invalid_argument("tf.ragged.cross only supports inputs with rank=2: values of shape ", values.shape());
  ARGOSY_ASSIGN_OR_RETURN(const Ints begins, read_splits(splits, values.elements(), "RaggedCross"));
  return Features{&values, {begins.begin(), begins.end()}};
}

Result<Features> sparse_features(const Tensor& indices, const Tensor& values, const Tensor& shape) {
  ARGOSY_ASSIGN_OR_RETURN(const sparse::Coo x, sparse::read_coo(indices, values, shape, "RaggedCross"));
  if (x.rank != 2) return invalid_argument("tf.ragged.cross only supports inputs with rank=2: a rank of ", x.rank);
  if (x.shape[0] > kMostCombinations) return resource_exhausted("RaggedCross: a batch of ", x.shape[0]);
  Features f{&values, std::vector<std::int64_t>(static_cast<std::size_t>(x.shape[0]) + 1, 0)};
  for (std::int64_t i = 0; i < x.count; ++i) {
    if (i > 0 && x.at(i)[0] < x.at(i - 1)[0])
      return invalid_argument("RaggedCross: the sparse rows must ascend: ", x.at(i)[0], " after ", x.at(i - 1)[0]);
    ++f.begins[static_cast<std::size_t>(x.at(i)[0]) + 1];
  }
  for (std::size_t row = 1; row < f.begins.size(); ++row) f.begins[row] += f.begins[row - 1];
  return f;
}

Result<Features> dense_features(const Tensor& values) {
  const Shape& s = values.shape();
  if (s.rank() != 2) return invalid_argument("tf.ragged.cross only supports inputs with rank=2: shape ", s);
  if (s[0] > kMostCombinations) return resource_exhausted("RaggedCross: a batch of ", s[0]);
  Features f{&values, std::vector<std::int64_t>(static_cast<std::size_t>(s[0]) + 1, 0)};
  for (std::size_t row = 1; row < f.begins.size(); ++row) f.begins[row] = f.begins[row - 1] + s[1];
  return f;
}

// In the order that the attribute names them.
Result<std::vector<Features>> read_features(const KernelContext& c, const AttrMap& attrs) {
  const auto ragged = static_cast<int>(attrs.get<std::vector<DType>>("ragged_values_types").size());
  const auto sparse = static_cast<int>(attrs.get_int("Nsparse"));
  const int first_sparse = 2 * ragged, first_dense = first_sparse + 3 * sparse;
  int next_ragged = 0, next_sparse = 0, next_dense = 0;
  std::vector<Features> all;
  for (const char kind : attrs.get_string("input_order")) {
    const int i = kind == 'R' ? next_ragged++ : kind == 'S' ? next_sparse++ : next_dense++;
    const bool there = kind == 'R' ? i < ragged : kind == 'S' ? i < sparse : first_dense + i < c.num_inputs();
    if (!there) return invalid_argument("RaggedCross: input_order names more inputs than there are");
    Features f;
    if (kind == 'R') {
      ARGOSY_ASSIGN_OR_RETURN(f, ragged_features(c.input(i), c.input(ragged + i)));
    } else if (kind == 'S') {
      const int at = first_sparse + i;
      ARGOSY_ASSIGN_OR_RETURN(f, sparse_features(c.input(at), c.input(at + sparse), c.input(at + 2 * sparse)));
    } else {
      ARGOSY_ASSIGN_OR_RETURN(f, dense_features(c.input(first_dense + i)));
    }
    if (!all.empty() && all[0].rows() != f.rows())
      return invalid_argument("inputs must all have the same batch dimension size: ", all[0].rows(), " and ", f.rows());
    all.push_back(std::move(f));
  }
  if (all.empty()) return invalid_argument("RaggedCross: no inputs");
  return all;
}

Result<Ints> combinations(const std::vector<Features>& columns) {
  Ints splits = {0};
  for (std::size_t row = 0; row + 1 < columns[0].begins.size(); ++row) {
    std::int64_t count = 1;
    for (const Features& column : columns) {
      if (__builtin_mul_overflow(count, column.count(row), &count) || count > kMostCombinations) count = -1;
      if (count < 0) return resource_exhausted("RaggedCross: too many combinations in row ", row);
      if (count == 0) break;
    }
    splits.push_back(splits.back() + count);
    if (splits.back() > kMostCombinations)
      return resource_exhausted("RaggedCross: more than ", kMostCombinations, " combinations");
  }
  return splits;
}

// Writes combine(chosen positions, by column) for every combination.
template <typename T, typename Combine>
Status cross(KernelContext& c, const std::vector<Features>& columns, Combine&& combine) {
  ARGOSY_ASSIGN_OR_RETURN(const Ints splits, combinations(columns));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(0, {splits.back()}));
  T* to = values->data<T>();
  std::vector<std::int64_t> chosen(columns.size());
  for (std::size_t row = 0; row + 1 < columns[0].begins.size(); ++row) {
    const int at = static_cast<int>(row);
    for (std::int64_t i = 0; i < splits[at + 1] - splits[at]; ++i) {
      std::int64_t left = i;
      for (std::size_t k = columns.size(); k-- > 0;) {
        chosen[k] = columns[k].begins[row] + left % columns[k].count(row);
        left /= columns[k].count(row);
      }
      *to++ = combine(chosen);
    }
  }
  return put_splits(c, 1, splits);
}

Status ragged_cross(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<Features> columns, read_features(c, attrs));
  const bool hashed = attrs.get_bool("hashed_output");
  if (hashed != (c.output_dtype(0) == DType::kInt64)) {
    return invalid_argument("RaggedCross: out_values_type must be ", hashed ? "int64" : "string", ", not ",
                            dtype_name(c.output_dtype(0)));
  }
  if (!hashed) {
    return cross<std::string>(c, columns, [&](const std::vector<std::int64_t>& chosen) {
      std::string joined;
      for (std::size_t k = 0; k < chosen.size(); ++k) {
        if (k > 0) joined += "_X_";
        const Tensor& values = *columns[k].values;
        joined += values.dtype() == DType::kString ? values.data<std::string>()[chosen[k]]
                                                   : std::to_string(values.data<std::int64_t>()[chosen[k]]);
      }
      return joined;
    });
  }
  const std::int64_t buckets = attrs.get_int("num_buckets");
  return cross<std::int64_t>(c, columns, [&](const std::vector<std::int64_t>& chosen) {
    auto hash = static_cast<std::uint64_t>(attrs.get_int("hash_key"));
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const Tensor& values = *columns[k].values;
      hash = joined_fingerprint(hash, values.dtype() == DType::kString
                                          ? fingerprint64(values.data<std::string>()[chosen[k]])
                                          : static_cast<std::uint64_t>(values.data<std::int64_t>()[chosen[k]]));
    }
    return fingerprint_bucket(hash, buckets);
  });
}

}  // namespace

void add_kernels_cpu_ragged_cross(KernelRegistry& kernels) {
  kernels.add("RaggedCross", "cpu", AttrKernel<ragged_cross>::make);
}

}  // namespace argosy
