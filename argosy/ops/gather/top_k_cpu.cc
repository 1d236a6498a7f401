#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "argosy/base/threads/interrupt.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/gather/gather_registration.h"
#include "argosy/tensor/ints.h"

namespace argosy {

namespace {

template <typename T>
auto order_key(const T& value) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

// A strict order of a row's elements: larger first, equal ones by place. NaN counts as larger than everything.
template <typename T, typename I>
struct Better {
  const T* row;
  bool operator()(I a, I b) const {
    const auto x = order_key(row[a]), y = order_key(row[b]);
    if (x > y) return true;
    if (x < y) return false;
    if constexpr (!std::is_integral_v<T>) {
      const bool nan_x = std::isnan(x), nan_y = std::isnan(y);
      if (nan_x != nan_y) return nan_x;
    }
    return a < b;
  }
};

// Sorts long rows piece by piece, so that a cancelled step waits for one piece at most.
constexpr std::int64_t kPiece = 1 << 18;

template <typename I, typename Before>
void sort_pieces(I* to, std::int64_t n, const Before& before) {
  std::vector<I> other;
  for (std::int64_t begin = 0; begin < n; begin += kPiece) {
    check_interrupted();
    std::sort(to + begin, to + std::min(n, begin + kPiece), before);
  }
  for (std::int64_t width = kPiece; width < n; width *= 2) {
    other.assign(to, to + n);
    for (std::int64_t begin = 0; begin < n; begin += 2 * width) {
      const std::int64_t middle = std::min(n, begin + width), end = std::min(n, begin + 2 * width);
      std::int64_t a = begin, b = middle;
      Poll poll(kPiece);
      for (std::int64_t at = begin; at < end; ++at) {
        poll();
        const bool second =
            a == middle || (b < end && before(other[static_cast<std::size_t>(b)], other[static_cast<std::size_t>(a)]));
        to[at] = other[static_cast<std::size_t>(second ? b++ : a++)];
      }
    }
  }
}

// The best k of n places, in order. `to` doubles as a heap whose top is the worst kept so far.
template <typename T, typename I>
void top_of_row(const T* row, std::int64_t n, std::int64_t k, I* to) {
  const Better<T, I> better{row};
  std::iota(to, to + k, I{0});
  if (k == 1) {
    for (std::int64_t i = 1; i < n; ++i) {
      if (better(static_cast<I>(i), *to)) *to = static_cast<I>(i);
    }
    return;
  }
  if (k < n) {
    std::make_heap(to, to + k, better);
    Poll poll(1 << 16);
    for (std::int64_t i = k; i < n; ++i) {
      poll();
      if (!better(static_cast<I>(i), to[0])) continue;
      std::pop_heap(to, to + k, better);
      to[k - 1] = static_cast<I>(i);
      std::push_heap(to, to + k, better);
    }
    sort_pieces(to, k, better);
  } else {
    sort_pieces(to, k, better);
  }
}

Status top_k(KernelContext& c, std::int64_t k) {
  const Tensor& x = c.input(0);
  if (x.shape().rank() == 0) return invalid_argument("TopK: the input is a scalar, which has no axis");
  if (k < 0) return invalid_argument("TopK: k is ", k);
  const std::int64_t n = x.shape().back();
  if (n < k)
    return invalid_argument("input must have at least k columns. Had ", n, ", needed ", k, ": TopK: the last axis of ",
                            x.shape(), " has no ", k, " elements");
  using Places = TypeList<std::int32_t, std::int64_t, std::int16_t>;
  return dispatch<Places>(c.output_dtype(1), "TopK", [&]<typename I>() -> Status {
    if (n - 1 > std::numeric_limits<I>::max()) {
      return invalid_argument("TopK: places of ", n, " elements do not fit ", dtype_name(dtype_of<I>()))
          .with_hint("ask for index_type int64");
    }
    const Shape shape = x.shape().with(x.shape().rank() - 1, k);
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(0, shape));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const places, c.output(1, shape));
    if (shape.elements() == 0) return ok_status();
    return dispatch<RealTypes>(x.dtype(), "TopK", [&]<typename T>() {
      const T* const from = x.data<T>();
      T* const to = values->data<T>();
      I* const at = places->data<I>();
      parallel_for(x.elements() / n, std::max<std::int64_t>(1, 4096 / n), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          top_of_row(from + r * n, n, k, at + r * k);
          for (std::int64_t i = 0; i < k; ++i) to[r * k + i] = from[r * n + at[r * k + i]];
        }
      });
      return ok_status();
    });
  });
}

class TopK final : public Kernel {
 public:
  explicit TopK(std::int64_t k) : k_(k) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<TopK>(init.attrs.get_int("k")));
  }
  Status run(KernelContext& c) override { return top_k(c, k_); }

 private:
  std::int64_t k_;
};

// TensorFlow's CPU has kernels for the last axis, named as -1, and for the largest alone.
Result<std::unique_ptr<Kernel>> make_approx_top_k(const KernelInit& init) {
  if (init.attrs.get_int("reduction_dimension") != -1 || !init.attrs.get_bool("is_max_k")) {
    return unimplemented("ApproxTopK on a CPU has reduction_dimension -1 and is_max_k true, not ",
                         init.attrs.get_int("reduction_dimension"), " and ",
                         init.attrs.get_bool("is_max_k") ? "true" : "false")
        .with_hint("use TopKV2, of the negated input for the smallest");
  }
  return TopK::make(init);
}

Status top_k_v2(KernelContext& c) {
  if (c.input(1).shape().rank() != 0) {
    return invalid_argument("TopKV2: k must be a scalar, not of shape ", c.input(1).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t k, read_int(c.input(1), "TopKV2: k"));
  return top_k(c, k);
}

// How many beat the target's prediction? A target out of range, or anything not finite before the answer is clear,
// makes it false.
template <typename I>
bool target_in_top(const float* row, std::int64_t n, I target, std::int64_t k) {
  if (target < 0 || static_cast<std::int64_t>(target) >= n || !std::isfinite(row[target])) return false;
  std::int64_t better = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(row[i])) return false;
    if (row[i] > row[target] && ++better > k) return false;
  }
  return better < k;
}

Status in_top_k(KernelContext& c, std::int64_t k) {
  const Tensor& predictions = c.input(0);
  const Tensor& targets = c.input(1);
  if (predictions.shape().rank() != 2 || targets.shape().rank() != 1 || predictions.shape()[0] != targets.shape()[0]) {
    return invalid_argument("InTopK: predictions must be [batch, classes] and targets [batch], not of shape ",
                            predictions.shape(), " and ", targets.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, targets.shape()));
  const std::int64_t n = predictions.shape()[1];
  return dispatch<IndexTypes>(targets.dtype(), "InTopK", [&]<typename I>() {
    for (std::int64_t b = 0; b < targets.elements(); ++b) {
      y->data<bool>()[b] = target_in_top(predictions.data<float>() + b * n, n, targets.data<I>()[b], k);
    }
    return ok_status();
  });
}

class InTopK final : public Kernel {
 public:
  explicit InTopK(std::int64_t k) : k_(k) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<InTopK>(init.attrs.get_int("k")));
  }
  Status run(KernelContext& c) override { return in_top_k(c, k_); }

 private:
  std::int64_t k_;
};

Status in_top_k_v2(KernelContext& c) {
  if (c.input(2).shape().rank() != 0) {
    return invalid_argument("InTopKV2: k must be a scalar, not of shape ", c.input(2).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t k, read_int(c.input(2), "InTopKV2: k"));
  return in_top_k(c, k);
}

}  // namespace

void add_top_k(KernelRegistry& kernels) {
  kernels.add("TopK", "cpu", TopK::make);
  kernels.add("TopKV2", "cpu", top_k_v2);
  kernels.add("ApproxTopK", "cpu", make_approx_top_k);
  kernels.add("InTopK", "cpu", InTopK::make);
  kernels.add("InTopKV2", "cpu", in_top_k_v2);
}

}  // namespace argosy
