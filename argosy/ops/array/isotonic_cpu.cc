#include "argosy/base/threads/parallel.h"
#include "argosy/ops/array/array_registration.h"

namespace argosy {

namespace {

// A pool: neighbouring elements that have the same mean in the result.
struct Pool {
  std::int64_t first = 0;
  double sum = 0, count = 0;
  double mean() const { return sum / count; }
};

// Pool adjacent violators: a pool whose mean is above that of the pool before it joins that one.
template <typename T, typename To>
void fall(const T* x, std::int64_t n, std::vector<Pool>& pools, To* y, std::int32_t* segments) {
  pools.clear();
  for (std::int64_t i = 0; i < n; ++i) {
    pools.push_back({i, static_cast<double>(x[i]), 1});
    while (pools.size() > 1 && pools.back().mean() > pools[pools.size() - 2].mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().count += last.count;
    }
  }
  for (std::size_t k = 0; k < pools.size(); ++k) {
    const std::int64_t end = k + 1 < pools.size() ? pools[k + 1].first : n;
    for (std::int64_t i = pools[k].first; i < end; ++i) {
      y[i] = static_cast<To>(pools[k].mean());
      segments[i] = static_cast<std::int32_t>(k);
    }
  }
}

Status isotonic(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const segments, c.output(1, x.shape()));
  if (x.elements() == 0) return ok_status();
  const std::int64_t n = x.shape().rank() == 0 ? 1 : x.shape().back();
  return dispatch<RealTypes>(x.dtype(), "IsotonicRegression", [&]<typename T>() {
    return dispatch<FloatTypes>(y->dtype(), "IsotonicRegression", [&]<typename To>() {
      parallel_for(x.elements() / n, std::max<std::int64_t>(1, 8192 / n), [&](std::int64_t begin, std::int64_t end) {
        std::vector<Pool> pools;
        for (std::int64_t r = begin; r < end; ++r)
          fall(x.data<T>() + r * n, n, pools, y->data<To>() + r * n, segments->data<std::int32_t>() + r * n);
      });
      return ok_status();
    });
  });
}

}  // namespace

void add_isotonic(KernelRegistry& kernels) { kernels.add("IsotonicRegression", "cpu", isotonic); }

}  // namespace argosy
