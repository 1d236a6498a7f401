#include "argosy/base/threads/parallel.h"
#include "argosy/ops/layout/layout_registration.h"
#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

namespace {

// Every axis once; negative ones count from the end.
Result<Ints> permutation(const Tensor& given, int rank) {
  ARGOSY_ASSIGN_OR_RETURN(Ints perm, read_ints(given, "Transpose: perm"));
  if (given.shape().rank() != 1 || perm.size() != rank) {
    return invalid_argument("transpose expects a vector of size ", rank, ". But input(1) is a vector of size ",
                            perm.size(), ": Transpose: perm must be a vector of ", rank, " axes, not of shape ",
                            given.shape());
  }
  const Ints given_axes = perm;
  Ints seen = Ints::filled(rank, 0);
  for (int i = 0; i < rank; ++i) {
    if (perm[i] < -rank || perm[i] >= rank) {
      return invalid_argument(perm[i], " is out of range [0 .. ", rank, "): Transpose: axis ", perm[i], " is outside [",
                              -rank, ", ", rank, ")");
    }
    ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(perm[i], rank, "Transpose"));
    if (seen[axis] != 0) {
      int missing = 0;
      while (std::count(given_axes.begin(), given_axes.end(), missing) > 0 ||
             std::count(given_axes.begin(), given_axes.end(), missing - rank) > 0) {
        ++missing;
      }
      return invalid_argument(missing, " is missing from {", str_join(given_axes.span(), ","),
                              "}: Transpose: perm is no permutation: axis ", perm[i], " at place ", i, " again");
    }
    seen[axis] = 1;
    perm[i] = axis;
  }
  return perm;
}

template <typename T>
void conjugate(Tensor& y) {
  auto* const values = y.data<std::complex<T>>();
  parallel_for(y.elements(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) values[i] = std::conj(values[i]);
  });
}

template <Copy kCopy, bool kConjugate>
Status transpose(KernelContext& c) {
  const Tensor& x = c.input(0);
  const int rank = x.shape().rank();
  ARGOSY_ASSIGN_OR_RETURN(const Ints perm, permutation(c.input(1), rank));
  const Ints strides = row_major(x.shape().sizes());
  Region region{Ints::filled(rank, 0), {}, Ints::filled(rank, 0)};
  for (int i = 0; i < rank; ++i) {
    region.sizes[i] = x.shape()[static_cast<int>(perm[i])];
    region.from[i] = strides[static_cast<int>(perm[i])];
  }
  region.to = row_major(region.sizes.span());
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, Shape(region.sizes.span())));
  kCopy(*y, 0, x, 0, region);
  if constexpr (kConjugate) {
    if (y->dtype() == DType::kComplex64) conjugate<float>(*y);
    if (y->dtype() == DType::kComplex128) conjugate<double>(*y);
  }
  return ok_status();
}

Status invert_permutation(KernelContext& c) {
  const Tensor& x = c.input(0);
  if (x.shape().rank() != 1) return invalid_argument("InvertPermutation: x must be a vector, not of shape ", x.shape());
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
  return dispatch<IndexTypes>(x.dtype(), "InvertPermutation", [&]<typename T>() -> Status {
    const auto from = x.values<T>();
    const auto to = y->values<T>();
    std::fill(to.begin(), to.end(), T(-1));
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto at = static_cast<std::size_t>(from[i]);
      if (from[i] < 0 || at >= to.size()) {
        return invalid_argument("InvertPermutation: x[", i, "] is ", from[i], ", outside [0, ", to.size(), ")");
      }
      if (to[at] != -1)
        return invalid_argument(from[i], " is duplicated in the input: InvertPermutation: ", from[i],
                                " is there twice");
      to[at] = static_cast<T>(i);
    }
    return ok_status();
  });
}

}  // namespace

void add_transposes(KernelRegistry& kernels) {
  kernels.add("Transpose", "cpu", transpose<copy_region, false>);
  kernels.add("Transpose", "cpu", transpose<copy_region_plainly, false>);
  kernels.add("ConjugateTranspose", "cpu", transpose<copy_region, true>);
  kernels.add("ConjugateTranspose", "cpu", transpose<copy_region_plainly, true>);
  kernels.add("InvertPermutation", "cpu", invert_permutation);
}

}  // namespace argosy
