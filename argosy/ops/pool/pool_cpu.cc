#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/pool/pool_loops.h"
#include "argosy/ops/pool/pool_geometry.h"

namespace argosy {

namespace {

constexpr std::int64_t kGrainElements = 1 << 13;

struct ScalarLoops {
  template <typename T>
  static void max(const T* const* x, int n, std::int64_t c, T* y) {
    plain::max_of_cells(x, n, c, y);
  }
  template <typename T>
  static void scatter_max_gradient(const T* const* x, T* const* dx, int n, std::int64_t c, const T* dy, bool add) {
    plain::give_to_max(x, dx, n, c, dy, add);
  }
  template <typename T>
  static void mean(const T* const* x, int n, std::int64_t c, T* y) {
    plain::mean_of_cells(x, n, c, y);
  }
  template <typename T>
  static void scatter_mean_gradient(T* const* dx, int n, std::int64_t c, const T* dy, bool add) {
    plain::spread_mean(dx, n, c, dy, add);
  }
};
struct SimdLoops {
  template <typename T>
  static void max(const T* const* x, int n, std::int64_t c, T* y) {
    max_of_cells(x, n, c, y);
  }
  template <typename T>
  static void scatter_max_gradient(const T* const* x, T* const* dx, int n, std::int64_t c, const T* dy, bool add) {
    give_to_max(x, dx, n, c, dy, add);
  }
  template <typename T>
  static void mean(const T* const* x, int n, std::int64_t c, T* y) {
    mean_of_cells(x, n, c, y);
  }
  template <typename T>
  static void scatter_mean_gradient(T* const* dx, int n, std::int64_t c, const T* dy, bool add) {
    spread_mean(dx, n, c, dy, add);
  }
};

// The rows (or columns) of the image under window `o`: [first, end).
std::pair<std::int64_t, std::int64_t> covered(const WindowAxis& a, std::int64_t o) {
  const std::int64_t at = o * a.stride - a.pad_before;
  return {std::max<std::int64_t>(at, 0), std::min(at + a.window, a.in)};
}

// The offsets of the cells under one window, row by row.
void cells_under(const PoolGeometry& g, std::int64_t n, std::int64_t oy, std::int64_t ox,
                 std::vector<std::int64_t>& offsets) {
  const auto [y0, y1] = covered(g.h, oy);
  const auto [x0, x1] = covered(g.w, ox);
  offsets.clear();
  for (std::int64_t y = y0; y < y1; ++y) {
    for (std::int64_t x = x0; x < x1; ++x) offsets.push_back(g.in_offset(n, y, x));
  }
}

// The cells under the current window, of the image and of what is written to it: one per range of parallel_for.
template <typename T>
struct Cells {
  std::vector<std::int64_t> offsets;
  std::vector<const T*> from;
  std::vector<T*> to;

  int count() const { return static_cast<int>(offsets.size()); }
  const T* const* read(const T* base) { return point(from, base); }
  T* const* write(T* base) { return point(to, base); }

 private:
  template <typename P>
  P const* point(std::vector<P>& cells, P base) const {
    cells.resize(offsets.size());
    for (std::size_t i = 0; i < offsets.size(); ++i) cells[i] = base + offsets[i];
    return cells.data();
  }
};

// window(cells, output's offset) for every window; rows of windows are spread over the team.
template <typename T, typename Window>
void over_rows(const PoolGeometry& g, const Window& window) {
  const std::int64_t row = g.w.out * g.channels * g.h.window * g.w.window;
  parallel_for(g.images * g.h.out, std::max<std::int64_t>(1, kGrainElements / std::max<std::int64_t>(row, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 Cells<T> cells;
                 for (std::int64_t r = begin; r < end; ++r) {
                   for (std::int64_t x = 0; x < g.w.out; ++x) {
                     cells_under(g, r / g.h.out, r % g.h.out, x, cells.offsets);
                     window(cells, g.out_offset(r / g.h.out, r % g.h.out, x));
                   }
                 }
               });
}

// The same for writing back into images, where windows may overlap: a thread has whole images, or a range of their
// channels. window(cells, output's offset, first channel, channels, add).
template <typename T, typename Window>
void over_images(const PoolGeometry& g, T* dx, const Window& window) {
  const bool tiles = g.tiles();
  const std::int64_t blocks = g.images >= 8 ? 1 : std::clamp<std::int64_t>(g.channels / 64, 1, 8);
  const std::int64_t image = g.h.in * g.w.in * g.channels;
  parallel_for(g.images * blocks, std::max<std::int64_t>(1, kGrainElements * blocks / std::max<std::int64_t>(image, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 Cells<T> cells;
                 for (std::int64_t part = begin; part < end; ++part) {
                   const std::int64_t n = part / blocks, b = part % blocks;
                   const std::int64_t first = g.channels * b / blocks, count = g.channels * (b + 1) / blocks - first;
                   for (std::int64_t cell = 0; !tiles && cell < g.h.in * g.w.in; ++cell) {
                     std::fill_n(dx + n * image + cell * g.channels + first, count, T(0));
                   }
                   for (std::int64_t y = 0; y < g.h.out; ++y) {
                     for (std::int64_t x = 0; x < g.w.out; ++x) {
                       cells_under(g, n, y, x, cells.offsets);
                       window(cells, g.out_offset(n, y, x) + first, first, count, !tiles);
                     }
                   }
                 }
               });
}

template <typename T, typename Loops>
void max_forward(const PoolGeometry& g, const T* x, T* y) {
  over_rows<T>(
      g, [&](Cells<T>& cells, std::int64_t out) { Loops::max(cells.read(x), cells.count(), g.channels, y + out); });
}

template <typename T, typename Loops>
void avg_forward(const PoolGeometry& g, const T* x, T* y) {
  over_rows<T>(
      g, [&](Cells<T>& cells, std::int64_t out) { Loops::mean(cells.read(x), cells.count(), g.channels, y + out); });
}

template <typename T, typename Loops>
void max_backward(const PoolGeometry& g, const T* x, const T* dy, T* dx) {
  over_images(g, dx, [&](Cells<T>& cells, std::int64_t out, std::int64_t first, std::int64_t count, bool add) {
    Loops::scatter_max_gradient(cells.read(x + first), cells.write(dx + first), cells.count(), count, dy + out, add);
  });
}

template <typename T, typename Loops>
void avg_backward(const PoolGeometry& g, const T* dy, T* dx) {
  over_images(g, dx, [&](Cells<T>& cells, std::int64_t out, std::int64_t first, std::int64_t count, bool add) {
    Loops::scatter_mean_gradient(cells.write(dx + first), cells.count(), count, dy + out, add);
  });
}

// found(window's element, the first largest element under it), for every channel.
template <typename T, typename Found>
void find_largest(const PoolGeometry& g, const T* x, const Found& found) {
  over_rows<T>(g, [&](Cells<T>& cells, std::int64_t out) {
    for (std::int64_t c = 0; c < g.channels; ++c) {
      std::int64_t best = cells.offsets[0] + c;
      for (const std::int64_t cell : cells.offsets) {
        if (x[best] < x[cell + c]) best = cell + c;
      }
      found(out + c, best);
    }
  });
}

enum class PoolKind { kMax, kMaxGrad, kMaxGradGrad, kAvg, kAvgGrad, kArgmax, kGradArgmax };

// Calls use(SimdLoops{}) or use(ScalarLoops{}). SIMD loops are for float, double and bfloat16 alone.
template <typename T, typename Use>
void with_loops(bool fast, const Use& use) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, bfloat16>) {
    if (fast) return use(SimdLoops{});
  }
  use(ScalarLoops{});
}

template <PoolKind kind>
class Pool final : public Kernel {
 public:
  explicit Pool(PoolAttrs attrs, const AttrMap& map, bool fast)
      : attrs_(std::move(attrs)), batch_in_index_(map.get_or<bool>("include_batch_in_index", false)), fast_(fast) {}

  template <bool kFast>
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(PoolAttrs attrs, read_pool(init.op.name, init.attrs));
    return std::unique_ptr<Kernel>(std::make_unique<Pool>(std::move(attrs), init.attrs, kFast));
  }

  Status run(KernelContext& c) override {
    constexpr int kOperands = kind == PoolKind::kMax ? 1 : 3;  // before ksize and strides
    PoolAttrs attrs = attrs_;
    if (c.num_inputs() == kOperands + 2) {  // the V2 ops
      ARGOSY_ASSIGN_OR_RETURN(const auto ksize, to_int64s(c.input(kOperands), str_cat(attrs.op, ": ksize")));
      ARGOSY_ASSIGN_OR_RETURN(const auto strides, to_int64s(c.input(kOperands + 1), str_cat(attrs.op, ": strides")));
      ARGOSY_RETURN_IF_ERROR(set_pool_window(attrs, ksize, strides));
    }
    Shape image = c.input(0).shape();
    if constexpr (kind == PoolKind::kAvgGrad) {
      ARGOSY_ASSIGN_OR_RETURN(image, to_shape(c.input(0), str_cat(attrs.op, ": orig_input_shape")));
    }
    ARGOSY_ASSIGN_OR_RETURN(const PoolGeometry g, pool_geometry(attrs, image));
    const Shape pooled = pool_output_shape(attrs, image, g);
    ARGOSY_RETURN_IF_ERROR(check_operands(c, attrs, image, pooled));
    return run_on(c, attrs, g, image, pooled);
  }

 private:
  static Status check_operands(KernelContext& c, const PoolAttrs& attrs, const Shape& image, const Shape& pooled) {
    const auto must_be = [&](int i, const Shape& shape) -> Status {
      if (c.input(i).shape() == shape) return ok_status();
      return invalid_argument(attrs.op, ": input ", i, " must have shape ", shape, ", not ", c.input(i).shape())
          .with_id("ARG-SHAPE-013");
    };
    if constexpr (kind == PoolKind::kMaxGrad || kind == PoolKind::kGradArgmax) {
      ARGOSY_RETURN_IF_ERROR(must_be(1, pooled));
      return must_be(2, pooled);
    } else if constexpr (kind == PoolKind::kMaxGradGrad) {
      ARGOSY_RETURN_IF_ERROR(must_be(1, pooled));
      return must_be(2, image);
    } else if constexpr (kind == PoolKind::kAvgGrad) {
      return must_be(1, pooled);
    } else {
      return ok_status();
    }
  }

  Status run_on(KernelContext& c, const PoolAttrs& attrs, const PoolGeometry& g, const Shape& image,
                const Shape& pooled) {
    constexpr bool kToImage = kind == PoolKind::kMaxGrad || kind == PoolKind::kAvgGrad || kind == PoolKind::kGradArgmax;
    constexpr bool kAverage = kind == PoolKind::kAvg || kind == PoolKind::kAvgGrad;
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, kToImage ? image : pooled));
    Tensor* argmax = nullptr;
    if constexpr (kind == PoolKind::kArgmax) {
      ARGOSY_ASSIGN_OR_RETURN(argmax, c.output(1, pooled));
    }
    if (out->elements() == 0) return ok_status();
    if (pooled.elements() == 0) {
      std::memset(out->raw(), 0, out->bytes());
      return ok_status();
    }
    using Types = std::conditional_t<kAverage, FloatTypes, RealTypes>;
    return dispatch<Types>(out->dtype(), attrs.op, [&]<typename T>() -> Status {
      T* const to = out->data<T>();
      if constexpr (kind == PoolKind::kMax) {
        with_loops<T>(fast_, [&]<typename Loops>(Loops) { max_forward<T, Loops>(g, c.input(0).data<T>(), to); });
      } else if constexpr (kind == PoolKind::kMaxGrad) {
        with_loops<T>(fast_, [&]<typename Loops>(Loops) {
          max_backward<T, Loops>(g, c.input(0).data<T>(), c.input(2).data<T>(), to);
        });
      } else if constexpr (kind == PoolKind::kMaxGradGrad) {
        const T* const d = c.input(2).data<T>();
        find_largest(g, c.input(0).data<T>(), [&](std::int64_t i, std::int64_t from) { to[i] = d[from]; });
      } else if constexpr (kind == PoolKind::kAvg) {
        with_loops<T>(fast_, [&]<typename Loops>(Loops) { avg_forward<T, Loops>(g, c.input(0).data<T>(), to); });
      } else if constexpr (kind == PoolKind::kAvgGrad) {
        with_loops<T>(fast_, [&]<typename Loops>(Loops) { avg_backward<T, Loops>(g, c.input(1).data<T>(), to); });
      } else if constexpr (kind == PoolKind::kArgmax) {
        argmax_forward(g, c.input(0).data<T>(), to, *argmax);
      } else {
        return grad_of_argmax(g, c.input(1).data<T>(), c.input(2), to, out->elements());
      }
      return ok_status();
    });
  }

  template <typename T>
  void argmax_forward(const PoolGeometry& g, const T* x, T* y, const Tensor& argmax) const {
    const std::int64_t image =
        batch_in_index_ ? std::numeric_limits<std::int64_t>::max() : g.h.in * g.w.in * g.channels;
    find_largest(g, x, [&](std::int64_t i, std::int64_t from) {
      y[i] = x[from];
      if (argmax.dtype() == DType::kInt64) {
        argmax.raw_as<std::int64_t>()[i] = from % image;
      } else {
        argmax.raw_as<std::int32_t>()[i] = static_cast<std::int32_t>(from % image);
      }
    });
  }

  // Indices come from outside: each is checked.
  template <typename T>
  Status grad_of_argmax(const PoolGeometry& g, const T* dy, const Tensor& argmax, T* dx, std::int64_t elements) const {
    const std::int64_t image = g.h.in * g.w.in * g.channels, per = g.h.out * g.w.out * g.channels;
    std::memset(static_cast<void*>(dx), 0, static_cast<std::size_t>(elements) * sizeof(T));
    for (std::int64_t i = 0; i < argmax.elements(); ++i) {
      std::int64_t at =
          argmax.dtype() == DType::kInt64 ? argmax.raw_as<std::int64_t>()[i] : argmax.raw_as<std::int32_t>()[i];
      const std::int64_t size = batch_in_index_ ? elements : image;
      if (at < 0 || at >= size) {
        return invalid_argument(attrs_.op, ": argmax ", at, " lies outside the image, which has ", size, " elements");
      }
      if (!batch_in_index_) at += i / per * image;
      dx[at] = static_cast<T>(dx[at] + dy[i]);
    }
    return ok_status();
  }

  PoolAttrs attrs_;
  bool batch_in_index_;
  bool fast_;
};

template <PoolKind kind>
void add(KernelRegistry& kernels, const char* op) {
  if constexpr (kind != PoolKind::kMaxGradGrad && kind != PoolKind::kArgmax && kind != PoolKind::kGradArgmax) {
    kernels.add(op, "cpu", Pool<kind>::template make<true>);
  }
  kernels.add(op, "cpu", Pool<kind>::template make<false>);
}

}  // namespace

void add_kernels_cpu_pool(KernelRegistry& kernels) {
  add<PoolKind::kMax>(kernels, "MaxPool");
  add<PoolKind::kMax>(kernels, "MaxPoolV2");
  add<PoolKind::kMaxGrad>(kernels, "MaxPoolGrad");
  add<PoolKind::kMaxGrad>(kernels, "MaxPoolGradV2");
  add<PoolKind::kMaxGradGrad>(kernels, "MaxPoolGradGrad");
  add<PoolKind::kMaxGradGrad>(kernels, "MaxPoolGradGradV2");
  add<PoolKind::kAvg>(kernels, "AvgPool");
  add<PoolKind::kAvgGrad>(kernels, "AvgPoolGrad");
  add<PoolKind::kArgmax>(kernels, "MaxPoolWithArgmax");
  add<PoolKind::kGradArgmax>(kernels, "MaxPoolGradWithArgmax");
}

}  // namespace argosy
