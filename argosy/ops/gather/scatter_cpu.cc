#include "argosy/base/checked.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/gather/gather_registration.h"
#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

namespace {

using PathIndices = TypeList<std::int32_t, std::int64_t, std::int16_t, std::uint16_t>;

// Paths of `depth` indices into a tensor seen as slices of `slice` elements.
struct Paths {
  std::int64_t count = 1, depth = 0, slice = 1;
  Ints sizes, strides;  // of the leading axes; strides in slices
  Ints slices_shape;    // indices[:-1] + tensor[depth:]
  Shape tensor;
};

Result<Paths> paths_into(std::string_view op, const Shape& tensor, const Shape& indices) {
  if (indices.rank() == 0) return invalid_argument(op, ": indices must have rank 1 or more");
  Paths p;
  p.tensor = tensor;
  p.depth = indices.back();
  if (p.depth > tensor.rank()) {
    return invalid_argument(op, ": paths of ", p.depth, " indices into a tensor of shape ", tensor);
  }
  const auto leading = static_cast<std::size_t>(p.depth);
  p.slices_shape = Ints(indices.sizes().first(static_cast<std::size_t>(indices.rank()) - 1));
  for (const std::int64_t size : p.slices_shape) p.count *= size;
  p.slices_shape.append(tensor.sizes().subspan(leading));
  for (const std::int64_t size : tensor.sizes().subspan(leading)) p.slice *= size;
  p.sizes = Ints(tensor.sizes().first(leading));
  p.strides = row_major(p.sizes.span());
  return p;
}

// The slice of each path; -1 if the path is out of bounds, which the policy must allow. It is one pass over the
// indices, so the code that moves slices is compiled for their dtypes alone.
class Places {
 public:
  static Result<Places> find(KernelContext& c, std::string_view op, const Paths& p, const Tensor& indices,
                             const std::string& policy) {
    Places places;
    if (p.slice == 0 && p.depth == 0) return places;  // any number of paths to nothing: nothing will be moved
    const std::optional<std::int64_t> bytes = checked_mul(p.count, sizeof(std::int64_t));
    if (!bytes) return resource_exhausted(op, ": ", p.count, " paths are more than memory can hold");
    if (p.count > 0) {
      ARGOSY_ASSIGN_OR_RETURN(places.memory_, c.scratch(static_cast<std::size_t>(*bytes)));
      places.slices_ = {reinterpret_cast<std::int64_t*>(places.memory_.data()), static_cast<std::size_t>(p.count)};
    }
    const bool outside_allowed = policy == "IGNORE" || p.depth == 0;  // a path of no indices leads nowhere else
    ARGOSY_RETURN_IF_ERROR(dispatch<PathIndices>(indices.dtype(), op, [&]<typename I>() -> Status {
      const I* path = indices.data<I>();
      for (std::int64_t i = 0; i < p.count; ++i, path += p.depth) {
        std::int64_t slice = 0;
        bool inside = true;
        for (int k = 0; k < p.depth; ++k) {
          const auto index = static_cast<std::int64_t>(path[k]);
          inside = inside && index >= 0 && index < p.sizes[k];
          slice += inside ? index * p.strides[k] : 0;
        }
        places.slices_[static_cast<std::size_t>(i)] = inside ? slice : -1;
        if (inside || outside_allowed) continue;
        return invalid_argument(op, ": indices[", i, "] = [",
                                str_join(std::vector<std::int64_t>(path, path + p.depth), ", "),
                                "] does not index into ", op == "GatherNd" ? "param shape " : "shape ", p.tensor);
      }
      return ok_status();
    }));
    return places;
  }
  std::span<const std::int64_t> slices() const { return slices_; }

 private:
  Buffer memory_;
  std::span<std::int64_t> slices_;
};

// Base of kernels with a policy for paths out of bounds.
class WithPolicy : public Kernel {
 public:
  explicit WithPolicy(const AttrMap& attrs) : policy_(attrs.get_string("bad_indices_policy")) {}

 protected:
  std::string policy_;
};

template <bool kPlain>
class GatherNd final : public WithPolicy {
 public:
  using WithPolicy::WithPolicy;
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<GatherNd>(init.attrs));
  }
  Status run(KernelContext& c) override {
    const Tensor& params = c.input(0);
    const Tensor& indices = c.input(1);
    ARGOSY_ASSIGN_OR_RETURN(const Paths p, paths_into("GatherNd", params.shape(), indices.shape()));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(p.slices_shape.span()));
    ARGOSY_ASSIGN_OR_RETURN(const Places at, Places::find(c, "GatherNd", p, indices, policy_));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (y->elements() == 0) return ok_status();
    dispatch_moved(params.dtype(), [&]<typename T>() {
      const T* const from = params.raw_as<T>();
      T* const to = y->raw_as<T>();
      const std::int64_t grain = kPlain ? p.count : std::max<std::int64_t>(1, 16384 / (p.slice + 4));
      parallel_for(p.count, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t slice = at.slices()[static_cast<std::size_t>(i)];
          if (slice < 0) {
            std::fill_n(to + i * p.slice, p.slice, T{});
          } else {
            std::copy_n(from + slice * p.slice, p.slice, to + i * p.slice);
          }
        }
      });
    });
    return ok_status();
  }
};

struct Assign {
  template <typename T>
  void operator()(T& to, const T& from) const {
    to = from;
  }
};
struct Plus {
  template <typename T>
  void operator()(T& to, const T& from) const {
    if constexpr (std::is_same_v<T, bool>) {
      to = to || from;
    } else {
      to = wrapping_add(to, from);
    }
  }
};
struct Minus {
  template <typename T>
  void operator()(T& to, const T& from) const {
    to = wrapping_sub(to, from);
  }
};
template <bool kMost>
struct Extreme {
  template <typename T>
  void operator()(T& to, const T& from) const {
    if (kMost ? to < from : from < to) to = from;
  }
};

// Applies the updates to `to` in the order of the indices: the last one of equal indices wins.
template <typename T, typename Apply>
void scatter(std::span<const std::int64_t> at, std::int64_t slice, const T* updates, T* to, Apply apply) {
  for (const std::int64_t place : at) {
    if (place >= 0) {
      for (std::int64_t s = 0; s < slice; ++s) apply(to[place * slice + s], updates[s]);
    }
    updates += slice;
  }
}

Status check_updates(std::string_view op, const Paths& p, const Tensor& updates) {
  if (p.slices_shape == updates.shape().sizes()) return ok_status();
  return invalid_argument(op, ": updates have shape ", updates.shape(), ", the indices point at ", p.slices_shape);
}

class ScatterNd final : public WithPolicy {
 public:
  using WithPolicy::WithPolicy;
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<ScatterNd>(init.attrs));
  }
  Status run(KernelContext& c) override {
    const Tensor& indices = c.input(0);
    const Tensor& updates = c.input(1);
    if (c.input(2).shape().rank() != 1) {
      return invalid_argument("ScatterNd: shape must be a vector, not of shape ", c.input(2).shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(const Ints sizes, read_ints(c.input(2), "ScatterNd: shape"));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes.span()));
    ARGOSY_ASSIGN_OR_RETURN(const Paths p, paths_into("ScatterNd", shape, indices.shape()));
    ARGOSY_RETURN_IF_ERROR(check_updates("ScatterNd", p, updates));
    ARGOSY_ASSIGN_OR_RETURN(const Places at, Places::find(c, "ScatterNd", p, indices, policy_));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    fill_zeros(*y);
    using Types = TypeList<float, double, bfloat16, float16, std::int32_t, std::int64_t, std::uint8_t, std::int8_t,
                           std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t, std::complex<float>,
                           std::complex<double>, bool, std::string>;
    return dispatch<Types>(updates.dtype(), "ScatterNd", [&]<typename T>() {
      if (updates.elements() == 0) return ok_status();
      scatter(at.slices(), p.slice, static_cast<const T*>(updates.data<T>()), y->data<T>(), Plus{});
      return ok_status();
    });
  }
};

template <typename Apply>
class TensorScatter final : public WithPolicy {
 public:
  explicit TensorScatter(const KernelInit& init) : WithPolicy(init.attrs), op_(init.op.name) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<TensorScatter>(init));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    const Tensor& indices = c.input(1);
    const Tensor& updates = c.input(2);
    if (x.shape().rank() == 0) return invalid_argument(op_, ": tensor must have rank 1 or more");
    ARGOSY_ASSIGN_OR_RETURN(const Paths p, paths_into(op_, x.shape(), indices.shape()));
    ARGOSY_RETURN_IF_ERROR(check_updates(op_, p, updates));
    ARGOSY_ASSIGN_OR_RETURN(const Places at, Places::find(c, op_, p, indices, policy_));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
    if (y->raw() != x.raw()) copy_elements(*y, x);
    if (updates.elements() == 0) return ok_status();
    if constexpr (std::is_same_v<Apply, Assign>) {
      dispatch_moved(x.dtype(), [&]<typename T>() {
        scatter(at.slices(), p.slice, static_cast<const T*>(updates.raw_as<T>()), y->raw_as<T>(), Apply{});
      });
      return ok_status();
    } else {
      constexpr bool kOrdered = std::is_same_v<Apply, Extreme<true>> || std::is_same_v<Apply, Extreme<false>>;
      using All = TypeList<float, double, bfloat16, float16, std::int32_t, std::int64_t, std::uint8_t, std::int8_t,
                           std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t, std::complex<float>,
                           std::complex<double>, bool>;
      using Sums = std::conditional_t<std::is_same_v<Apply, Plus>, All, NumberTypes>;
      return dispatch<std::conditional_t<kOrdered, RealTypes, Sums>>(x.dtype(), op_, [&]<typename T>() {
        scatter(at.slices(), p.slice, static_cast<const T*>(updates.data<T>()), y->data<T>(), Apply{});
        return ok_status();
      });
    }
  }

 private:
  std::string op_;
};

}  // namespace

void add_scatters(KernelRegistry& kernels) {
  kernels.add("GatherNd", "cpu", with_workspace<GatherNd<false>::make, for_paths_of_input<1, 8>>);
  kernels.add("GatherNd", "cpu", with_workspace<GatherNd<true>::make, for_paths_of_input<1, 8>>);
  kernels.add("ScatterNd", "cpu", with_workspace<ScatterNd::make, for_paths_of_input<0, 8>>);
  kernels.add("TensorScatterUpdate", "cpu", with_workspace<TensorScatter<Assign>::make, for_paths_of_input<1, 8>>);
  kernels.add("TensorScatterAdd", "cpu", with_workspace<TensorScatter<Plus>::make, for_paths_of_input<1, 8>>);
  kernels.add("TensorScatterSub", "cpu", with_workspace<TensorScatter<Minus>::make, for_paths_of_input<1, 8>>);
  kernels.add("TensorScatterMax", "cpu", with_workspace<TensorScatter<Extreme<true>>::make, for_paths_of_input<1, 8>>);
  kernels.add("TensorScatterMin", "cpu", with_workspace<TensorScatter<Extreme<false>>::make, for_paths_of_input<1, 8>>);
  kernels.add("ScatterNdNonAliasingAdd", "cpu", with_workspace<TensorScatter<Plus>::make, for_paths_of_input<1, 8>>);
}

}  // namespace argosy
