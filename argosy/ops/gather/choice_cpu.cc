#include <algorithm>

#include "argosy/base/threads/interrupt.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/gather/choice_inputs.h"
#include "argosy/ops/gather/gather_registration.h"
#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

namespace {

class OneHot final : public Kernel {
 public:
  explicit OneHot(std::int64_t axis) : axis_(axis) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<OneHot>(init.attrs.get_int("axis")));
  }
  Status run(KernelContext& c) override {
    const Tensor& indices = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const OneHotSizes sizes, check_one_hot(c, axis_));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, sizes.output));
    fill_elements(*y, c.input(3).raw());
    if (y->elements() == 0) return ok_status();
    const std::int64_t depth = sizes.depth, inner = sizes.inner;
    using Types = TypeList<std::int64_t, std::int32_t, std::uint8_t, std::int8_t>;
    return dispatch<Types>(indices.dtype(), "OneHot", [&]<typename I>() {
      const auto places = indices.values<I>();
      dispatch_moved(y->dtype(), [&]<typename T>() {
        T* const to = y->raw_as<T>();
        const T& on = *c.input(2).raw_as<T>();
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(places.size()); ++i) {
          const auto at = static_cast<std::int64_t>(places[i]);
          if (at >= 0 && at < depth) to[(i / inner * depth + at) * inner + i % inner] = on;
        }
      });
      return ok_status();
    });
  }

 private:
  std::int64_t axis_;
};

template <typename T>
bool is_true(const T& value) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return static_cast<float>(value) != 0;
  } else {
    return value != T{};
  }
}

Status where(KernelContext& c) {
  const Tensor& x = c.input(0);
  const int rank = x.shape().rank();
  if (rank == 0) return invalid_argument("Where: a scalar has no places to tell; give it an axis");
  using Types =
      TypeList<bool, float, double, bfloat16, float16, std::int32_t, std::int64_t, std::uint8_t, std::int8_t,
               std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t, std::complex<float>, std::complex<double>>;
  return dispatch<Types>(x.dtype(), "Where", [&]<typename T>() -> Status {
    const T* const values = x.data<T>();
    const std::int64_t n = x.elements();
    const std::int64_t found = std::count_if(values, values + n, is_true<T>);
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, Shape({found, rank})));
    if (y->elements() == 0) return ok_status();
    std::int64_t* to = y->data<std::int64_t>();
    Ints at = Ints::filled(rank, 0);
    Poll poll(1 << 16);
    for (std::int64_t i = 0; i < n; ++i) {
      poll();
      if (is_true(values[i])) to = std::copy(at.begin(), at.end(), to);
      for (int k = rank - 1; k >= 0 && ++at[k] == x.shape()[k]; --k) at[k] = 0;
    }
    return ok_status();
  });
}

class Bucketize final : public Kernel {
 public:
  explicit Bucketize(const std::vector<float>& boundaries) : boundaries_(boundaries) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const auto& boundaries = init.attrs.get<std::vector<float>>("boundaries");
    if (!std::is_sorted(boundaries.begin(), boundaries.end())) {
      return invalid_argument("Bucketize: boundaries must be sorted");
    }
    return std::unique_ptr<Kernel>(std::make_unique<Bucketize>(boundaries));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
    using Types = TypeList<std::int32_t, std::int64_t, float, double>;
    return dispatch<Types>(x.dtype(), "Bucketize", [&]<typename T>() {
      const T* const from = x.data<T>();
      std::int32_t* const to = y->data<std::int32_t>();
      parallel_for(x.elements(), 1 << 12, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          to[i] = static_cast<std::int32_t>(std::upper_bound(boundaries_.begin(), boundaries_.end(), from[i]) -
                                            boundaries_.begin());
        }
      });
      return ok_status();
    });
  }

 private:
  std::vector<float> boundaries_;
};

class SparseToDense final : public Kernel {
 public:
  explicit SparseToDense(bool validate) : validate_(validate) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<SparseToDense>(init.attrs.get_bool("validate_indices")));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const DensePlaces places, check_sparse_to_dense(c));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, places.output));
    fill_elements(*y, c.input(3).raw());
    const Tensor& indices = c.input(0);
    return dispatch<IndexTypes>(indices.dtype(), "SparseToDense", [&]<typename I>() {
      return place<I>(indices, places.count, places.depth, places.output, c.input(2), *y);
    });
  }

 private:
  // Places are row-major offsets, so sorted indices without repeats have increasing places.
  template <typename I>
  Status place(const Tensor& indices, std::int64_t n, std::int64_t depth, const Shape& shape, const Tensor& values,
               const Tensor& y) const {
    const Ints strides = row_major(shape.sizes());
    std::int64_t before = -1;
    if (depth == 0 && !validate_ && values.shape().rank() == 0) n = std::min<std::int64_t>(n, 1);  // all the same place
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t at = 0;
      for (int k = 0; k < depth; ++k) {
        const auto index = static_cast<std::int64_t>(indices.data<I>()[i * depth + k]);
        if (index < 0 || index >= shape[k]) {
          const std::vector<std::int64_t> whole(indices.data<I>() + i * depth, indices.data<I>() + (i + 1) * depth);
          return invalid_argument("indices[", i, "] = [", str_join(whole), "] is out of bounds: need 0 <= index < ",
                                  shape, ": SparseToDense: sparse_indices[", i, "] leads outside of ", shape, ": ",
                                  index, " along axis ", k);
        }
        at += index * strides[k];
      }
      if (validate_ && at <= before) {
        const std::vector<std::int64_t> whole(indices.data<I>() + i * depth, indices.data<I>() + (i + 1) * depth);
        return invalid_argument("indices[", i, "] = [", str_join(whole), "] is ",
                                at == before ? "repeated" : "out of order. Many sparse ops require sorted indices",
                                ": SparseToDense: sparse_indices[", i, "] ",
                                at == before ? "is repeated" : "is out of order");
      }
      before = at;
      copy_span(y, at, values, values.shape().rank() == 0 ? 0 : i, 1);
    }
    return ok_status();
  }

  bool validate_;
};

}  // namespace

void add_choices(KernelRegistry& kernels) {
  kernels.add("OneHot", "cpu", OneHot::make);
  kernels.add("Where", "cpu", where);
  kernels.add("Bucketize", "cpu", Bucketize::make);
  kernels.add("SparseToDense", "cpu", SparseToDense::make);
}

}  // namespace argosy
