#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/elementwise/elementwise_kernels.h"
#include "argosy/ops/softmax/softmax_inputs.h"
#include "argosy/ops/softmax/softmax_rows.h"

namespace argosy {

namespace {

constexpr std::int64_t kGrain = 1 << 13;  // elements, each an exponential

// The same functions as plain loops. 16-bit floats are computed in float.
namespace plain {

template <typename T>
T log_sum_exp(const T* x, std::int64_t n, T* top) {
  *top = -std::numeric_limits<T>::infinity();
  for (std::int64_t i = 0; i < n; ++i) *top = std::max(*top, x[i]);
  T sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - *top);
  return std::log(sum);
}
template <typename T>
void softmax(const T* x, T* y, std::int64_t n, bool logarithm) {
  T top;
  const T shift = log_sum_exp(x, n, &top);
  for (std::int64_t i = 0; i < n; ++i) {
    const T z = (x[i] - top) - shift;
    y[i] = logarithm ? z : std::exp(z);
  }
}
template <typename T>
T cross_entropy(const T* x, const T* labels, T* backprop, std::int64_t n) {
  T top;
  const T shift = log_sum_exp(x, n, &top);
  T loss = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const T z = (x[i] - top) - shift;
    loss -= labels[i] * z;
    backprop[i] = std::exp(z) - labels[i];
  }
  return loss;
}
template <typename T>
T cross_entropy(const T* x, std::int64_t label, T* backprop, std::int64_t n) {
  T top;
  const T shift = log_sum_exp(x, n, &top);
  const T loss = shift - (x[label] - top);
  for (std::int64_t i = 0; i < n; ++i) backprop[i] = std::exp((x[i] - top) - shift) - (i == label ? T(1) : T(0));
  return loss;
}

}  // namespace plain

// A row as the type it is computed in: itself, or a widened copy.
template <typename T>
class Row {
 public:
  using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
  explicit Row(std::int64_t n) : n_(n) {
    if constexpr (sizeof(T) == 2) wide_.resize(static_cast<std::size_t>(n));
  }
  const Wide* read(const T* x) {
    if constexpr (sizeof(T) == 2) {
      widen(dtype_of<T>(), x, wide_.data(), n_);
      return wide_.data();
    } else {
      return x;
    }
  }
  Wide* write(T* y) {
    if constexpr (sizeof(T) == 2) {
      return wide_.data();
    } else {
      return y;
    }
  }
  void done(T* y) {
    if constexpr (sizeof(T) == 2) narrow(dtype_of<T>(), wide_.data(), y, n_);
  }

 private:
  std::int64_t n_;
  std::vector<Wide> wide_;
};

template <bool fast, bool logarithm>
Status softmax(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_RETURN_IF_ERROR(softmax_inputs::check_rows(c).status());
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  const std::int64_t n = x.shape().back();
  if (x.elements() == 0) return ok_status();
  return dispatch<FloatTypes>(x.dtype(), "Softmax", [&]<typename T>() {
    parallel_for(x.elements() / n, std::max<std::int64_t>(1, kGrain / n), [&](std::int64_t begin, std::int64_t end) {
      if constexpr (fast && std::is_same_v<T, bfloat16>) {
        std::vector<float> wide(static_cast<std::size_t>(n));
        for (std::int64_t r = begin; r < end; ++r) {
          softmax_rows::softmax(x.data<T>() + r * n, y->data<T>() + r * n, wide.data(), n, logarithm);
        }
        return;
      }
      Row<T> in(n), out(n);
      for (std::int64_t r = begin; r < end; ++r) {
        const auto* const from = in.read(x.data<T>() + r * n);
        auto* const to = out.write(y->data<T>() + r * n);
        fast ? softmax_rows::softmax(from, to, n, logarithm) : plain::softmax(from, to, n, logarithm);
        out.done(y->data<T>() + r * n);
      }
    });
    return ok_status();
  });
}

// In the order of a row's elements. dx may be dy.
template <typename T>
void gradient(const T* y, const T* dy, T* dx, std::int64_t n, bool logarithm) {
  T sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += logarithm ? dy[i] : dy[i] * y[i];
  for (std::int64_t i = 0; i < n; ++i) dx[i] = logarithm ? dy[i] - std::exp(y[i]) * sum : (dy[i] - sum) * y[i];
}

class SoftmaxGradient final : public Kernel {
 public:
  explicit SoftmaxGradient(const KernelInit& init) : logarithm_(init.attrs.get_bool("logarithm")) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<SoftmaxGradient>(init));
  }
  Status run(KernelContext& c) override {
    const Tensor &y = c.input(0), &dy = c.input(1);
    ARGOSY_RETURN_IF_ERROR(softmax_inputs::check_rows(c).status());
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, y.shape(), {1}));
    if (y.elements() == 0) return ok_status();
    const std::int64_t n = y.shape().back();
    return dispatch<FloatTypes>(y.dtype(), "_SoftmaxGrad", [&]<typename T>() {
      parallel_for(y.elements() / n, std::max<std::int64_t>(1, kGrain / n), [&](std::int64_t begin, std::int64_t end) {
        Row<T> given(n), out(n);
        for (std::int64_t r = begin; r < end; ++r) {
          const auto* const from = given.read(y.data<T>() + r * n);
          const auto* const flows = out.read(dy.data<T>() + r * n);
          gradient(from, flows, out.write(dx->data<T>() + r * n), n, logarithm_);
          out.done(dx->data<T>() + r * n);
        }
      });
      return ok_status();
    });
  }

 private:
  const bool logarithm_;
};

template <bool fast>
Status dense_cross_entropy(KernelContext& c) {
  const Tensor &x = c.input(0), &labels = c.input(1);
  ARGOSY_ASSIGN_OR_RETURN(const auto in, softmax_inputs::check_cross_entropy(c));
  const std::int64_t rows = in.shape[0], n = in.shape[1];
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const loss, c.output(0, {rows}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const backprop, c.output(1, in.shape, {0}));
  const auto at_x = in.logits, at_labels = in.labels;
  return dispatch<FloatTypes>(x.dtype(), "SoftmaxCrossEntropyWithLogits", [&]<typename T>() {
    using Wide = typename Row<T>::Wide;
    if (n == 0) std::fill_n(loss->data<T>(), rows, T(0));
    if (n == 0) return ok_status();
    const bool expand_x = at_x.column == 0 && n > 1, expand_labels = at_labels.column == 0 && n > 1;
    parallel_for(rows, std::max<std::int64_t>(1, kGrain / n), [&](std::int64_t begin, std::int64_t end) {
      Row<T> wide_in(n), given(n), out(n);
      std::vector<T> x_row(expand_x ? n : 0), label_row(expand_labels ? n : 0);
      for (std::int64_t r = begin; r < end; ++r) {
        const T* from = x.data<T>() + r * at_x.row;
        const T* p = labels.data<T>() + r * at_labels.row;
        if (expand_x) from = (std::fill(x_row.begin(), x_row.end(), *from), x_row.data());
        if (expand_labels) p = (std::fill(label_row.begin(), label_row.end(), *p), label_row.data());
        T* const back = backprop->data<T>() + r * n;
        const Wide* const wide_x = wide_in.read(from);
        const Wide* const wide_p = given.read(p);
        Wide* const to = out.write(back);
        loss->data<T>()[r] =
            T(fast ? softmax_rows::cross_entropy(wide_x, wide_p, to, n) : plain::cross_entropy(wide_x, wide_p, to, n));
        out.done(back);
      }
    });
    return ok_status();
  });
}

Result<std::vector<std::int64_t>> checked_labels(const Tensor& labels, std::int64_t classes) {
  ARGOSY_ASSIGN_OR_RETURN(std::vector<std::int64_t> numbers, to_int64s(labels, "labels"));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0 || numbers[i] >= classes) {
      return invalid_argument("Received a label value of ", numbers[i], " which is outside the valid range of [0, ",
                              classes, "): SparseSoftmaxCrossEntropyWithLogits: label ", numbers[i], " of row ", i,
                              " is outside the valid range of [0, ", classes, ")")
          .with_id("ARG-DATA-001");
    }
  }
  return numbers;
}

template <bool fast>
Status sparse_cross_entropy(KernelContext& c) {
  const Tensor &x = c.input(0), &labels = c.input(1);
  ARGOSY_ASSIGN_OR_RETURN(const auto sizes, softmax_inputs::check_sparse_cross_entropy(c));
  const std::int64_t rows = sizes.rows, n = sizes.n;
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::int64_t> classes, checked_labels(labels, n));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const loss, c.output(0, {rows}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const backprop, c.output(1, x.shape()));
  return dispatch<FloatTypes>(x.dtype(), "SparseSoftmaxCrossEntropyWithLogits", [&]<typename T>() {
    parallel_for(rows, std::max<std::int64_t>(1, kGrain / n), [&](std::int64_t begin, std::int64_t end) {
      Row<T> in(n), out(n);
      for (std::int64_t r = begin; r < end; ++r) {
        T* const back = backprop->data<T>() + r * n;
        const auto* const from = in.read(x.data<T>() + r * n);
        auto* const to = out.write(back);
        loss->data<T>()[r] = T(fast ? softmax_rows::cross_entropy(from, classes[r], to, n)
                                    : plain::cross_entropy(from, classes[r], to, n));
        out.done(back);
      }
    });
    return ok_status();
  });
}

}  // namespace

void add_kernels_cpu_softmax(KernelRegistry& kernels) {
  kernels.add("Softmax", "cpu", softmax<true, false>);
  kernels.add("Softmax", "cpu", softmax<false, false>);
  kernels.add("LogSoftmax", "cpu", softmax<true, true>);
  kernels.add("LogSoftmax", "cpu", softmax<false, true>);
  kernels.add("_SoftmaxGrad", "cpu", SoftmaxGradient::make);
  kernels.add("SoftmaxCrossEntropyWithLogits", "cpu", dense_cross_entropy<true>);
  kernels.add("SoftmaxCrossEntropyWithLogits", "cpu", dense_cross_entropy<false>);
  kernels.add("SparseSoftmaxCrossEntropyWithLogits", "cpu", sparse_cross_entropy<true>);
  kernels.add("SparseSoftmaxCrossEntropyWithLogits", "cpu", sparse_cross_entropy<false>);
}

}  // namespace argosy
