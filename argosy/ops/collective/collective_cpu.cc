#include <algorithm>
#include <cmath>
#include <type_traits>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/collective/reduction_chunks.h"
#include "argosy/ops/collective/shard_batch.h"

namespace argosy {

void add_kernels_cpu_all_reduce(KernelRegistry& kernels);
void add_kernels_cpu_task_values(KernelRegistry& kernels);
void add_kernels_cpu_named_groups(KernelRegistry& kernels);

namespace {

using KeyInts = std::vector<std::int64_t>;

class ShardKernel : public Kernel {
 public:
  explicit ShardKernel(const KernelInit& init)
      : weights_(init.attrs.get<KeyInts>("weights")), index_(init.attrs.get_int("index")) {}

 protected:
  Result<std::pair<std::int64_t, std::int64_t>> shard(const Tensor& x) const {
    if (x.shape().rank() == 0) return invalid_argument("a scalar has no rows to shard");
    return shard_batch(x.shape()[0], weights_, index_);
  }

 private:
  const KeyInts weights_;
  const std::int64_t index_;
};

class ShardBatch final : public ShardKernel {
 public:
  using ShardKernel::ShardKernel;
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const auto rows, shard(c.input(0)));
    c.set_output(0, c.input(0).rows(rows.first, rows.second));
    return ok_status();
  }
};

class ShardWeight final : public ShardKernel {
 public:
  using ShardKernel::ShardKernel;
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const auto rows, shard(c.input(0)));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
    const auto batch = static_cast<double>(c.input(0).shape()[0]);
    const auto count = static_cast<double>(rows.second - rows.first);
    return dispatch<FloatTypes>(y->dtype(), "_ShardWeight", [&]<typename T>() {
      *y->data<T>() = count == 0 ? T(0) : factor<T>(count, batch);
      return ok_status();
    });
  }

 private:
  // Returns count / batch, rounded so that the gradient of a mean over the shard, factor / count, has the same bits in
  // every shard of one, two, four or eight devices.
  template <typename T>
  static T factor(double count, double batch) {
    if constexpr (std::is_floating_point_v<T>) {
      if (const T f = numerator(example_weight<T>(batch), count); f > 0) return f;
    }
    return T(count / batch);
  }

  // Returns the number nearest to 1 / batch that every such shard can have as a quotient x / size. If there is none
  // close by, 1 / batch.
  template <typename T>
  static T example_weight(double batch) {
    T above = T(1) / T(batch), below = above;
    for (int tries = 0; tries < 16; ++tries) {
      for (const T weight : {above, below}) {
        bool all = numerator(weight, batch) > 0;
        for (double devices = 2; all && devices <= kReductionChunks; devices *= 2) {
          for (const double size : {std::ceil(batch / devices), std::floor(batch / devices)}) {
            all = all && (size == 0 || numerator(weight, size) > 0);
          }
        }
        if (all) return weight;
      }
      above = std::nextafter(above, T(2));
      below = std::nextafter(below, T(0));
    }
    return T(1) / T(batch);
  }

  // Returns x with x / size == weight, to the bit; 0 if there is none.
  template <typename T>
  static T numerator(T weight, double size) {
    const T nearest = weight * T(size);
    for (const T x : {nearest, std::nextafter(nearest, T(0)), std::nextafter(nearest, T(2))}) {
      if (x / T(size) == weight) return x;
    }
    return T(0);
  }
};

Status scale_nonempty_kernel(KernelContext& c) {
  const Tensor& x = c.input(0);
  if (c.input(1).shape().rank() != 0) return invalid_argument("_ScaleNonempty: the factor must be a scalar");
  if (c.input(1).dtype() != x.dtype()) {
    return invalid_argument("_ScaleNonempty: x is ", dtype_name(x.dtype()), ", the factor ",
                            dtype_name(c.input(1).dtype()));
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  return dispatch<FloatTypes>(x.dtype(), "_ScaleNonempty", [&]<typename T>() {
    const T* const from = x.data<T>();
    const T factor = *c.input(1).data<T>();
    T* const to = y->data<T>();
    parallel_for_whole(x.elements(), 32768, [&](std::int64_t begin, std::int64_t end) {
      if (factor == T(0)) {
        std::fill(to + begin, to + end, T(0));
      } else {
        for (std::int64_t i = begin; i < end; ++i) to[i] = T(from[i] * factor);
      }
    });
    return ok_status();
  });
}

class LocalSize final : public Kernel {
 public:
  explicit LocalSize(const KernelInit& init)
      : weights_(init.attrs.get<KeyInts>("weights")), index_(init.attrs.get_int("index")) {}
  Status run(KernelContext& c) override {
    if (c.input(0).shape().rank() != 0) return invalid_argument("_LocalSize: size must be a scalar");
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const local, c.output(0, {}));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const begin, c.output(1, {}));
    return dispatch<IndexTypes>(local->dtype(), "_LocalSize", [&]<typename T>() -> Status {
      ARGOSY_ASSIGN_OR_RETURN(const auto rows, shard_batch(*c.input(0).data<T>(), weights_, index_));
      *local->data<T>() = static_cast<T>(rows.second - rows.first);
      *begin->data<T>() = static_cast<T>(rows.first);
      return ok_status();
    });
  }

 private:
  const KeyInts weights_;
  const std::int64_t index_;
};

template <typename K>
Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
  return std::unique_ptr<Kernel>(std::make_unique<K>(init));
}

}  // namespace

void add_kernels_cpu_collective(KernelRegistry& kernels) {
  kernels.add("_ShardBatch", "cpu", make<ShardBatch>);
  kernels.add("_ShardWeight", "cpu", make<ShardWeight>);
  kernels.add("_LocalSize", "cpu", make<LocalSize>);
  kernels.add("_ScaleNonempty", "cpu", scale_nonempty_kernel);
  add_kernels_cpu_all_reduce(kernels);
  add_kernels_cpu_task_values(kernels);
  add_kernels_cpu_named_groups(kernels);
}

}  // namespace argosy
