#include <cstring>

#include "argosy/base/checked.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/gather/gather_registration.h"
#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

Result<GatherGeometry> gather_geometry(std::string_view op, const Shape& params, const Shape& indices,
                                       std::int64_t given_axis, std::int64_t given_batch) {
  if (params.rank() == 0) return invalid_argument(op, ": params is a scalar, which has no axis");
  ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(given_axis, params.rank(), op));
  const std::int64_t batch = given_batch < 0 ? given_batch + indices.rank() : given_batch;
  if (batch < 0 || batch > indices.rank() || batch > axis) {
    return invalid_argument(op, ": batch_dims ", given_batch, " with axis ", axis, " for params ", params,
                            " and indices ", indices);
  }
  GatherGeometry g;
  for (int i = 0; i < axis; ++i) {
    if (i < batch && params[i] != indices[i]) {
      return invalid_argument(op, ": batch axis ", i, " differs between params ", params, " and indices ", indices);
    }
    (i < batch ? g.batch : g.outer) *= params[i];
    g.sizes.push_back(params[i]);
  }
  for (int i = static_cast<int>(batch); i < indices.rank(); ++i) {
    g.count *= indices[i];
    g.sizes.push_back(indices[i]);
  }
  g.rows = params[axis];
  for (int i = axis + 1; i < params.rank(); ++i) {
    g.slice *= params[i];
    g.sizes.push_back(params[i]);
  }
  return g;
}

namespace {

using GatherIndices = TypeList<std::int32_t, std::int64_t, std::int16_t>;

using Geometry = GatherGeometry;

// Returns the position of the first index outside [0, rows), or -1.
template <typename I>
std::int64_t first_bad(const I* indices, std::int64_t n, std::int64_t rows) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (indices[i] < 0 || indices[i] >= rows) return i;
  }
  return -1;
}

template <typename I>
Status check_indices(std::string_view op, const Tensor& indices, std::int64_t rows) {
  const std::int64_t bad = first_bad(indices.data<I>(), indices.elements(), rows);
  if (bad < 0) return ok_status();
  std::vector<std::int64_t> place(static_cast<std::size_t>(indices.shape().rank()));
  std::int64_t rest = bad;
  for (std::size_t k = place.size(); k-- > 0;) {
    place[k] = rest % indices.shape()[static_cast<int>(k)];
    rest /= indices.shape()[static_cast<int>(k)];
  }
  return invalid_argument(op, ": indices[", str_join(place, ","), "] = ", indices.data<I>()[bad], " is not in [0, ",
                          rows, ")");
}

template <typename T, typename I>
void gather_rows(const Geometry& g, const T* params, const I* indices, T* to, bool plain) {
  const std::int64_t total = g.batch * g.outer * g.count;
  const auto row_bytes = g.slice * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t grain = plain ? total : std::max<std::int64_t>(1, (64 << 10) / (row_bytes + 16));
  parallel_for(total, grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t i = begin % g.count;
    std::int64_t block = begin / g.count;  // batch * outer
    const I* index = indices + block / g.outer * g.count;
    const T* from = params + block * g.rows * g.slice;
    for (std::int64_t r = begin; r < end; ++r) {
      const T* const row = from + static_cast<std::int64_t>(index[i]) * g.slice;
      if constexpr (std::is_trivially_copyable_v<T>) {
        if (g.slice == 1) {
          to[r] = *row;
        } else {
          std::memcpy(to + r * g.slice, row, static_cast<std::size_t>(row_bytes));
        }
      } else {
        std::copy_n(row, g.slice, to + r * g.slice);
      }
      if (++i == g.count) {
        i = 0;
        ++block;
        index = indices + block / g.outer * g.count;
        from += g.rows * g.slice;
      }
    }
  });
}

Status gather_into(KernelContext& c, std::string_view op, std::int64_t axis, std::int64_t batch_dims, bool plain) {
  const Tensor& params = c.input(0);
  const Tensor& indices = c.input(1);
  ARGOSY_ASSIGN_OR_RETURN(const Geometry g, gather_geometry(op, params.shape(), indices.shape(), axis, batch_dims));
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(g.sizes.span()));
  return dispatch<GatherIndices>(indices.dtype(), op, [&]<typename I>() -> Status {
    ARGOSY_RETURN_IF_ERROR(check_indices<I>(op, indices, g.rows));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (y->elements() == 0) return ok_status();
    dispatch_moved(params.dtype(), [&]<typename T>() {
      gather_rows(g, static_cast<const T*>(params.raw_as<T>()), static_cast<const I*>(indices.data<I>()),
                  y->raw_as<T>(), plain);
    });
    return ok_status();
  });
}

template <bool kPlain>
Status gather(KernelContext& c) {
  return gather_into(c, "Gather", 0, 0, kPlain);
}

template <bool kPlain>
class GatherV2 final : public Kernel {
 public:
  explicit GatherV2(std::int64_t batch_dims) : batch_dims_(batch_dims) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<GatherV2>(init.attrs.get_int("batch_dims")));
  }
  Status run(KernelContext& c) override {
    if (c.input(2).shape().rank() != 0) {
      return invalid_argument("GatherV2: axis must be a scalar, not of shape ", c.input(2).shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t axis, read_int(c.input(2), "GatherV2: axis"));
    return gather_into(c, "GatherV2", axis, batch_dims_, kPlain);
  }

 private:
  std::int64_t batch_dims_;
};

class GatherGrad final : public Kernel {
 public:
  explicit GatherGrad(std::int64_t batch_dims) : batch_dims_(batch_dims) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<GatherGrad>(init.attrs.get_int("batch_dims")));
  }
  Status run(KernelContext& c) override {
    const Tensor& dy = c.input(0);
    const Tensor& indices = c.input(1);
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, to_shape(c.input(2), "_GatherGrad: params_shape"));
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t axis, read_int(c.input(3), "_GatherGrad: axis"));
    ARGOSY_ASSIGN_OR_RETURN(const Geometry g,
                            gather_geometry("_GatherGrad", shape, indices.shape(), axis, batch_dims_));
    if (g.sizes != dy.shape().sizes()) {
      return invalid_argument("_GatherGrad: dy has shape ", dy.shape(), ", the gather ", g.sizes);
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, shape));
    fill_zeros(*dx);
    return dispatch<GatherIndices>(indices.dtype(), "_GatherGrad", [&]<typename I>() -> Status {
      ARGOSY_RETURN_IF_ERROR(check_indices<I>("_GatherGrad", indices, g.rows));
      return dispatch<NumberTypes>(dy.dtype(), "_GatherGrad", [&]<typename T>() {
        if (dy.elements() > 0) add_rows(g, dy.data<T>(), indices.data<I>(), dx->data<T>());
        return ok_status();
      });
    });
  }

 private:
  // Blocks of params are independent; within one, equal indices add up in order.
  template <typename T, typename I>
  static void add_rows(const Geometry& g, const T* dy, const I* indices, T* dx) {
    const std::int64_t grain = std::max<std::int64_t>(1, (16 << 10) / (g.count * g.slice));
    parallel_for(g.batch * g.outer, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; ++block) {
        const I* const index = indices + block / g.outer * g.count;
        for (std::int64_t i = 0; i < g.count; ++i) {
          T* const to = dx + (block * g.rows + static_cast<std::int64_t>(index[i])) * g.slice;
          const T* const from = dy + (block * g.count + i) * g.slice;
          for (std::int64_t s = 0; s < g.slice; ++s) to[s] = wrapping_add(to[s], from[s]);
        }
      }
    });
  }

  std::int64_t batch_dims_;
};

}  // namespace

void add_gathers(KernelRegistry& kernels) {
  kernels.add("Gather", "cpu", gather<false>);
  kernels.add("Gather", "cpu", gather<true>);
  kernels.add("GatherV2", "cpu", GatherV2<false>::make);
  kernels.add("GatherV2", "cpu", GatherV2<true>::make);
  kernels.add("_GatherGrad", "cpu", GatherGrad::make);
}

void add_kernels_cpu_gather(KernelRegistry& kernels) {
  add_gathers(kernels);
  add_scatters(kernels);
  add_choices(kernels);
  add_uniques(kernels);
  add_partitions(kernels);
  add_top_k(kernels);
  add_beams(kernels);
}

}  // namespace argosy
