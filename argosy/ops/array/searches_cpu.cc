#include <algorithm>
#include <cmath>

#include "argosy/base/threads/interrupt.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/array/array_registration.h"

namespace argosy {

namespace {

using Sortable = TypeList<float, double, bfloat16, float16, std::int32_t, std::int64_t, std::uint8_t, std::int8_t,
                          std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t, bool, std::string>;

template <bool kUpper>
Status bounds(KernelContext& c) {
  const char* const op = kUpper ? "UpperBound" : "LowerBound";
  const Tensor& sorted = c.input(0);
  const Tensor& values = c.input(1);
  if (sorted.shape().rank() != 2 || values.shape().rank() != 2 || sorted.shape()[0] != values.shape()[0]) {
    return invalid_argument(op, ": sorted_inputs and values must be matrices of as many rows, not of shapes ",
                            sorted.shape(), " and ", values.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, values.shape()));
  const std::int64_t n = sorted.shape()[1], m = values.shape()[1];
  return dispatch<Sortable>(sorted.dtype(), op, [&]<typename T>() {
    return dispatch<IndexTypes>(y->dtype(), op, [&]<typename I>() {
      Poll poll(4096);
      for (std::int64_t i = 0; i < values.elements(); ++i) {
        poll();
        const T* const begin = sorted.data<T>() + i / m * n;
        const T& value = values.data<T>()[i];
        const T* const at =
            kUpper ? std::upper_bound(begin, begin + n, value) : std::lower_bound(begin, begin + n, value);
        y->data<I>()[i] = static_cast<I>(at - begin);
      }
      return ok_status();
    });
  });
}

Status unravel(KernelContext& c) {
  const Tensor& indices = c.input(0);
  const Tensor& dims = c.input(1);
  if (indices.shape().rank() > 1 || dims.shape().rank() != 1) {
    return invalid_argument("UnravelIndex: indices must be a scalar or a vector, dims a vector, not of shapes ",
                            indices.shape(), " and ", dims.shape());
  }
  return dispatch<IndexTypes>(indices.dtype(), "UnravelIndex", [&]<typename I>() -> Status {
    std::int64_t most = 1;
    for (std::int64_t k = 0; k < dims.elements(); ++k) {
      const std::int64_t size = dims.data<I>()[k];
      if (size <= 0) {
        return invalid_argument("UnravelIndex: input dims cannot contain a dim of zero or below, but dims[", k, "] is ",
                                size);
      }
      if (__builtin_mul_overflow(most, size, &most)) return invalid_argument("UnravelIndex: dims overflow int64");
    }
    const std::int64_t n = indices.elements();
    const Shape shape = indices.shape().rank() == 0 ? Shape{dims.elements()} : Shape{dims.elements(), n};
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t rest = indices.data<I>()[i];
      if (rest >= most || rest <= -most) {
        return invalid_argument("UnravelIndex: index ", rest, " is out of bounds for ", most, " elements");
      }
      for (std::int64_t k = dims.elements() - 1; k >= 0; --k) {
        const std::int64_t size = dims.data<I>()[k];
        y->data<I>()[k * n + i] = static_cast<I>(rest % size);
        rest /= size;
      }
    }
    return ok_status();
  });
}

Status histogram(KernelContext& c) {
  const Tensor& values = c.input(0);
  const Tensor& range = c.input(1);
  const Tensor& bins = c.input(2);
  if (range.shape() != Shape({2}) || bins.shape().rank() != 0) {
    return invalid_argument(
        "HistogramFixedWidth: value_range should be a vector of 2 elements and nbins a scalar, not ", range.shape(),
        " and ", bins.shape());
  }
  const std::int64_t n = *bins.data<std::int32_t>();
  if (n <= 0) return invalid_argument("HistogramFixedWidth: nbins should be a positive number, but got ", n);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, Shape{n}));
  using Types = TypeList<std::int32_t, std::int64_t, float, double>;
  return dispatch<Types>(values.dtype(), "HistogramFixedWidth", [&]<typename T>() {
    return dispatch<IndexTypes>(y->dtype(), "HistogramFixedWidth", [&]<typename I>() -> Status {
      const auto low = static_cast<double>(range.data<T>()[0]), high = static_cast<double>(range.data<T>()[1]);
      if (!(low < high)) {
        return invalid_argument("HistogramFixedWidth: value_range should satisfy value_range[0] < value_range[1], but ",
                                "got [", low, ", ", high, "]");
      }
      std::fill_n(y->data<I>(), n, I(0));
      const double width = (high - low) / static_cast<double>(n);
      for (std::int64_t i = 0; i < values.elements(); ++i) {
        const auto value = static_cast<double>(values.data<T>()[i]);
        if (std::isnan(value)) return invalid_argument("HistogramFixedWidth: values must not contain NaN");
        const double place = std::clamp((value - low) / width, 0.0, static_cast<double>(n - 1));
        ++y->data<I>()[static_cast<std::int64_t>(place)];
      }
      return ok_status();
    });
  });
}

class NthElement final : public Kernel {
 public:
  explicit NthElement(bool reverse) : reverse_(reverse) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<NthElement>(init.attrs.get_bool("reverse")));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    if (x.shape().rank() == 0 || c.input(1).shape().rank() != 0) {
      return invalid_argument("NthElement: the input must have rank 1 or more and n be a scalar, not of shapes ",
                              x.shape(), " and ", c.input(1).shape());
    }
    std::int64_t n = *c.input(1).data<std::int32_t>();
    const std::int64_t width = x.shape().back();
    if (n < 0 || n >= width) {
      return invalid_argument("NthElement: n = ", n, " must be in [0, ", width, ") for an input of shape ", x.shape());
    }
    if (reverse_) n = width - 1 - n;
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape().removed(x.shape().rank() - 1)));
    return dispatch<RealTypes>(x.dtype(), "NthElement", [&]<typename T>() {
      parallel_for(y->elements(), std::max<std::int64_t>(1, 8192 / width), [&](std::int64_t begin, std::int64_t end) {
        std::vector<T> row(static_cast<std::size_t>(width));
        for (std::int64_t i = begin; i < end; ++i) {
          std::copy_n(x.data<T>() + i * width, width, row.begin());
          // NaNs come last: sorting needs a strict order.
          const auto less = [](T a, T b) { return a < b || (b != b && a == a); };
          std::nth_element(row.begin(), row.begin() + n, row.end(), less);
          y->data<T>()[i] = row[static_cast<std::size_t>(n)];
        }
      });
      return ok_status();
    });
  }

 private:
  const bool reverse_;
};

}  // namespace

void add_array_searches(KernelRegistry& kernels) {
  kernels.add("LowerBound", "cpu", bounds<false>);
  kernels.add("UpperBound", "cpu", bounds<true>);
  kernels.add("UnravelIndex", "cpu", unravel);
  kernels.add("HistogramFixedWidth", "cpu", histogram);
  kernels.add("NthElement", "cpu", NthElement::make);
}

}  // namespace argosy
